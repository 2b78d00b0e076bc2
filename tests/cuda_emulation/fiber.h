// SPDX-License-Identifier: Apache-2.0
// Gives each thread of a block a stack. One OS thread switches between them.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulation {

class Fiber {
 public:
  // `body` runs on the fiber and never returns.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it calls Suspend().
  void Resume();
  // Returns to the caller of Resume().
  static void Suspend();

 private:
#if defined(__x86_64__)
  using Context = void*;  // the stack pointer; the registers are on the stack
#else
  using Context = ucontext_t;
#endif
  static void Enter();
  static void Switch(Context& from, const Context& to);

  static Fiber* current_;
  static Context caller_;

  void (*body_)();
  char* map_;  // a guard page, then the stack
  Context context_;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // of AddressSanitizer
};

}  // namespace emulation
