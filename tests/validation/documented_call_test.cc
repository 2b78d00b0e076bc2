// SPDX-License-Identifier: Apache-2.0
// Breaks every rule that the documents state for tensors and attributes, one at a time, for every
// function of a document.
#include "tests/validation/documented_call.h"

#include <cmath>

namespace mluop::testing {
namespace {

// Runs test(call, rule) on a fresh call for each tensor.
template <typename Test>
void ForEachTensor(const DocumentedEntry& entry, Test test) {
  const size_t count = entry.make()->Tensors().size();
  for (size_t i = 0; i < count; ++i) {
    const std::unique_ptr<DocumentedCall> call = entry.make();
    const TensorRule rule = call->Tensors()[i];
    SCOPED_TRACE(rule.name);
    test(*call, rule);
  }
}

// Runs test(call, rule) on a fresh call for each attribute.
template <typename Test>
void ForEachAttribute(const DocumentedEntry& entry, Test test) {
  const size_t count = entry.make()->Attributes().size();
  for (size_t i = 0; i < count; ++i) {
    const std::unique_ptr<DocumentedCall> call = entry.make();
    const AttributeRule rule = call->Attributes()[i];
    SCOPED_TRACE(rule.name);
    test(*call, rule);
  }
}

void Replace(Tensor* tensor, mluOpTensorLayout_t layout, mluOpDataType_t type,
             const std::vector<int64_t>& dims) {
  *tensor = Tensor(layout, type, dims);
}

void ExpectBadParam(mluOpStatus_t status) {
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM) << LastMessage();
}

}  // namespace

void ExpectBad(mluOpStatus_t status, const std::string& argument) {
  const std::string message = LastMessage();
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM) << message;
  EXPECT_NE(message.find(": " + argument + " must "), std::string::npos)
      << "expected a message about " << argument << ", got: " << message;
}

void ExpectBadDims(const DocumentedEntry& entry, const std::vector<WrongDims>& rows) {
  for (const WrongDims& row : rows) {
    const std::unique_ptr<DocumentedCall> call = entry.make();
    int found = 0;
    for (const TensorRule& rule : call->Tensors()) {
      if (std::string(row.tensor) != rule.name) continue;
      Replace(rule.tensor, rule.tensor->layout(), rule.tensor->dtype(), row.dims);
      ++found;
    }
    EXPECT_EQ(found, 1) << row.tensor;
    ExpectBad(call->Call(), row.argument);
  }
}

void ExpectBadAttributes(const DocumentedEntry& entry, const std::vector<WrongAttribute>& rows) {
  for (const WrongAttribute& row : rows) {
    const std::unique_ptr<DocumentedCall> call = entry.make();
    int found = 0;
    for (const AttributeRule& rule : call->Attributes()) {
      if (std::string(row.attribute) != rule.name) continue;
      *rule.integer = row.value;
      ++found;
    }
    EXPECT_EQ(found, 1) << row.attribute;
    ExpectBad(call->Call(), row.argument);
  }
}

TEST_P(DocumentedFunction, ValidCallSucceeds) {
  const std::unique_ptr<DocumentedCall> call = GetParam().make();
  ExpectSuccess(call->Call());
  EXPECT_EQ(call->size != DocumentedCall::kNoSize, call->is_getter());
}

TEST_P(DocumentedFunction, NullArgumentReturnsBadParam) {
  const bool is_getter = GetParam().make()->is_getter();
  std::vector<std::string> arguments = {"handle"};
  if (is_getter) arguments.push_back("workspace_size");
  for (const TensorRule& rule : GetParam().make()->Tensors()) {
    if (!rule.may_be_null) arguments.push_back(std::string(rule.name) + "_desc");
    if (!is_getter) arguments.push_back(rule.name);
  }
  for (const std::string& argument : arguments) {
    const std::unique_ptr<DocumentedCall> call = GetParam().make();
    call->null = {argument};
    ExpectBad(call->Call(), argument);
  }
}

TEST_P(DocumentedFunction, DimOffByOneSucceedsOnlyIfItIsFree) {
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    const std::vector<int64_t> dims = rule.tensor->dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      for (const int64_t change : {-1, 1}) {
        SCOPED_TRACE(d);
        std::vector<int64_t> other = dims;
        other[d] += change;
        Replace(rule.tensor, rule.tensor->layout(), rule.tensor->dtype(), other);
        if (rule.free_dims.find(std::to_string(d)) != std::string::npos) {
          ExpectSuccess(call.Call());
        } else {
          ExpectBadParam(call.Call());
          EXPECT_TRUE(LastMessageHas(".shape[") || LastMessageHas("0 elements")) << LastMessage();
        }
      }
    }
  });
}

TEST_P(DocumentedFunction, WrongDataTypeReturnsBadParam) {
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    const mluOpDataType_t right = rule.tensor->dtype();
    for (int type = MLUOP_DTYPE_INVALID; type <= MLUOP_DTYPE_BFLOAT16; ++type) {
      if (type == right || type == 10) continue;  // 10 is not an enumerator
      Replace(rule.tensor, rule.tensor->layout(), static_cast<mluOpDataType_t>(type),
              rule.tensor->dims());
      ExpectBadParam(call.Call());
      // If the first tensor is half, the message names the next tensor.
      const bool mixed = type == MLUOP_DTYPE_HALF && call.takes_half();
      EXPECT_TRUE(LastMessageHas(mixed ? ".dtype must" : std::string(rule.name) + ".dtype must"))
          << LastMessage();
    }
  });
}

TEST_P(DocumentedFunction, HalfSucceedsOnlyIfDocumented) {
  const std::unique_ptr<DocumentedCall> call = GetParam().make();
  for (const TensorRule& rule : call->Tensors()) {
    if (rule.tensor->dtype() != MLUOP_DTYPE_FLOAT) continue;
    Replace(rule.tensor, rule.tensor->layout(), MLUOP_DTYPE_HALF, rule.tensor->dims());
  }
  const mluOpStatus_t status = call->Call();
  call->takes_half() ? ExpectSuccess(status) : ExpectBadParam(status);
}

TEST_P(DocumentedFunction, LayoutSucceedsOnlyIfDocumented) {
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    for (int value = MLUOP_LAYOUT_NCHW; value <= MLUOP_LAYOUT_NCL; ++value) {
      const auto layout = static_cast<mluOpTensorLayout_t>(value);
      const bool right = rule.layout == Layout::kAny ||
                         (rule.layout == Layout::kNhwc && layout == MLUOP_LAYOUT_NHWC) ||
                         (rule.layout == Layout::kNchw && layout == MLUOP_LAYOUT_NCHW);
      Replace(rule.tensor, layout, rule.tensor->dtype(), rule.tensor->dims());
      const mluOpStatus_t status = call.Call();
      right ? ExpectSuccess(status) : ExpectBad(status, std::string(rule.name) + ".layout");
    }
  });
}

TEST_P(DocumentedFunction, WrongRankReturnsBadParam) {
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    const std::vector<int64_t> dims = rule.tensor->dims();
    std::vector<int64_t> more = dims, fewer = dims;
    more.push_back(1);
    fewer.pop_back();
    for (const std::vector<int64_t>& wrong : {more, fewer}) {
      if (wrong.empty()) continue;  // the setter rejects rank 0
      Replace(rule.tensor, rule.tensor->layout(), rule.tensor->dtype(), wrong);
      ExpectBad(call.Call(), rule.name);
    }
  });
}

// Every second element.
TEST_P(DocumentedFunction, UnpackedStridesReturnNotSupported) {
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    const std::vector<int64_t> dims = rule.tensor->dims();
    std::vector<int64_t> strides(dims.size(), 2);
    for (size_t d = dims.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * dims[d];
    ASSERT_EQ(
        mluOpSetTensorDescriptorEx_v2(*rule.tensor, rule.tensor->layout(), rule.tensor->dtype(),
                                      static_cast<int>(dims.size()), dims.data(), strides.data()),
        MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(call.Call(), MLUOP_STATUS_NOT_SUPPORTED);
    EXPECT_TRUE(LastMessageHas(std::string(": ") + rule.name + ".stride[")) << LastMessage();
  });
}

TEST_P(DocumentedFunction, AttributeOutOfRangeReturnsBadParam) {
  ForEachAttribute(GetParam(), [](DocumentedCall& call, const AttributeRule& rule) {
    if (rule.real != nullptr) {
      for (const float wrong : {0.0f, -0.0f, -1.0f, NAN, INFINITY, -INFINITY}) {
        *rule.real = wrong;
        ExpectBad(call.Call(), rule.name);
      }
      return;
    }
    std::vector<int> wrong;
    if (rule.min > INT32_MIN) wrong.insert(wrong.end(), {rule.min - 1, INT32_MIN});
    if (rule.max < INT32_MAX) wrong.insert(wrong.end(), {rule.max + 1, INT32_MAX});
    for (const int value : wrong) {
      *rule.integer = value;
      ExpectBad(call.Call(), rule.name);
    }
  });
}

TEST_P(DocumentedFunction, AttributeOffByOneSucceedsOnlyIfItIsFree) {
  ForEachAttribute(GetParam(), [](DocumentedCall& call, const AttributeRule& rule) {
    if (rule.integer == nullptr) return;
    const int right = *rule.integer;
    for (const int value : {right - 1, right + 1}) {
      if (value < rule.min || value > rule.max) continue;
      *rule.integer = value;
      rule.fixed ? ExpectBadParam(call.Call()) : ExpectSuccess(call.Call());
    }
  });
}

TEST_P(DocumentedFunction, MisalignedAddressReturnsBadParam) {
  if (GetParam().make()->is_getter()) return;
  ForEachTensor(GetParam(), [](DocumentedCall& call, const TensorRule& rule) {
    call.data[rule.name] = static_cast<char*>(rule.tensor->data()) + 1;
    ExpectBad(call.Call(), rule.name);
    EXPECT_TRUE(LastMessageHas("must be aligned to its element size")) << LastMessage();
  });
}

TEST_P(DocumentedFunction, OverlapSucceedsOnlyBetweenInputs) {
  if (GetParam().make()->is_getter()) return;
  const size_t count = GetParam().make()->Tensors().size();
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const std::unique_ptr<DocumentedCall> call = GetParam().make();
      const TensorRule first = call->Tensors()[i];
      const TensorRule second = call->Tensors()[j];
      SCOPED_TRACE(std::string(first.name) + " and " + second.name);
      const bool first_is_larger = first.tensor->bytes() >= second.tensor->bytes();
      const TensorRule& owner = first_is_larger ? first : second;
      call->data[first_is_larger ? second.name : first.name] = owner.tensor->data();
      if (first.is_output || second.is_output) {
        ExpectBadParam(call->Call());
        EXPECT_TRUE(LastMessageHas("overlap")) << LastMessage();
      } else {
        ExpectSuccess(call->Call());
      }
    }
  }
}

}  // namespace mluop::testing
