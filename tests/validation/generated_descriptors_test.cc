// SPDX-License-Identifier: Apache-2.0
// Breaks every rule that the tables state for descriptors, one at a time.
#include "core/dtype.h"
#include "core/handle.h"
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

constexpr mluOpDataType_t kAllTypes[] = {
    MLUOP_DTYPE_INVALID, MLUOP_DTYPE_HALF,   MLUOP_DTYPE_FLOAT,        MLUOP_DTYPE_INT8,
    MLUOP_DTYPE_INT16,   MLUOP_DTYPE_INT31,  MLUOP_DTYPE_INT32,        MLUOP_DTYPE_UINT8,
    MLUOP_DTYPE_BOOL,    MLUOP_DTYPE_INT64,  MLUOP_DTYPE_UINT32,       MLUOP_DTYPE_UINT64,
    MLUOP_DTYPE_UINT16,  MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT,
    MLUOP_DTYPE_BFLOAT16};

// The dims that have a symbol in common with dim `d` of tensor `own`, and that dim itself.
Names DimsSharing(const OpSpec& spec, int own, int d) {
  const DimSpec& dim = spec.tensors[own].dims[d];
  Names names = {Shape(spec.tensors[own], d)};
  for (int f = 0; f < dim.factor_count; ++f) {
    if (dim.factors[f].kind != Factor::kSymbol) continue;
    const Variable symbol = {Factor::kSymbol, dim.factors[f].value};
    for (int t = 0; t < spec.tensor_count; ++t) {
      for (int other = 0; other < spec.tensors[t].rank; ++other) {
        const bool shares = DependsOn(spec.tensors[t].dims[other], symbol);
        if (shares) names.push_back(Shape(spec.tensors[t], other));
      }
    }
  }
  return names;
}

class GeneratedDescriptors : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedDescriptors, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(GeneratedDescriptors, ValidCallSucceeds) {
  TableCall call(entry());
  ExpectAccepted(call, entry());
}

TEST_P(GeneratedDescriptors, HalfIsAcceptedOnlyIfTheTableAllowsIt) {
  TableCall call(entry(), MLUOP_DTYPE_HALF);
  if (spec().types == kHalfOrFloat) return ExpectAccepted(call, entry());
  int first = 0;
  while (spec().tensors[first].type != kT) ++first;
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(spec().tensors[first].name) + ".dtype"},
                 "half");
}

TEST_P(GeneratedDescriptors, DoubleIsAcceptedOnlyIfTheHandleAllowsIt) {
  int first = 0;
  while (spec().tensors[first].type != kT) ++first;
  const std::string argument = std::string(spec().tensors[first].name) + ".dtype";
  const Handle handle;
  TableCall call(entry(), MLUOP_DTYPE_DOUBLE);
  call.handle = handle;
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {argument}, "double");
  ASSERT_EQ(mluOpSetDoubleAllowed(handle, 1), MLUOP_STATUS_SUCCESS);
  ExpectAccepted(call, entry());
  ASSERT_EQ(mluOpSetDoubleAllowed(handle, 0), MLUOP_STATUS_SUCCESS);
  TableCall again(entry(), MLUOP_DTYPE_DOUBLE);
  again.handle = handle;
  ExpectRejected(again, MLUOP_STATUS_BAD_PARAM, {argument}, "double");
}

// One tensor of another type is refused, whether double is allowed or not.
TEST_P(GeneratedDescriptors, DoubleMixedWithFloatReturnsBadParam) {
  const Handle handle;
  ASSERT_EQ(mluOpSetDoubleAllowed(handle, 1), MLUOP_STATUS_SUCCESS);
  Names data;
  for (int t = 0; t < spec().tensor_count; ++t) {
    if (spec().tensors[t].type == kT) {
      data.push_back(std::string(spec().tensors[t].name) + ".dtype");
    }
  }
  ForEachTensor([&](TableCall& call, int t) {
    if (call.row(t).type != kT || data.size() < 2) return;
    call.handle = handle;
    call.desc(t).dtype = MLUOP_DTYPE_DOUBLE;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, data);
  });
}

TEST_P(GeneratedDescriptors, NullHandleReturnsBadParam) {
  TableCall call(entry());
  call.handle = nullptr;
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {"handle"}, "NULL");
}

// Holds the handle as a call in another thread does.
TEST_P(GeneratedDescriptors, HandleInUseReturnsBadParam) {
  TableCall call(entry());
  {
    const HandleGuard use(*call.handle, "test");
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {"handle"}, "a call while another is running");
  }
  ExpectAccepted(call, entry());
}

// Includes the optional tensors: the default value of their attribute requires them.
TEST_P(GeneratedDescriptors, NullDescriptorReturnsBadParam) {
  ForEachTensor([this](TableCall& call, int t) {
    call.tensor(t).desc = nullptr;
    if (call.row(t).optional_attribute == TensorSpec::kAlwaysOptional) {
      return ExpectAccepted(call, entry());
    }
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name) + "_desc"}, "NULL");
  });
}

TEST_P(GeneratedDescriptors, OneDimTooManyReturnsBadParam) {
  ForEachTensor([](TableCall& call, int t) {
    std::vector<int64_t> dims = call.Dims(t);
    dims.push_back(1);
    call.SetDims(t, dims);
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name)},
                   std::to_string(dims.size()));
  });
}

TEST_P(GeneratedDescriptors, OneDimTooFewReturnsBadParam) {
  ForEachTensor([](TableCall& call, int t) {
    std::vector<int64_t> dims = call.Dims(t);
    dims.pop_back();
    call.SetDims(t, dims);
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name)},
                   std::to_string(dims.size()));
  });
}

TEST_P(GeneratedDescriptors, UnsetDescriptorReturnsBadParam) {
  ForEachTensor([](TableCall& call, int t) {
    call.desc(t) = mluOpTensorStruct();
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name)}, "0");
  });
}

TEST_P(GeneratedDescriptors, WrongDataTypeReturnsBadParam) {
  for (const mluOpDataType_t type : kAllTypes) {
    SCOPED_TRACE(type);
    ForEachTensor([this, type](TableCall& call, int t) {
      const bool data = call.row(t).type == kT;
      if (data && (type == MLUOP_DTYPE_FLOAT ||
                   (type == MLUOP_DTYPE_HALF && spec().types == kHalfOrFloat))) {
        return;
      }
      if (!data && type == MLUOP_DTYPE_INT32) return;
      call.desc(t).dtype = type;
      ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name) + ".dtype"},
                     mluop::NameOf(type));
    });
  }
}

TEST_P(GeneratedDescriptors, MixedDataTypesReturnBadParam) {
  Names data;
  for (int t = 0; t < spec().tensor_count; ++t) {
    if (spec().tensors[t].type == kT)
      data.push_back(std::string(spec().tensors[t].name) + ".dtype");
  }
  ASSERT_GE(data.size(), 2u);
  ForEachTensor([&](TableCall& call, int t) {
    if (call.row(t).type != kT) return;
    call.desc(t).dtype = MLUOP_DTYPE_HALF;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, data);
  });
}

TEST_P(GeneratedDescriptors, LayoutIsAcceptedOnlyIfTheTableAllowsIt) {
  for (int value = MLUOP_LAYOUT_NCHW; value <= MLUOP_LAYOUT_NCL; ++value) {
    SCOPED_TRACE(value);
    const auto layout = static_cast<mluOpTensorLayout_t>(value);
    ForEachTensor([this, layout](TableCall& call, int t) {
      const bool free = call.row(t).layout == kAnyLayout || call.desc(t).layout == layout;
      call.desc(t).layout = layout;
      if (free) return ExpectAccepted(call, entry());
      ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name) + ".layout"},
                     mluop::NameOf(layout));
    });
  }
}

TEST_P(GeneratedDescriptors, DimOffByOneReturnsBadParam) {
  for (const int64_t change : {-1, 1}) {
    SCOPED_TRACE(change);
    ForEachTensor([this, change](TableCall&, int t) {
      for (int d = 0; d < spec().tensors[t].rank; ++d) {
        SCOPED_TRACE(d);
        const DimSpec& dim = spec().tensors[t].dims[d];
        TableCall call(entry());
        std::vector<int64_t> dims = call.Dims(t);
        dims[d] += change;
        call.SetDims(t, dims);
        if (IsFree(spec(), dim)) continue;  // any size is valid
        ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, DimsSharing(spec(), t, d));
      }
    });
  }
}

TEST_P(GeneratedDescriptors, AnySymbolSizeSucceeds) {
  for (int i = 0; i < spec().symbol_count; ++i) {
    SCOPED_TRACE(spec().symbols[i]);
    for (const int64_t value : {1, 2, 9, 17}) {
      TableCall call(entry());
      call.Set({Factor::kSymbol, i}, value);
      ExpectAccepted(call, entry());
    }
  }
}

TEST_P(GeneratedDescriptors, UnpackedStrideReturnsNotSupported) {
  for (const int64_t change : {-1, 1, 100}) {
    ForEachTensor([this, change](TableCall&, int t) {
      for (int d = 0; d < spec().tensors[t].rank; ++d) {
        SCOPED_TRACE(d);
        TableCall call(entry());
        if (call.desc(t).dims[d] == 1) continue;
        call.desc(t).strides[d] += change;
        ExpectRejected(call, MLUOP_STATUS_NOT_SUPPORTED, {Stride(call.row(t), d)},
                       std::to_string(call.desc(t).strides[d]));
      }
    });
  }
}

TEST_P(GeneratedDescriptors, StrideOfADimOfSizeOneIsIgnored) {
  TableCall call(entry());
  for (const Variable& variable : VariablesOf(spec())) call.Set(variable, 1);
  int changed = 0;
  for (int t = 0; t < spec().tensor_count; ++t) {
    for (int d = 0; d < call.row(t).rank; ++d) {
      if (call.desc(t).dims[d] != 1) continue;
      call.desc(t).strides[d] = 97;
      ++changed;
    }
  }
  EXPECT_GT(changed, 0);
  ExpectAccepted(call, entry());
}

}  // namespace
}  // namespace mluop::testing
