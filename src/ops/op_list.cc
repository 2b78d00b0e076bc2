// SPDX-License-Identifier: Apache-2.0
// All families, from op_list.inc. Each defines `const Family <folder>::kFamily`.
#include "core/operator.h"

#define MLUOP_LIST_FUNCTION Families
#define MLUOP_LIST_TYPE Family
#define MLUOP_LIST_OBJECT kFamily
#define MLUOP_LIST_LINKAGE extern
#include "ops/family_list.inc"
