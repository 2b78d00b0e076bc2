// SPDX-License-Identifier: Apache-2.0
#include "testing/table_call.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/arguments.h"
#include "core/dtype.h"
#include "mluops/extensions.h"

namespace mluop::testing {
namespace {

constexpr std::byte kPoison{0xa5};
constexpr size_t kGap = 64;
// A larger tensor has no memory: the call must be refused.
constexpr int64_t kMaxElements = int64_t{1} << 20;

// One handle is used for all calls, because creating one reads the machine's limits from files.
mluOpHandle_t SharedHandle() {
  static const mluOpHandle_t handle = [] {
    mluOpHandle_t created = nullptr;
    if (mluOpCreate(&created) != MLUOP_STATUS_SUCCESS)
      throw std::runtime_error(mluOpGetLastErrorMessage());
    return created;
  }();
  return handle;
}

// Run() sets this error message before each call. No operator sets it, so a call that sets none is
// detected.
constexpr std::string_view kMarker = "mluOpGetSizeOfDataType: size must be a pointer, got NULL";
void SetMarker() { static_cast<void>(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr)); }

// Returns whether the tensor is larger than kMaxElements, or its element count overflows 63 bits.
bool IsLarge(const mluOpTensorStruct& desc) {
  int64_t count = 1;
  bool large = false, empty = false;
  for (int d = 0; d < desc.rank; ++d) {
    large |= __builtin_mul_overflow(count, desc.dims[d], &count) || count > kMaxElements;
    empty |= desc.dims[d] == 0;
  }
  return large && !empty;
}

}  // namespace

TableCall::TableCall(const Entry& entry, mluOpDataType_t type)
    : handle(SharedHandle()), arguments(*entry.spec), entry_(entry), type_(type) {
  for (int t = 0; t < spec().tensor_count; ++t) arguments.tensors[t].desc = &descs_[t];
  ChooseValues();
  Reshape();
}

// Gives attributes that must be equal one value, and every other size a different one.
void TableCall::ChooseValues() {
  int64_t next = 2;
  const auto is_size = [&](int attribute) {
    return std::any_of(spec().tensors, spec().tensors + spec().tensor_count,
                       [&](const TensorSpec& tensor) {
                         return DependsOn(tensor, {Factor::kAttribute, attribute});
                       });
  };
  for (int i = 0; i < spec().attribute_count; ++i) {
    const AttributeSpec& row = spec().attributes[i];
    if (row.kind == AttributeSpec::kPositiveReal) {
      attribute(i) = 0.5;
    } else if (row.max != INT32_MAX) {
      attribute(i) = static_cast<double>(row.min);
    } else if (row.min == INT32_MIN || !is_size(i)) {
      attribute(i) = 1;
    } else {
      attribute(i) = static_cast<double>(next++);
    }
  }
  for (int i = 0; i < spec().relation_count; ++i) {
    attribute(spec().AttributeIndex(spec().relations[i].first)) =
        attribute(spec().AttributeIndex(spec().relations[i].second));
  }
  for (int i = 0; i < spec().symbol_count; ++i) arguments.symbols[i] = next++;
}

void TableCall::Reshape() {
  for (int t = 0; t < spec().tensor_count; ++t) {
    std::vector<int64_t> dims;
    for (int d = 0; d < row(t).rank; ++d) dims.push_back(Evaluate(arguments, row(t).dims[d]));
    SetDims(t, dims);
    descs_[t].dtype = row(t).type == kI32 ? MLUOP_DTYPE_INT32 : type_;
    descs_[t].layout = LayoutOf(row(t).layout);
  }
  Place();
}

void TableCall::Place() {
  std::vector<size_t> offsets;
  size_t end = 0;
  for (int t = 0; t < spec().tensor_count; ++t) {
    const bool large = IsLarge(descs_[t]);
    offsets.push_back(end);
    end += ((large ? 0 : arguments.tensors[t].ByteCount()) + 2 * kGap) / kGap * kGap;
  }
  spare_ = end;
  memory_.assign(end + kSpareBytes, kPoison);
  for (int t = 0; t < spec().tensor_count; ++t) {
    std::byte* data = memory_.data() + offsets[t];
    arguments.tensors[t].data = data;
    const bool input = row(t).direction == kIn && !IsLarge(descs_[t]);
    if (input) std::memset(data, 0, arguments.tensors[t].ByteCount());
  }
}

// Copies the attribute's value to every attribute that a chain of relations ties to it.
void TableCall::SetRelatives(int index) {
  bool tied[kMaxAttributes] = {};
  tied[index] = true;
  for (int pass = 0; pass < spec().relation_count; ++pass) {
    for (int i = 0; i < spec().relation_count; ++i) {
      const int first = spec().AttributeIndex(spec().relations[i].first);
      const int second = spec().AttributeIndex(spec().relations[i].second);
      if (tied[first] || tied[second]) tied[first] = tied[second] = true;
    }
  }
  for (int i = 0; i < spec().attribute_count; ++i) {
    if (tied[i]) attribute(i) = attribute(index);
  }
}

void TableCall::Set(const Variable& variable, int64_t value) {
  if (variable.kind == Factor::kSymbol) {
    arguments.symbols[variable.index] = value;
  } else {
    attribute(variable.index) = static_cast<double>(value);
    SetRelatives(variable.index);
  }
  Reshape();
}

int64_t TableCall::Get(const Variable& variable) const {
  return variable.kind == Factor::kSymbol
             ? arguments.symbols[variable.index]
             : static_cast<int64_t>(arguments.attributes[variable.index].number);
}

void TableCall::SetDims(int tensor, std::vector<int64_t> dims) {
  mluOpTensorStruct& desc = descs_[tensor];
  desc.rank = static_cast<int>(dims.size());
  uint64_t packed = 1;  // wraps around if the test asks for more than 64 bits
  for (int d = desc.rank - 1; d >= 0; --d) {
    desc.dims[d] = dims[d];
    desc.strides[d] = static_cast<int64_t>(packed);
    packed *= static_cast<uint64_t>(dims[d]);
  }
}

std::vector<int64_t> TableCall::Dims(int tensor) const {
  return {descs_[tensor].dims, descs_[tensor].dims + descs_[tensor].rank};
}

void TableCall::PoisonOutputs() {
  for (int t = 0; t < spec().tensor_count; ++t) {
    const TensorArgument& tensor = arguments.tensors[t];
    if (row(t).direction != kOut || tensor.data == nullptr) continue;
    const size_t room = memory_.size() - OffsetOf(tensor.data);
    std::memset(tensor.data, std::to_integer<int>(kPoison), std::min(room, tensor.ByteCount()));
  }
}

Outcome TableCall::Run() {
  PoisonOutputs();
  before_ = memory_;
  size = kPoisonedSize;
  SetMarker();
  const mluOpStatus_t status = entry_.op != nullptr
                                   ? entry_.test->call(handle, arguments)
                                   : entry_.getter->call(handle, arguments, size_pointer);
  const std::string message = mluOpGetLastErrorMessage();
  return {status, message == kMarker ? "" : message};
}

void TableCall::Move(int tensor, std::byte* data) {
  arguments.tensors[tensor].data = data;
  if (row(tensor).direction == kIn) std::memset(data, 0, arguments.tensors[tensor].ByteCount());
}

bool TableCall::WroteOutputs() const {
  std::vector<std::byte> rest = memory_;
  for (int t = 0; t < spec().tensor_count; ++t) {
    const TensorArgument& tensor = arguments.tensors[t];
    if (row(t).direction != kOut || tensor.data == nullptr) continue;
    const size_t offset = OffsetOf(tensor.data);
    const size_t element = SizeOf(descs_[t].dtype);
    for (size_t i = 0; i < tensor.ByteCount(); i += element) {
      if (std::memcmp(&memory_[offset + i], &before_[offset + i], element) == 0) return false;
    }
    std::memcpy(&rest[offset], &before_[offset], tensor.ByteCount());
  }
  const size_t offset = OffsetOf(arguments.workspace.data);
  if (arguments.workspace.size > 0 && offset < memory_.size()) {
    std::memcpy(&rest[offset], &before_[offset], arguments.workspace.size);
  }
  return rest == before_;
}

}  // namespace mluop::testing
