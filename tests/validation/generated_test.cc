// SPDX-License-Identifier: Apache-2.0
// Every rule on descriptors and attributes that the tables state, broken one row at a time.
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

constexpr mluOpDataType_t kAllTypes[] = {
    MLUOP_DTYPE_INVALID, MLUOP_DTYPE_HALF,   MLUOP_DTYPE_FLOAT,        MLUOP_DTYPE_INT8,
    MLUOP_DTYPE_INT16,   MLUOP_DTYPE_INT31,  MLUOP_DTYPE_INT32,        MLUOP_DTYPE_UINT8,
    MLUOP_DTYPE_BOOL,    MLUOP_DTYPE_INT64,  MLUOP_DTYPE_UINT32,       MLUOP_DTYPE_UINT64,
    MLUOP_DTYPE_UINT16,  MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT,
    MLUOP_DTYPE_BFLOAT16};

// The tensors that have a dim with one of `dim`'s symbols in it, and `own`.
Names TensorsSharing(const OpSpec& spec, const DimSpec& dim, int own) {
  Names names = {spec.tensors[own].name};
  for (int f = 0; f < dim.factor_count; ++f) {
    if (dim.factors[f].kind != Factor::kSymbol) continue;
    for (int t = 0; t < spec.tensor_count; ++t) {
      const Variable symbol = {Factor::kSymbol, dim.factors[f].value};
      if (Mentions(spec.tensors[t], symbol)) names.push_back(spec.tensors[t].name);
    }
  }
  return names;
}

class EveryEntryPoint : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, EveryEntryPoint, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(EveryEntryPoint, AcceptsTheValidCall) {
  TableCall call(entry());
  ExpectAccepted(call, entry());
}

TEST_P(EveryEntryPoint, TakesHalfExactlyWhereTheTableSaysSo) {
  TableCall call(entry(), MLUOP_DTYPE_HALF);
  if (spec().types == kHalfOrFloat) return ExpectAccepted(call, entry());
  int first = 0;
  while (spec().tensors[first].type != kT) ++first;
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {spec().tensors[first].name});
}

TEST_P(EveryEntryPoint, RefusesANullHandle) {
  TableCall call(entry());
  call.handle = nullptr;
  ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {"handle"});
}

// The optional tensors are here too: the first value of the attribute they depend on needs them.
TEST_P(EveryEntryPoint, RefusesEachNullDescriptor) {
  ForEachTensor([](TableCall& call, int t) {
    call.tensor(t).desc = nullptr;
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
  });
}

TEST_P(EveryEntryPoint, RefusesEachTensorWithADimTooMany) {
  ForEachTensor([](TableCall& call, int t) {
    std::vector<int64_t> dims = call.Dims(t);
    dims.push_back(1);
    call.SetDims(t, dims);
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
  });
}

TEST_P(EveryEntryPoint, RefusesEachTensorWithADimTooFew) {
  ForEachTensor([](TableCall& call, int t) {
    std::vector<int64_t> dims = call.Dims(t);
    dims.pop_back();
    call.SetDims(t, dims);
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
  });
}

TEST_P(EveryEntryPoint, RefusesEachDescriptorThatWasNeverSet) {
  ForEachTensor([](TableCall& call, int t) {
    call.desc(t) = mluOpTensorStruct();
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
  });
}

TEST_P(EveryEntryPoint, RefusesEachForeignDataType) {
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
      ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
    });
  }
}

TEST_P(EveryEntryPoint, RefusesDataTensorsOfTwoTypes) {
  Names data;
  for (int t = 0; t < spec().tensor_count; ++t) {
    if (spec().tensors[t].type == kT) data.push_back(spec().tensors[t].name);
  }
  ASSERT_GE(data.size(), 2u);
  ForEachTensor([&](TableCall& call, int t) {
    if (call.row(t).type != kT) return;
    call.desc(t).dtype = MLUOP_DTYPE_HALF;
    ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, data);
  });
}

TEST_P(EveryEntryPoint, TakesEachLayoutExactlyWhereTheTableSaysSo) {
  for (int value = MLUOP_LAYOUT_NCHW; value <= MLUOP_LAYOUT_NCL; ++value) {
    SCOPED_TRACE(value);
    const auto layout = static_cast<mluOpTensorLayout_t>(value);
    ForEachTensor([this, layout](TableCall& call, int t) {
      const bool free = call.row(t).layout == kAnyLayout || call.desc(t).layout == layout;
      call.desc(t).layout = layout;
      if (free) return ExpectAccepted(call, entry());
      ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, {call.row(t).name});
    });
  }
}

TEST_P(EveryEntryPoint, RefusesEachDimThatIsOffByOne) {
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
        if (IsFree(spec(), dim)) continue;  // nothing says what it must be
        ExpectRefused(call, MLUOP_STATUS_BAD_PARAM, TensorsSharing(spec(), dim, t));
      }
    });
  }
}

TEST_P(EveryEntryPoint, TakesAnySizeOfADimThatNothingElseDependsOn) {
  for (int i = 0; i < spec().symbol_count; ++i) {
    SCOPED_TRACE(spec().symbols[i]);
    for (const int64_t value : {1, 2, 9, 17}) {
      TableCall call(entry());
      call.Set({Factor::kSymbol, i}, value);
      ExpectAccepted(call, entry());
    }
  }
}

TEST_P(EveryEntryPoint, DoesNotSupportStridesThatAreNotPacked) {
  for (const int64_t change : {-1, 1, 100}) {
    ForEachTensor([this, change](TableCall&, int t) {
      for (int d = 0; d < spec().tensors[t].rank; ++d) {
        SCOPED_TRACE(d);
        TableCall call(entry());
        if (call.desc(t).dims[d] == 1) continue;
        call.desc(t).strides[d] += change;
        const std::string argument =
            std::string(call.row(t).name) + ".stride[" + std::to_string(d) + "]";
        ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, {argument});
      }
    });
  }
}

TEST_P(EveryEntryPoint, IgnoresTheStrideOfADimOfSizeOne) {
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

TEST_P(EveryEntryPoint, DoesNotSupportTwoToThe31Elements) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  for (const Variable& variable : VariablesOf(spec())) {
    SCOPED_TRACE(NameOf(spec(), variable));
    TableCall call(entry());
    Names large;
    while (large.empty()) {
      call.Set(variable, call.Get(variable) * 2);
      for (int t = 0; t < spec().tensor_count; ++t) {
        if (call.desc(t).ElementCount() >= kLimit) large.push_back(call.row(t).name);
      }
    }
    ExpectRefused(call, MLUOP_STATUS_NOT_SUPPORTED, large);
  }
}

}  // namespace
}  // namespace mluop::testing
