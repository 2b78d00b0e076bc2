// SPDX-License-Identifier: Apache-2.0
// Computes the status that the contract requires (expected.h).
#include "tests/fuzz/expected.h"

#include <cmath>

#include "core/dtype.h"

namespace mluop::fuzz {
namespace {

__extension__ using Wide = __int128;

constexpr Expected kBadParam = {MLUOP_STATUS_BAD_PARAM, false};
constexpr Expected kNotSupported = {MLUOP_STATUS_NOT_SUPPORTED, false};
constexpr Expected kNothingToDo = {MLUOP_STATUS_SUCCESS, false};
constexpr Expected kRuns = {MLUOP_STATUS_SUCCESS, true};

bool MayBeAbsent(const Arguments& a, const TensorSpec& row) {
  if (row.optional_attribute == TensorSpec::kAlwaysOptional) return true;
  return row.optional_attribute >= 0 &&
         a.attributes[row.optional_attribute].number == static_cast<double>(row.optional.value);
}

bool HasValidLayout(const TensorSpec& row, const mluOpTensorStruct& desc) {
  if (row.layout == kNHWC) return desc.layout == MLUOP_LAYOUT_NHWC;
  return row.layout == kNCHW ? desc.layout == MLUOP_LAYOUT_NCHW : true;
}

// Checks rank, type and layout of each tensor; tensors of type T must have the same type.
bool AreTensorsValid(const Arguments& a) {
  auto type = MLUOP_DTYPE_INVALID;
  for (int i = 0; i < a.spec->tensor_count; ++i) {
    const TensorSpec& row = a.spec->tensors[i];
    const mluOpTensorStruct* desc = a.tensors[i].desc;
    if (desc == nullptr) {
      if (!MayBeAbsent(a, row)) return false;
      continue;
    }
    if (desc->rank != row.rank || !HasValidLayout(row, *desc)) return false;
    if (row.type == kI32) {
      if (desc->dtype != MLUOP_DTYPE_INT32) return false;
      continue;
    }
    const bool allowed = desc->dtype == MLUOP_DTYPE_FLOAT ||
                         (desc->dtype == MLUOP_DTYPE_HALF && a.spec->types == kHalfOrFloat) ||
                         (desc->dtype == MLUOP_DTYPE_DOUBLE && a.double_allowed);
    if (!allowed || (type != MLUOP_DTYPE_INVALID && type != desc->dtype)) return false;
    type = desc->dtype;
  }
  return true;
}

bool AreAttributesRight(const Arguments& a) {
  for (int i = 0; i < a.spec->attribute_count; ++i) {
    const AttributeSpec& row = a.spec->attributes[i];
    const double value = a.attributes[i].number;
    if (row.kind == AttributeSpec::kPositiveReal) {
      if (!(value > 0) || std::isinf(value)) return false;
    } else if (value < static_cast<double>(row.min) || value > static_cast<double>(row.max)) {
      return false;
    }
  }
  for (int i = 0; i < a.spec->relation_count; ++i) {
    if (a.Int(a.spec->relations[i].first) != a.Int(a.spec->relations[i].second)) return false;
  }
  return true;
}

// A product of factors with at most one unbound symbol, `unknown` (-1: all are bound).
struct Product {
  Wide known = 1;
  int unknown = -1;
  bool several = false;
};

Product Multiply(const Arguments& a, const DimSpec& dim, const bool* has_value) {
  Product product;
  for (int f = 0; f < dim.factor_count; ++f) {
    const Factor& factor = dim.factors[f];
    int64_t value = factor.value;
    if (factor.kind == Factor::kAttribute) {
      value = static_cast<int64_t>(a.attributes[factor.value].number);
    } else if (factor.kind == Factor::kSymbol) {
      if (!has_value[factor.value]) {
        product.several = product.unknown >= 0;
        product.unknown = factor.value;
        continue;
      }
      value = a.symbols[factor.value];
    }
    product.known *= value;
    if (product.known > INT64_MAX) product.known = Wide{INT64_MAX} + 1;  // no dim is that large
  }
  return product;
}

// Binds every symbol at the first dim that determines it, then compares every dim with the table.
bool AreShapesValid(Arguments& a) {
  bool has_value[kMaxSymbols] = {};
  for (const bool bare : {true, false, false}) {
    for (int i = 0; i < a.spec->tensor_count; ++i) {
      const TensorSpec& row = a.spec->tensors[i];
      if (a.tensors[i].desc == nullptr) continue;
      for (int d = 0; d < row.rank; ++d) {
        const int64_t dim = a.tensors[i].desc->dims[d];
        const Product product = Multiply(a, row.dims[d], has_value);
        if (product.unknown < 0) {
          if (product.known != dim) return false;
        } else if (!product.several && row.dims[d].IsBareSymbol() == bare) {
          if (product.known == 0 || dim % product.known != 0) return false;
          a.symbols[product.unknown] = static_cast<int64_t>(dim / product.known);
          has_value[product.unknown] = true;
        }
      }
    }
  }
  return true;
}

// The contract's table of empty tensors: rejected, skipped, or computed.
Expected ExpectedWhenEmpty(const Arguments& a) {
  const std::string_view op = a.spec->name;
  const auto is = [&](std::string_view start) { return op.substr(0, start.size()) == start; };
  const auto empty = [&](std::string_view tensor) {
    const int index = a.spec->TensorIndex(tensor);
    return index >= 0 && a.tensors[index].desc != nullptr &&
           a.tensors[index].desc->ElementCount() == 0;
  };
  bool any = false;
  for (int i = 0; i < a.spec->tensor_count; ++i) any = any || empty(a.spec->tensors[i].name);
  if (!any) return kRuns;
  if (op == "roiaware_pool3d_forward_workspace") {  // 0 points give size 0
    const mluOpTensorStruct* feature = a.tensors[a.spec->TensorIndex("pts_feature")].desc;
    return empty("rois") || feature->dims[0] != 0 ? kBadParam : kNothingToDo;
  }
  if (is("border_align") || is("roiaware")) return kBadParam;
  if (is("points_in_boxes")) return empty("boxes") ? kBadParam : kNothingToDo;
  if (is("psroipool_forward") || is("psroipool_nchw_forward")) {
    return empty("input") ? kNothingToDo : kBadParam;
  }
  if (is("psroipool")) return empty("rois") ? kBadParam : kNothingToDo;  // backward
  if (op == "masked_conv2d_forward") {
    const bool has_images = a.tensors[a.spec->TensorIndex("features")].desc->dims[0] > 0;
    const bool rejected = empty("weight") || empty("bias") || (empty("features") && has_images);
    return rejected ? kBadParam : kNothingToDo;
  }
  if (is("masked")) {
    for (const char* image : {"feature", "grad_feature", "im", "grad_im"}) {
      if (empty(image)) return kBadParam;
    }
    const bool fills = op == "masked_col2im_forward" || op == "masked_im2col_backward";
    return fills ? kRuns : kNothingToDo;
  }
  if (op == "torchvision_ps_roi_pool_forward") return empty("output") ? kNothingToDo : kRuns;
  if (op == "torchvision_ps_roi_pool_backward") return empty("grad_input") ? kNothingToDo : kRuns;
  return kNothingToDo;
}

bool Overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && Wide{first} < Wide{second} + Wide{b_bytes} &&
         Wide{second} < Wide{first} + Wide{a_bytes};
}

// Checks that pointers are present, aligned and do not overlap.
bool IsMemoryValid(const Arguments& a) {
  if (a.workspace.size > 0 && a.workspace.data == nullptr) return false;
  for (int i = 0; i < a.spec->tensor_count; ++i) {
    const TensorArgument& tensor = a.tensors[i];
    if (tensor.desc == nullptr && tensor.data != nullptr) return false;
    const size_t bytes = tensor.ByteCount();
    if (bytes == 0) continue;
    if (tensor.data == nullptr) return false;
    if (reinterpret_cast<uintptr_t>(tensor.data) % SizeOf(tensor.desc->dtype) != 0) return false;
    if (a.spec->tensors[i].direction == kIn) continue;
    if (Overlap(tensor.data, bytes, a.workspace.data, a.workspace.size)) return false;
    for (int j = 0; j < a.spec->tensor_count; ++j) {
      const TensorArgument& other = a.tensors[j];
      if (j != i && Overlap(tensor.data, bytes, other.data, other.ByteCount())) return false;
    }
  }
  return true;
}

}  // namespace

Expected ExpectedFromShapes(mluOpHandle_t handle, Arguments& arguments) {
  if (handle == nullptr || !AreTensorsValid(arguments) || !AreAttributesRight(arguments)) {
    return kBadParam;
  }
  // border_align's work is proportional to pool_size, which no shape bounds.
  const int pool_size = arguments.spec->AttributeIndex("pool_size");
  if (pool_size >= 0 && arguments.attributes[pool_size].number > 65536) return kNotSupported;
  if (!AreShapesValid(arguments)) return kBadParam;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const mluOpTensorStruct* desc = arguments.tensors[i].desc;
    if (desc == nullptr) continue;
    const int64_t count = desc->ElementCount();
    if (count >= int64_t{1} << (arguments.spec->limited ? 31 : 60)) return kNotSupported;
    for (int d = 0; d < desc->rank && count > 0; ++d) {
      if (desc->dims[d] >= int64_t{1} << 31) return kNotSupported;
    }
    int64_t stride = 1;
    for (int d = desc->rank - 1; d >= 0 && count > 0; --d) {
      if (desc->dims[d] != 1 && desc->strides[d] != stride) return kNotSupported;
      stride *= desc->dims[d];
    }
  }
  return ExpectedWhenEmpty(arguments);
}

Expected ExpectedFromCall(const EntryPoint& entry, mluOpHandle_t handle, Arguments& arguments) {
  if (!entry.has_workspace) arguments.workspace = {};  // the C function takes none
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    TensorArgument& tensor = arguments.tensors[i];
    const TensorSpec& row = arguments.spec->tensors[i];
    const bool one_is_null = tensor.desc == nullptr || tensor.data == nullptr;
    if (one_is_null && row.optional.one_null_suffices && MayBeAbsent(arguments, row)) tensor = {};
  }
  const Expected expected = ExpectedFromShapes(handle, arguments);
  if (!expected.runs || IsMemoryValid(arguments)) return expected;
  return kBadParam;
}

}  // namespace mluop::fuzz
