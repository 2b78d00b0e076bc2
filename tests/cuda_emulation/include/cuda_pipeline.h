// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to shared memory. They take place in __pipeline_wait_prior, so a kernel that
// does not wait reads the old contents.
#pragma once

#include <cuda_runtime.h>

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0,
                                    Place place = Place::Here()) {
  const auto addresses = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || addresses % bytes != 0 || zeros > bytes)
    emulation::Fail("asynchronous copy of a wrong size or alignment", place);
  emulation::StartCopy({to, from, bytes, zeros});
}
inline void __pipeline_commit() { emulation::CommitCopies(); }
inline void __pipeline_wait_prior(size_t prior) { emulation::WaitForCopies(prior); }
