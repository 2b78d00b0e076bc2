// SPDX-License-Identifier: Apache-2.0
// The older name of bang.h.
#pragma once

#include "bang.h"
