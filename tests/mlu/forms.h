// SPDX-License-Identifier: Apache-2.0
// The kernels of forms.mlu and order_forms.mlu. `in` has kFormValues floats, out as many.
#pragma once

#include "mluops/runtime.h"

inline constexpr int kFormValues = 4096;

// Launches a kernel by its name.
void LaunchForm(const char* kernel, cnrtQueue_t queue, const float* in, float* out);
void LaunchEveryName(cnrtQueue_t queue, float* out);  // every_name.mlu, for LaunchForm
void LaunchOrderForm(const char* kernel, cnrtQueue_t queue, const float* in,
                     float* out);  // for LaunchForm
