// SPDX-License-Identifier: Apache-2.0
// Marks functions that all devices share: __host__ __device__ for nvcc, nothing for a C++ compiler.
#pragma once

#if defined(__CUDACC__)
#define MLUOP_HOST_DEVICE __host__ __device__
#else
#define MLUOP_HOST_DEVICE
#endif
