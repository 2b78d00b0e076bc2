// SPDX-License-Identifier: Apache-2.0
// Kernels compute with round-to-nearest and denormals enabled, regardless of the caller's settings
// (torch.set_flush_denormal, fesetround). Otherwise results would depend on the thread.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace mluop {

// Sets the calling thread to these settings, and restores the old ones in the destructor.
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
  static constexpr unsigned kFlags = 0x3f;      // exception flags, which are not settings
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace mluop
