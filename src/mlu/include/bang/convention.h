// SPDX-License-Identifier: Apache-2.0
// Constants and macros that kernel libraries define by convention. bang.h does not include this
// file: a library that defines its own must not see these.
#pragma once

#include "bang/language.h"

#define NFU_ALIGN_SIZE 128      // bytes that the vector unit processes at once
#define COMPUTE_COUNT_ALIGN 64  // elements
#define WRAM_ALIGN_SIZE 64
#define CORE_DIM 4
#define REM_FOR_STACK (128 * 1024)  // the end of NRAM and SRAM belongs to the compiler
#define MAX_NRAM_SIZE (__MLU_NRAM_SIZE__ * 1024 - REM_FOR_STACK)
#define MAX_SRAM_SIZE (__MLU_SRAM_SIZE__ * 1024 - REM_FOR_STACK)
#define MAX_WRAM_SIZE (__MLU_WRAM_SIZE__ * 1024)

#define DIV_UP(x, a) (((x) + (a)-1) / (a))
#define PAD_UP(x, a) (DIV_UP(x, a) * (a))
#define PAD_DOWN(x, a) ((x) / (a) * (a))
#define CEIL_ALIGN(x, a) PAD_UP(x, a)
#define FLOOR_ALIGN(x, a) PAD_DOWN(x, a)
