// SPDX-License-Identifier: Apache-2.0
// Sets and compares descriptors (descriptor_contents.h).
#include "tests/fuzz/descriptor_contents.h"

#include <algorithm>
#include <vector>

namespace mluop::fuzz {
namespace {

// Exactly `count` elements on the heap: AddressSanitizer reports an access beyond them.
template <typename Int>
std::vector<Int> Copy(const int64_t* values, int count) {
  std::vector<Int> copy;
  for (int i = 0; i < count; ++i) copy.push_back(static_cast<Int>(values[i]));
  copy.shrink_to_fit();
  return copy;
}

bool FitsInInt(const int64_t* values, int count) {
  return std::all_of(values, values + count,
                     [](int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; });
}

int ReadableRank(const DescriptorContents& d) {
  return d.rank > 0 && d.rank <= MLUOP_DIM_MAX ? d.rank : 0;
}

// Wraps on overflow: the setter rejects such dims before it reads the strides.
void Pack(DescriptorContents& d) {
  uint64_t stride = 1;
  for (int i = ReadableRank(d) - 1; i >= 0; --i) {
    d.strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(d.dims[i]);
  }
}

mluOpStatus_t SetDims(mluOpTensorDescriptor_t desc, const DescriptorContents& d, bool wide) {
  const int64_t other = 1;
  const mluOpStatus_t status = mluOpSetTensorDescriptor_v2(desc, d.layout, d.dtype, 1, &other);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  const auto dims = Copy<int64_t>(d.dims, ReadableRank(d));
  const auto narrow = Copy<int>(d.dims, ReadableRank(d));
  return wide ? mluOpSetTensorDescriptorDim_v2(desc, d.rank, dims.data())
              : mluOpSetTensorDescriptorDim(desc, d.rank, narrow.data());
}

mluOpStatus_t SetPacked(mluOpTensorDescriptor_t desc, const DescriptorContents& d, bool wide,
                        bool group) {
  const auto dims = Copy<int64_t>(d.dims, ReadableRank(d));
  const auto narrow = Copy<int>(d.dims, ReadableRank(d));
  mluOpTensorDescriptor_t* members[] = {&desc};
  if (group) {
    const int64_t no_dims = 0;  // a group of scalars needs an array too
    const int none = 0;
    return wide ? mluOpSetGroupTensorDescriptors_v2(members, &d.layout, &d.dtype, &d.rank,
                                                    dims.empty() ? &no_dims : dims.data(), 1)
                : mluOpSetGroupTensorDescriptors(members, &d.layout, &d.dtype, &d.rank,
                                                 narrow.empty() ? &none : narrow.data(), 1);
  }
  return wide ? mluOpSetTensorDescriptor_v2(desc, d.layout, d.dtype, d.rank, dims.data())
              : mluOpSetTensorDescriptor(desc, d.layout, d.dtype, d.rank, narrow.data());
}

mluOpStatus_t SetWithStrides(mluOpTensorDescriptor_t desc, const DescriptorContents& d, bool wide) {
  const int rank = ReadableRank(d);
  if (wide) {
    const auto dims = Copy<int64_t>(d.dims, rank), strides = Copy<int64_t>(d.strides, rank);
    return mluOpSetTensorDescriptorEx_v2(desc, d.layout, d.dtype, d.rank, dims.data(),
                                         strides.data());
  }
  const auto dims = Copy<int>(d.dims, rank), strides = Copy<int>(d.strides, rank);
  return mluOpSetTensorDescriptorEx(desc, d.layout, d.dtype, d.rank, dims.data(), strides.data());
}

}  // namespace

DescriptorContents DescriptorContents::Of(const mluOpTensorStruct& desc) {
  DescriptorContents d;
  d.layout = desc.layout;
  d.dtype = desc.dtype;
  d.rank = desc.rank;
  std::copy(std::begin(desc.dims), std::end(desc.dims), d.dims);
  std::copy(std::begin(desc.strides), std::end(desc.strides), d.strides);
  d.packed = desc.IsPacked();
  return d;
}

DescriptorContents DescriptorContents::Any(Bytes& bytes) {
  DescriptorContents d;
  d.layout = static_cast<mluOpTensorLayout_t>(bytes.OneIn(8) ? static_cast<int>(bytes.Integer())
                                                             : bytes.Below(11));
  d.dtype = static_cast<mluOpDataType_t>(bytes.OneIn(8) ? static_cast<int>(bytes.Integer())
                                                        : bytes.Below(19));
  d.rank = bytes.OneIn(16) ? static_cast<int>(bytes.Integer()) : bytes.Below(MLUOP_DIM_MAX + 2);
  for (int i = 0; i < ReadableRank(d); ++i) {
    d.dims[i] = bytes.OneIn(4) ? bytes.Integer() : bytes.Below(12);
  }
  d.packed = !bytes.OneIn(4);
  for (int i = 0; i < ReadableRank(d) && !d.packed; ++i) d.strides[i] = bytes.Integer();
  return d;
}

mluOpStatus_t Set(mluOpTensorDescriptor_t desc, const DescriptorContents& wanted, Bytes& bytes) {
  DescriptorContents d = wanted;
  if (d.packed) Pack(d);
  const int rank = ReadableRank(d);
  const bool narrow = FitsInInt(d.dims, rank) && FitsInInt(d.strides, rank);
  const bool wide = !narrow || bytes.OneIn(2);
  if (!d.packed) return SetWithStrides(desc, d, wide);
  switch (bytes.Below(4)) {
    case 0: return SetPacked(desc, d, wide, /*group=*/false);
    case 1: return SetPacked(desc, d, wide, /*group=*/true);
    case 2: return SetDims(desc, d, wide);
    default:  // the stride of a dim of size 1 is ignored
      for (int i = 0; i < rank; ++i) {
        if (d.dims[i] == 1 && bytes.OneIn(2)) d.strides[i] = bytes.Below(300) - 100;
      }
      return SetWithStrides(desc, d, wide);
  }
}

void SetUnusedAttributes(mluOpTensorDescriptor_t desc, Bytes& bytes) {
  static_cast<void>(
      mluOpSetTensorDescriptorOnchipDataType(desc, static_cast<mluOpDataType_t>(bytes.Below(20))));
  static_cast<void>(mluOpSetTensorDescriptorPositionScaleAndOffset(
      desc, bytes.Below(20), bytes.Raw<float>(), bytes.Below(9)));
  static_cast<void>(
      mluOpSetTensorDescriptorPointerMode(desc, static_cast<mluOpPointerMode_t>(bytes.Below(3))));
}

}  // namespace mluop::fuzz
