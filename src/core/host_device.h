// SPDX-License-Identifier: Apache-2.0
// Marks the geometry that all devices share: ordinary functions to a C++ compiler, functions of both
// sides to nvcc.
#pragma once

#if defined(__CUDACC__)
#define MLUOP_HOST_DEVICE __host__ __device__
#else
#define MLUOP_HOST_DEVICE
#endif
