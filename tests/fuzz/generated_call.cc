// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a call (generated_call.h).
#include "tests/fuzz/generated_call.h"

#include <algorithm>

#include "core/arguments.h"
#include "core/dtype.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/expected.h"

namespace mluop::fuzz {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 14;  // of a tensor in a call that runs
constexpr double kMaxSteps = 1 << 18;               // of the longest loop of a call
constexpr size_t kMaxWorkspace = size_t{1} << 20;

}  // namespace

GeneratedCall::GeneratedCall(const EntryPoint& entry_point, mluOpHandle_t some_handle, Bytes& bytes)
    : entry(entry_point), spec(*entry.spec), handle(some_handle), arguments(spec), bytes_(bytes) {
  MakeValid();
  const int changes = bytes.OneIn(2) ? bytes.Below(4) : 0;
  for (int i = 0; i < changes; ++i) ChangeDescriptorOrAttribute();
  AllocateTensors();
  AllocateWorkspace();
  if (changes > 0 && bytes.OneIn(4)) ChangePointer();
}

GeneratedCall::~GeneratedCall() {
  for (int i = 0; i < spec.tensor_count; ++i) mluOpDestroyTensorDescriptor(descs_[i]);
}

void GeneratedCall::MakeValid() {
  for (int i = 0; i < spec.attribute_count; ++i) {
    arguments.attributes[i] = ValidAttribute(spec.attributes[i]);
  }
  for (int i = 0; i < spec.relation_count; ++i) {
    arguments.attributes[spec.AttributeIndex(spec.relations[i].first)] =
        arguments.attributes[spec.AttributeIndex(spec.relations[i].second)];
  }
  for (int i = 0; i < spec.symbol_count; ++i) {
    arguments.symbols[i] = bytes_.OneIn(8) ? 1 + bytes_.Below(70) : 1 + bytes_.Below(7);
    if (bytes_.OneIn(64)) arguments.symbols[i] = 0;
  }
  const bool half = spec.types == kHalfOrFloat && bytes_.OneIn(2);
  for (int i = 0; i < spec.tensor_count; ++i) {
    MakeDescriptor(i, half ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT);
    const TensorSpec& row = spec.tensors[i];
    const bool may_be_absent =
        row.optional_attribute == TensorSpec::kAlwaysOptional ||
        (row.optional_attribute >= 0 && arguments.attributes[row.optional_attribute].number ==
                                            static_cast<double>(row.optional.value));
    if (may_be_absent && bytes_.OneIn(2)) arguments.tensors[i].desc = nullptr;
  }
}

Value GeneratedCall::ValidAttribute(const AttributeSpec& row) {
  if (row.kind == AttributeSpec::kPositiveReal) {
    return static_cast<float>(1 + bytes_.Below(64)) / 16.0f;
  }
  if (row.max < INT32_MAX) return static_cast<int>(row.min) + bytes_.Below(2);
  if (row.min < 0) return bytes_.OneIn(4) ? bytes_.Raw<int32_t>() : bytes_.Below(9) - 4;
  return static_cast<int>(row.min) + (bytes_.OneIn(16) ? bytes_.Below(40) : bytes_.Below(5));
}

void GeneratedCall::MakeDescriptor(int i, mluOpDataType_t type) {
  const TensorSpec& row = spec.tensors[i];
  DescriptorContents wanted;
  wanted.rank = row.rank;
  for (int d = 0; d < row.rank; ++d) wanted.dims[d] = Evaluate(arguments, row.dims[d]);
  wanted.layout = row.layout == kNHWC   ? MLUOP_LAYOUT_NHWC
                  : row.layout == kNCHW ? MLUOP_LAYOUT_NCHW
                                        : static_cast<mluOpTensorLayout_t>(bytes_.Below(11));
  wanted.dtype = row.type == kI32 ? MLUOP_DTYPE_INT32 : type;
  Require(mluOpCreateTensorDescriptor(&descs_[i]) == MLUOP_STATUS_SUCCESS, "must succeed",
          "mluOpCreateTensorDescriptor");
  Require(Set(descs_[i], wanted, bytes_) == MLUOP_STATUS_SUCCESS,
          "a descriptor of a small problem is rejected", entry.name.c_str());
  arguments.tensors[i].desc = descs_[i];
}

void GeneratedCall::ChangeDescriptorOrAttribute() {
  const int i = bytes_.Below(spec.tensor_count);
  switch (bytes_.Below(10)) {
    case 0:
    case 1:
    case 2:
      if (spec.attribute_count > 0) ChangeAttribute(bytes_.Below(spec.attribute_count));
      break;
    case 3: arguments.tensors[i].desc = bytes_.OneIn(2) ? nullptr : descs_[i]; break;
    case 4:
      if (bytes_.OneIn(4)) handle = nullptr;
      break;
    case 5: SetUnusedAttributes(descs_[i], bytes_); break;
    default: ChangeDescriptor(descs_[i]);
  }
}

void GeneratedCall::ChangeAttribute(int i) {
  if (spec.attributes[i].kind == AttributeSpec::kPositiveReal) {
    arguments.attributes[i] = bytes_.Raw<float>();
  } else {
    arguments.attributes[i] = static_cast<int>(bytes_.Integer());
  }
}

// Sets the descriptors through the public setters, which may reject.
void GeneratedCall::ChangeDescriptor(mluOpTensorDescriptor_t desc) {
  DescriptorContents next = DescriptorContents::Of(*desc);
  const int i = bytes_.Below(MLUOP_DIM_MAX);
  switch (bytes_.Below(8)) {
    case 0: next.rank = bytes_.Below(MLUOP_DIM_MAX + 1); break;
    case 1: next.dtype = static_cast<mluOpDataType_t>(bytes_.Below(19)); break;
    case 2: next.layout = static_cast<mluOpTensorLayout_t>(bytes_.Below(12)); break;
    case 3: next.dims[i] = bytes_.Integer(); break;
    case 4: std::swap(next.dims[i], next.dims[0]); break;
    case 5:
      next.strides[i] = bytes_.Integer();
      next.packed = false;
      break;
    case 6:
      mluOpResetTensorDescriptor(desc);
      mluOpSetTensorDescriptorPointerMode(desc, MLUOP_POINTER_MODE_HOST);
      next.rank = bytes_.Below(2);
      break;
    default: next = DescriptorContents::Any(bytes_);
  }
  static_cast<void>(Set(desc, next, bytes_));
}

void GeneratedCall::AllocateTensors() {
  bool fits = true;
  for (int i = 0; i < spec.tensor_count; ++i) {
    const mluOpTensorStruct* desc = arguments.tensors[i].desc;
    const bool small = desc == nullptr || desc->ElementCount() <= kMaxElements;
    fits = fits && small;
    const size_t element = desc == nullptr ? 1 : SizeOf(desc->dtype);
    const size_t skew = bytes_.OneIn(4) ? element * static_cast<size_t>(bytes_.Below(16)) : 0;
    const Block& block = blocks.emplace_back(small ? arguments.tensors[i].ByteCount() : 1, skew);
    if (desc != nullptr) arguments.tensors[i].data = block.data();
  }
  const bool valid = ExpectedFromShapes(handle, arguments).runs;
  too_much_work = !fits || (valid && IsTooMuchWork());
  if (!too_much_work) small_range = FillInputs(entry, arguments, valid, bytes_);
  for (Block& block : blocks) block.Remember();
}

// The tensors bound a kernel's work, except for an attribute that is not a dim and for RoIs that
// cover the map.
bool GeneratedCall::IsTooMuchWork() const {
  double steps = 1;
  for (int i = 0; i < spec.symbol_count; ++i) {
    if (spec.symbols[i] != "M")
      steps *= static_cast<double>(std::max<int64_t>(arguments.symbols[i], 1));
  }
  for (int i = 0; i < spec.attribute_count; ++i) {
    const std::string_view name = spec.attributes[i].name;
    const bool counts = name == "pool_size" || name == "output_dim" || name == "boxes_num" ||
                        name == "pts_num" || name == "channels";
    if (counts) steps *= std::max(arguments.attributes[i].number, 1.0);
  }
  return steps > kMaxSteps;
}

// A workspace of the getter's size, of another size, or none; at any address.
void GeneratedCall::AllocateWorkspace() {
  size_t size = 0;
  if (entry.test != nullptr && entry.test->workspace_size != nullptr) {
    entry.test->workspace_size(handle, arguments, &size);
  }
  if (bytes_.OneIn(2)) size = static_cast<size_t>(bytes_.Below(600));
  if (size == 0 || size > kMaxWorkspace) return;
  workspace_.emplace(size, static_cast<size_t>(bytes_.Below(16)));
  arguments.workspace = {workspace_->data(), size};
}

void GeneratedCall::ChangePointer() {
  const int i = bytes_.Below(spec.tensor_count);
  const int j = bytes_.Below(spec.tensor_count);
  TensorArgument& tensor = arguments.tensors[i];
  switch (bytes_.Below(6)) {
    case 0: tensor.data = nullptr; break;
    case 1: arguments.workspace = {nullptr, static_cast<size_t>(bytes_.Integer())}; break;
    case 2:  // a pointer without a descriptor
      if (tensor.desc == nullptr) tensor.data = blocks[i].data();
      break;
    case 3:  // a misaligned address, which must not be accessed
      tensor.data = blocks[i].data() + (bytes_.OneIn(2) ? 1 : 3);
      break;
    case 4:  // a workspace in a tensor's memory
      arguments.workspace = {blocks[j].data(), blocks[j].size()};
      break;
    default: {  // the memory of another tensor, if it is large enough
      if (too_much_work || blocks[j].size() < blocks[i].size()) break;
      const size_t slack = blocks[j].size() - blocks[i].size();
      tensor.data = blocks[j].data() + slack / sizeof(double) * sizeof(double);
    }
  }
}

}  // namespace mluop::fuzz
