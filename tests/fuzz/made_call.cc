// SPDX-License-Identifier: Apache-2.0
#include "made_call.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/shape.h"

namespace mluop::fuzz {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 16;  // of a tensor that is computed on
constexpr size_t kMaxWorkspace = size_t{1} << 20;

}  // namespace

MadeCall::MadeCall(const EntryPoint& entry_point, mluOpHandle_t some_handle, Bytes& bytes)
    : entry(entry_point),
      spec(*entry.spec),
      name(spec.name),
      handle(some_handle),
      arguments(spec),
      bytes_(bytes) {
  MakeValid();
  const int changes = bytes.OneIn(3) ? 0 : bytes.Below(4);
  for (int i = 0; i < changes; ++i) ChangeDescriptorOrAttribute();
  AllocateTensors();
  AllocateWorkspace();
  if (changes > 0 && bytes.OneIn(4)) ChangePointer();
  as_made = as_made && changes == 0 && !too_large;  // what is too large may seem to overlap
}

void MadeCall::MakeValid() {
  for (int i = 0; i < spec.attribute_count; ++i) {
    arguments.attributes[i] = ValidAttribute(spec.attributes[i]);
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    arguments.attributes[spec.AttributeIndex(spec.relations[i].first)] =
        arguments.attributes[spec.AttributeIndex(spec.relations[i].second)];
  }
  for (int i = 0; i < spec.symbol_count; ++i) {
    arguments.symbols[i] = bytes_.OneIn(8) ? bytes_.Below(70) : bytes_.Below(8);
    as_made = as_made && arguments.symbols[i] > 0;
  }
  const bool half = spec.types == kHalfOrFloat && bytes_.OneIn(2);
  for (int i = 0; i < spec.tensor_count; ++i) {
    MakeDescriptor(i, half ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT);
  }
}

Value MadeCall::ValidAttribute(const AttributeSpec& row) {
  if (row.kind == AttributeSpec::kPositiveReal) {
    return static_cast<float>(1 + bytes_.Below(64)) / 16.0f;
  }
  if (row.max < INT32_MAX) return static_cast<int>(row.min) + bytes_.Below(2);
  if (row.min < 0) return bytes_.OneIn(4) ? bytes_.Raw<int32_t>() : bytes_.Below(9) - 4;
  const int value = static_cast<int>(row.min) + bytes_.Below(5);
  as_made = as_made && value > 0;  // 0 makes a tensor empty
  return value;
}

void MadeCall::MakeDescriptor(int i, mluOpDataType_t type) {
  const TensorSpec& row = spec.tensors[i];
  int64_t dims[kMaxRank];
  for (int d = 0; d < row.rank; ++d) dims[d] = Evaluate(arguments, row.dims[d]);
  const auto layout = row.layout == kNHWC   ? MLUOP_LAYOUT_NHWC
                      : row.layout == kNCHW ? MLUOP_LAYOUT_NCHW
                                            : static_cast<mluOpTensorLayout_t>(bytes_.Below(11));
  const mluOpStatus_t status = mluOpSetTensorDescriptor_v2(
      &descs_[i], layout, row.type == kI32 ? MLUOP_DTYPE_INT32 : type, row.rank, dims);
  Require(status == MLUOP_STATUS_SUCCESS, "a descriptor of a small problem is refused",
          name.c_str());
  arguments.tensors[i].desc = &descs_[i];
}

void MadeCall::ChangeDescriptorOrAttribute() {
  const int i = bytes_.Below(spec.tensor_count);
  switch (bytes_.Below(8)) {
    case 0:
    case 1:
      if (spec.attribute_count > 0) ChangeAttribute(bytes_.Below(spec.attribute_count));
      break;
    case 2: arguments.tensors[i].desc = nullptr; break;
    case 3:
      if (bytes_.OneIn(4)) handle = nullptr;
      break;
    default: ChangeDescriptor(descs_[i]);
  }
}

void MadeCall::ChangeAttribute(int i) {
  if (spec.attributes[i].kind == AttributeSpec::kPositiveReal) {
    arguments.attributes[i] = bytes_.Raw<float>();
  } else {
    arguments.attributes[i] = static_cast<int>(bytes_.Integer());
  }
}

// Through the public setters, which may refuse and then change nothing.
void MadeCall::ChangeDescriptor(mluOpTensorStruct& desc) {
  mluOpTensorStruct next = desc;
  const int i = bytes_.Below(MLUOP_DIM_MAX);
  bool packed = true;
  switch (bytes_.Below(5)) {
    case 0: next.rank = bytes_.Below(MLUOP_DIM_MAX + 1); break;
    case 1: next.dtype = static_cast<mluOpDataType_t>(bytes_.Below(19)); break;
    case 2: next.layout = static_cast<mluOpTensorLayout_t>(bytes_.Below(12)); break;
    case 3: next.dims[i] = bytes_.Integer(); break;
    default: next.strides[i] = bytes_.Integer(); packed = false;
  }
  if (packed) {
    mluOpSetTensorDescriptor_v2(&desc, next.layout, next.dtype, next.rank, next.dims);
  } else {
    mluOpSetTensorDescriptorEx_v2(&desc, next.layout, next.dtype, next.rank, next.dims,
                                  next.strides);
  }
}

void MadeCall::AllocateTensors() {
  testing::Random random(bytes_.Raw<uint64_t>());
  smooth = bytes_.OneIn(2);
  for (int i = 0; i < spec.tensor_count; ++i) {
    const mluOpTensorStruct* desc = arguments.tensors[i].desc;
    const bool fits = desc == nullptr || desc->ElementCount() <= kMaxElements;
    too_large = too_large || !fits;
    Block& block = blocks.emplace_back(fits ? arguments.tensors[i].ByteCount() : 1);
    if (spec.tensors[i].direction == kIn) Fill(i, block, random);
    block.Remember();
    if (desc != nullptr) arguments.tensors[i].data = block.data();
  }
}

// Of the size that the getter says, of some other size, or none; at any address.
void MadeCall::AllocateWorkspace() {
  size_t size = 0;
  if (entry.test != nullptr && entry.test->workspace_size != nullptr) {
    entry.test->workspace_size(handle, arguments, &size);
  }
  if (bytes_.OneIn(2)) size = static_cast<size_t>(bytes_.Below(600));
  if (size == 0 || size > kMaxWorkspace) return;
  workspace_.emplace(size, static_cast<size_t>(bytes_.Below(16)));
  arguments.workspace = {workspace_->data(), size};
}

// Indices that mostly hit, coordinates that mostly lie within the small shapes; or any bits at all.
void MadeCall::Fill(int i, const Block& block, testing::Random& random) {
  const TensorSpec& row = spec.tensors[i];
  if (row.type == kI32 && !bytes_.OneIn(4)) {
    auto* indices = reinterpret_cast<int32_t*>(block.data());
    for (size_t k = 0; k < block.size() / sizeof(int32_t); ++k) {
      indices[k] = static_cast<int32_t>(random.Below(12)) - 3;
    }
  } else if (row.type == kT && smooth && descs_[i].dtype == MLUOP_DTYPE_FLOAT) {
    auto* values = reinterpret_cast<float*>(block.data());
    for (size_t k = 0; k < block.size() / sizeof(float); ++k) {
      values[k] = static_cast<float>(random.Uniform(0, 12));
    }
  } else if (row.type == kT && smooth && descs_[i].dtype == MLUOP_DTYPE_HALF) {
    auto* values = reinterpret_cast<Half*>(block.data());
    for (size_t k = 0; k < block.size() / sizeof(Half); ++k) {
      values[k] = ToHalf(static_cast<float>(random.Uniform(0, 12)));
    }
  } else {
    for (size_t k = 0; k < block.size(); ++k) {
      block.data()[k] = static_cast<unsigned char>(random.Bits());
    }
  }
}

void MadeCall::ChangePointer() {
  const int i = bytes_.Below(spec.tensor_count);
  const int j = bytes_.Below(spec.tensor_count);
  TensorArgument& tensor = arguments.tensors[i];
  switch (bytes_.Below(4)) {
    case 0: tensor.data = nullptr; break;
    case 1: arguments.workspace = {nullptr, static_cast<size_t>(bytes_.Integer())}; break;
    case 2:  // a pointer without a descriptor
      if (tensor.desc == nullptr) tensor.data = blocks[i].data();
      break;
    default: {  // the same memory twice, as far as it is large enough
      if (too_large || blocks[j].size() < blocks[i].size()) break;
      const size_t room = blocks[j].size() - blocks[i].size();
      tensor.data = blocks[j].data() + room / sizeof(double) * sizeof(double);
    }
  }
}

}  // namespace mluop::fuzz
