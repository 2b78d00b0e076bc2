// SPDX-License-Identifier: Apache-2.0
// Lists the MLU families of op_list.inc: `const MluFamily <folder>::kMluFamily`. A family without MLU
// kernels defines none, and the weak reference is NULL.
#include "mlu/context.h"

#define MLUOP_LIST_FUNCTION MluFamilies
#define MLUOP_LIST_TYPE MluFamily
#define MLUOP_LIST_OBJECT kMluFamily
#define MLUOP_LIST_LINKAGE [[gnu::weak]] extern
#include "ops/family_list.inc"
