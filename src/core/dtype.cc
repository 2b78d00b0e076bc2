// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

namespace mluop {

size_t SizeOf(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_INVALID: return 0;
    case MLUOP_DTYPE_INT8:
    case MLUOP_DTYPE_UINT8:
    case MLUOP_DTYPE_BOOL: return 1;
    case MLUOP_DTYPE_HALF:
    case MLUOP_DTYPE_BFLOAT16:
    case MLUOP_DTYPE_INT16:
    case MLUOP_DTYPE_UINT16: return 2;
    case MLUOP_DTYPE_FLOAT:
    case MLUOP_DTYPE_INT31:
    case MLUOP_DTYPE_INT32:
    case MLUOP_DTYPE_UINT32:
    case MLUOP_DTYPE_COMPLEX_HALF: return 4;
    case MLUOP_DTYPE_DOUBLE:
    case MLUOP_DTYPE_INT64:
    case MLUOP_DTYPE_UINT64:
    case MLUOP_DTYPE_COMPLEX_FLOAT: return 8;
  }
  return 0;
}

const char* NameOf(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_INVALID: return "invalid";
    case MLUOP_DTYPE_HALF: return "half";
    case MLUOP_DTYPE_FLOAT: return "float";
    case MLUOP_DTYPE_INT8: return "int8";
    case MLUOP_DTYPE_INT16: return "int16";
    case MLUOP_DTYPE_INT31: return "int31";
    case MLUOP_DTYPE_INT32: return "int32";
    case MLUOP_DTYPE_UINT8: return "uint8";
    case MLUOP_DTYPE_BOOL: return "bool";
    case MLUOP_DTYPE_INT64: return "int64";
    case MLUOP_DTYPE_UINT32: return "uint32";
    case MLUOP_DTYPE_UINT64: return "uint64";
    case MLUOP_DTYPE_UINT16: return "uint16";
    case MLUOP_DTYPE_DOUBLE: return "double";
    case MLUOP_DTYPE_COMPLEX_HALF: return "complex_half";
    case MLUOP_DTYPE_COMPLEX_FLOAT: return "complex_float";
    case MLUOP_DTYPE_BFLOAT16: return "bfloat16";
  }
  return "invalid";
}

const char* NameOf(mluOpTensorLayout_t layout) {
  switch (layout) {
    case MLUOP_LAYOUT_NCHW: return "NCHW";
    case MLUOP_LAYOUT_NHWC: return "NHWC";
    case MLUOP_LAYOUT_HWCN: return "HWCN";
    case MLUOP_LAYOUT_NDHWC: return "NDHWC";
    case MLUOP_LAYOUT_ARRAY: return "ARRAY";
    case MLUOP_LAYOUT_NCDHW: return "NCDHW";
    case MLUOP_LAYOUT_TNC: return "TNC";
    case MLUOP_LAYOUT_NTC: return "NTC";
    case MLUOP_LAYOUT_NC: return "NC";
    case MLUOP_LAYOUT_NLC: return "NLC";
    case MLUOP_LAYOUT_NCL: return "NCL";
  }
  return "unknown";
}

}  // namespace mluop
