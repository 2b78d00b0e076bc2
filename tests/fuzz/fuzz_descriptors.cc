// SPDX-License-Identifier: Apache-2.0
// Bytes -> a row of calls of descriptor setters and getters, with any values. What a setter accepts
// is written down here once more; a refused call changes nothing, an accepted one is what the
// getters say afterwards. Every array has exactly as many elements as the call may touch.
#include <bit>
#include <cstring>
#include <vector>

#include "bytes.h"
#include "mlu_op.h"

namespace mluop::fuzz {
namespace {

constexpr int kDescriptors = 3;

// Exactly `count` elements on the heap: AddressSanitizer sees any other.
template <typename T>
class Array {
 public:
  explicit Array(int count) : data_(new T[static_cast<size_t>(count)]()) {}
  ~Array() { delete[] data_; }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T& operator[](int i) { return data_[i]; }
  T* get() { return data_; }

 private:
  T* data_;
};

// All that the getters say of a descriptor.
struct State {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int rank;
  std::vector<int64_t> dims, strides;
  size_t count;
  mluOpDataType_t onchip_dtype;
  mluOpPointerMode_t pointer_mode;
  int position;
  uint32_t scale;  // its bits: a NaN is stored like any other value
  int offset;
  bool operator==(const State&) const = default;
};

void RequireSuccess(mluOpStatus_t status, const char* function) {
  Require(status == MLUOP_STATUS_SUCCESS, "must succeed", function);
}

State Read(mluOpTensorDescriptor_t desc) {
  State state;
  float scale = 0;
  RequireSuccess(mluOpGetTensorDescriptor_v2(desc, nullptr, nullptr, &state.rank, nullptr), "Get");
  Array<int64_t> dims(state.rank), strides(state.rank);
  RequireSuccess(mluOpGetTensorDescriptorEx_v2(desc, &state.layout, &state.dtype, &state.rank,
                                               dims.get(), strides.get()),
                 "GetEx_v2");
  state.dims.assign(dims.get(), dims.get() + state.rank);
  state.strides.assign(strides.get(), strides.get() + state.rank);
  state.count = mluOpGetTensorElementNum(desc);
  RequireSuccess(mluOpGetTensorDescriptorOnchipDataType(desc, &state.onchip_dtype), "GetOnchip");
  RequireSuccess(mluOpGetTensorDescriptorPointerMode(desc, &state.pointer_mode), "GetPointerMode");
  RequireSuccess(
      mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &state.position, &scale, &state.offset),
      "GetPositionScaleAndOffset");
  state.scale = std::bit_cast<uint32_t>(scale);
  return state;
}

bool IsLayout(int value) { return value >= 0 && value <= 10; }
bool IsDtype(int value) { return value >= 0 && value <= 17 && value != 10; }

// Dims and strides as a caller gives them.
template <typename Int>
struct Shape {
  explicit Shape(Bytes& bytes)
      : rank(bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(MLUOP_DIM_MAX + 1)),
        readable(rank > 0 && rank <= MLUOP_DIM_MAX ? rank : 0),
        dims(readable),
        strides(readable) {
    for (int i = 0; i < readable; ++i) {
      dims[i] =
          bytes.OneIn(8) ? static_cast<Int>(bytes.Integer()) : static_cast<Int>(bytes.Below(300));
      strides[i] = static_cast<Int>(bytes.Integer());
    }
    if (bytes.OneIn(16)) dims_pointer = nullptr;
  }

  bool IsLegal(mluOpPointerMode_t pointer_mode) {
    if (rank == 0) return pointer_mode == MLUOP_POINTER_MODE_HOST;
    if (rank != readable || dims_pointer == nullptr) return false;
    __extension__ __int128 product = 1;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] < 0) return false;
    }
    for (int i = 0; i < rank; ++i) {
      if (dims[i] == 0) return true;
    }
    for (int i = 0; i < rank && product <= INT64_MAX; ++i) product *= dims[i];
    return product <= INT64_MAX;
  }

  int rank;
  int readable;
  Array<Int> dims, strides;
  Int* dims_pointer = dims.get();
};

template <typename Int>
void RequireShape(const State& state, Shape<Int>& shape, bool with_strides) {
  size_t count = 1;
  Require(state.rank == shape.rank, "the rank must be the one that was set", "Set");
  for (int i = shape.rank - 1; i >= 0; --i) {
    Require(state.dims[i] == shape.dims[i], "the dims must be those that were set", "Set");
    const bool right = with_strides ? state.strides[i] == shape.strides[i]
                                    : static_cast<size_t>(state.strides[i]) == count;
    count *= static_cast<size_t>(shape.dims[i]);
    Require(right || count == 0 || state.count == 0, "the strides must be right", "Set");
  }
  Require(state.count == count, "the number of elements must be the product of the dims", "Set");
}

mluOpStatus_t Set(mluOpTensorDescriptor_t desc, int layout, int dtype, Shape<int>& s,
                  bool strides) {
  const auto l = static_cast<mluOpTensorLayout_t>(layout);
  const auto t = static_cast<mluOpDataType_t>(dtype);
  return strides ? mluOpSetTensorDescriptorEx(desc, l, t, s.rank, s.dims_pointer, s.strides.get())
                 : mluOpSetTensorDescriptor(desc, l, t, s.rank, s.dims_pointer);
}

mluOpStatus_t Set(mluOpTensorDescriptor_t desc, int layout, int dtype, Shape<int64_t>& s,
                  bool strides) {
  const auto l = static_cast<mluOpTensorLayout_t>(layout);
  const auto t = static_cast<mluOpDataType_t>(dtype);
  return strides
             ? mluOpSetTensorDescriptorEx_v2(desc, l, t, s.rank, s.dims_pointer, s.strides.get())
             : mluOpSetTensorDescriptor_v2(desc, l, t, s.rank, s.dims_pointer);
}

mluOpStatus_t SetDim(mluOpTensorDescriptor_t desc, Shape<int>& s) {
  return mluOpSetTensorDescriptorDim(desc, s.rank, s.dims_pointer);
}
mluOpStatus_t SetDim(mluOpTensorDescriptor_t desc, Shape<int64_t>& s) {
  return mluOpSetTensorDescriptorDim_v2(desc, s.rank, s.dims_pointer);
}

int LayoutFrom(Bytes& bytes) {
  return bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(11);
}
int DtypeFrom(Bytes& bytes) {
  return bytes.OneIn(8) ? static_cast<int>(bytes.Integer()) : bytes.Below(18);
}

// The full setters, and those that take the dims alone.
template <typename Int>
void TrySet(mluOpTensorDescriptor_t desc, Bytes& bytes, bool dims_only) {
  const State before = Read(desc);
  const int layout = dims_only ? static_cast<int>(before.layout) : LayoutFrom(bytes);
  const int dtype = dims_only ? static_cast<int>(before.dtype) : DtypeFrom(bytes);
  const bool with_strides = !dims_only && bytes.OneIn(2);
  Shape<Int> shape(bytes);
  const bool legal = IsLayout(layout) && IsDtype(dtype) && shape.IsLegal(before.pointer_mode);
  const mluOpStatus_t status =
      dims_only ? SetDim(desc, shape) : Set(desc, layout, dtype, shape, with_strides);
  const State after = Read(desc);
  Require(status == (legal ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM),
          legal ? "a legal shape must be accepted" : "a wrong shape must be BAD_PARAM", "Set");
  if (!legal) {
    Require(before == after, "a refused setter must change nothing", "Set");
    return;
  }
  Require(static_cast<int>(after.layout) == layout && static_cast<int>(after.dtype) == dtype,
          "layout and type must be those that were set", "Set");
  RequireShape(after, shape, with_strides);
  Require(Set(nullptr, layout, dtype, shape, with_strides) == MLUOP_STATUS_BAD_PARAM,
          "a NULL descriptor must be BAD_PARAM", "Set");
}

// Dims that do not fit in int are for the _v2 functions; the others say so, and write nothing.
void TryIntGetter(mluOpTensorDescriptor_t desc) {
  const State state = Read(desc);
  Array<int> dims(state.rank), strides(state.rank);
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int rank = -1;
  bool fits = true;
  for (const std::vector<int64_t>& values : {state.dims, state.strides}) {
    for (const int64_t value : values) fits = fits && value >= INT32_MIN && value <= INT32_MAX;
  }
  const mluOpStatus_t status =
      mluOpGetTensorDescriptorEx(desc, &layout, &dtype, &rank, dims.get(), strides.get());
  Require(status == (fits ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM),
          "must succeed just where everything fits in int", "GetEx");
  for (int i = 0; fits && i < rank; ++i) {
    Require(dims[i] == state.dims[i] && strides[i] == state.strides[i], "must agree with _v2",
            "GetEx");
  }
}

void TryStoredValues(mluOpTensorDescriptor_t desc, Bytes& bytes) {
  const State before = Read(desc);
  const int value = bytes.OneIn(2) ? static_cast<int>(bytes.Integer()) : bytes.Below(3);
  const auto scale = bytes.Raw<float>();
  State expected = before;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  bool legal = true;
  switch (bytes.Below(3)) {
    case 0:
      status = mluOpSetTensorDescriptorPointerMode(desc, static_cast<mluOpPointerMode_t>(value));
      legal = value == 0 || (value == 1 && !(before.rank == 0 && before.count == 1));
      if (legal) expected.pointer_mode = static_cast<mluOpPointerMode_t>(value);
      break;
    case 1:
      status = mluOpSetTensorDescriptorOnchipDataType(desc, static_cast<mluOpDataType_t>(value));
      legal = IsDtype(value);
      if (legal) expected.onchip_dtype = static_cast<mluOpDataType_t>(value);
      break;
    default:
      status = mluOpSetTensorDescriptorPositionScaleAndOffset(desc, value, scale, ~value);
      expected.position = value;
      expected.scale = std::bit_cast<uint32_t>(scale);
      expected.offset = ~value;
  }
  Require(status == (legal ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM),
          "the status must say whether the value is legal", "stored value");
  Require(Read(desc) == expected, "must be stored, and nothing else changed", "stored value");
}

// A group changes all of its descriptors or none.
template <auto SetGroup, typename Int>
void TryGroup(mluOpTensorDescriptor_t (&descs)[kDescriptors], Bytes& bytes) {
  mluOpTensorDescriptor_t* group[kDescriptors];
  mluOpTensorLayout_t layouts[kDescriptors];
  mluOpDataType_t dtypes[kDescriptors];
  int ranks[kDescriptors];
  std::vector<State> before;
  std::vector<Int> values;
  bool legal = true;
  for (int i = 0; i < kDescriptors; ++i) {
    group[i] = &descs[i];
    before.push_back(Read(descs[i]));
    const int layout = LayoutFrom(bytes), dtype = DtypeFrom(bytes);
    layouts[i] = static_cast<mluOpTensorLayout_t>(layout);
    dtypes[i] = static_cast<mluOpDataType_t>(dtype);
    Shape<Int> shape(bytes);
    shape.dims_pointer = shape.dims.get();
    ranks[i] = shape.rank;
    values.insert(values.end(), shape.dims.get(), shape.dims.get() + shape.readable);
    legal = legal && IsLayout(layout) && IsDtype(dtype) && shape.IsLegal(before[i].pointer_mode);
  }
  Array<Int> dims(static_cast<int>(values.size()));
  if (!values.empty()) std::memcpy(dims.get(), values.data(), values.size() * sizeof(Int));
  const mluOpStatus_t status = SetGroup(group, layouts, dtypes, ranks, dims.get(), kDescriptors);
  Require(status == (legal ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM),
          "must succeed just where each would", "SetGroup");
  for (int i = 0; i < kDescriptors; ++i) {
    const State after = Read(descs[i]);
    Require(legal ? after.rank == ranks[i] && after.layout == layouts[i] : after == before[i],
            "must set all or none", "SetGroup");
  }
}

// Functions without a descriptor that take an enumerator.
void TryEnumerators(Bytes& bytes) {
  const int value = bytes.OneIn(2) ? static_cast<int>(bytes.Integer()) : bytes.Below(20);
  size_t size = 0;
  const mluOpStatus_t status = mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(value), &size);
  const bool legal = IsDtype(value) && value != MLUOP_DTYPE_INVALID;
  Require((status == MLUOP_STATUS_SUCCESS) == legal && (size > 0) == legal,
          "must give the size of every type and of nothing else", "GetSizeOfDataType");
  const bool unknown = std::strcmp(mluOpGetErrorString(static_cast<mluOpStatus_t>(value)),
                                   "MLUOP_STATUS_UNKNOWN") == 0;
  Require(unknown == (value < 0 || value > 8), "must know the statuses", "GetErrorString");
}

void Run(Bytes bytes) {
  mluOpTensorDescriptor_t descs[kDescriptors];
  for (auto& desc : descs) RequireSuccess(mluOpCreateTensorDescriptor(&desc), "Create");
  const State fresh = Read(descs[0]);
  while (!bytes.empty()) {
    mluOpTensorDescriptor_t desc = descs[bytes.Below(kDescriptors)];
    switch (bytes.Below(9)) {
      case 0:
      case 1: TrySet<int>(desc, bytes, /*dims_only=*/bytes.OneIn(4)); break;
      case 2:
      case 3: TrySet<int64_t>(desc, bytes, /*dims_only=*/bytes.OneIn(4)); break;
      case 4: TryIntGetter(desc); break;
      case 5: TryStoredValues(desc, bytes); break;
      case 6:
        if (bytes.OneIn(2)) {
          TryGroup<mluOpSetGroupTensorDescriptors, int>(descs, bytes);
        } else {
          TryGroup<mluOpSetGroupTensorDescriptors_v2, int64_t>(descs, bytes);
        }
        break;
      case 7: TryEnumerators(bytes); break;
      default:
        RequireSuccess(mluOpResetTensorDescriptor(desc), "Reset");
        Require(Read(desc) == fresh, "must be as a new one", "Reset");
    }
  }
  for (auto& desc : descs) RequireSuccess(mluOpDestroyTensorDescriptor(desc), "Destroy");
}

}  // namespace
}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Run({data, size});
  return 0;
}
