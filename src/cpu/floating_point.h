// SPDX-License-Identifier: Apache-2.0
// Kernels compute with round to nearest and with denormals, whatever the caller has set
// (torch.set_flush_denormal, fesetround): otherwise a result would depend on which thread made it.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace mluop {

// While it lives, the calling thread computes so; then it has its own settings back.
class DefaultFloatingPoint {
 public:
#if defined(__x86_64__) || defined(__i386__)
  DefaultFloatingPoint() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatingPoint() {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(saved_);
  }
#else
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
#endif
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
#if defined(__x86_64__) || defined(__i386__)
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, nearest, no flushing
  static constexpr unsigned kFlags = 0x3f;      // what has happened, not how to compute
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace mluop
