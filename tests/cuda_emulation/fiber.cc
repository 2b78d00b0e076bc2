// SPDX-License-Identifier: Apache-2.0
#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
extern "C" void mluops_switch_stack(void** from, void* to);
// Saves the registers that a function must preserve, exchanges the stacks, restores the registers.
asm(R"(
  .text
  .type mluops_switch_stack, @function
mluops_switch_stack:
  push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
  ret
  .size mluops_switch_stack, .-mluops_switch_stack
)");
#endif

namespace emulation {
namespace {

constexpr size_t kGuardBytes = 4096;
constexpr size_t kStackBytes = size_t{256} << 10;  // touched pages only use memory

// The caller's stack, for AddressSanitizer.
[[maybe_unused]] const void* caller_stack = nullptr;
[[maybe_unused]] size_t caller_bytes = 0;

}  // namespace

Fiber* Fiber::current_ = nullptr;
Fiber::Context Fiber::caller_;

Fiber::Fiber(void (*body)()) : body_(body) {
  void* const map = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<char*>(map);
  mprotect(map_, kGuardBytes, PROT_NONE);
#if defined(__x86_64__)
  // From the top: a return address that is never used, Enter, and six registers.
  auto* const top = reinterpret_cast<void**>(map_ + kGuardBytes + kStackBytes);
  top[-2] = reinterpret_cast<void*>(&Enter);
  context_ = top - 8;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = map_ + kGuardBytes;
  context_.uc_stack.ss_size = kStackBytes;
  makecontext(&context_, &Enter, 0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(map_, kGuardBytes + kStackBytes);
#endif
  munmap(map_, kGuardBytes + kStackBytes);
}

void Fiber::Switch(Context& from, const Context& to) {
#if defined(__x86_64__)
  mluops_switch_stack(&from, to);
#else
  swapcontext(&from, &to);
#endif
}

void Fiber::Enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &caller_stack, &caller_bytes);
#endif
  current_->body_();
}

void Fiber::Resume() {
  current_ = this;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, map_ + kGuardBytes, kStackBytes);
#endif
  Switch(caller_, context_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::Suspend() {
  Fiber* const self = current_;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&self->fake_stack_, caller_stack, caller_bytes);
#endif
  Switch(self->context_, caller_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self->fake_stack_, &caller_stack, &caller_bytes);
#endif
}

}  // namespace emulation
