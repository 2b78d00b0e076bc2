// SPDX-License-Identifier: Apache-2.0
// BANG C for the simulated MLU: the header that a kernel includes. The compiler defines
// __BANG_ARCH__ (290, 372 or 592) in the device passes and leaves it undefined in the host pass.
#pragma once

#include "bang/arithmetic.h"
#include "bang/atomic.h"
#include "bang/comparison.h"
#include "bang/conversion.h"
#include "bang/copy.h"
#include "bang/half.h"
#include "bang/language.h"
#include "bang/launch.h"
#include "bang/layout.h"
#include "bang/unknown.h"

using namespace bang::intrinsics;
