// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer cannot see: oneTBB, which is not built for it, passes memory from one thread to
// another. Nothing in other builds.
#pragma once

#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace mluop {

#ifdef __SANITIZE_THREAD__
// One for all: a task reads what it has captured, a team say, before it could name it here.
inline char handed_over;
inline void HandOver() { __tsan_release(&handed_over); }
// All that went before any HandOver() has happened.
inline void TakeOver() { __tsan_acquire(&handed_over); }
#else
inline void HandOver() {}
inline void TakeOver() {}
#endif

}  // namespace mluop
