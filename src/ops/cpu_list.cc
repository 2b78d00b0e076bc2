// SPDX-License-Identifier: Apache-2.0
// Lists the CPU families of op_list.inc: `const CpuFamily <folder>::kCpuFamily`.
#include "cpu/context.h"

#define MLUOP_LIST_FUNCTION CpuFamilies
#define MLUOP_LIST_TYPE CpuFamily
#define MLUOP_LIST_OBJECT kCpuFamily
#define MLUOP_LIST_LINKAGE extern
#include "ops/family_list.inc"
