// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a sequence of calls of descriptor setters and getters, with any values. The
// rules of the setters are repeated here: a rejected call changes nothing, and after an accepted one
// the getters return the new values. Every array has exactly as many elements as the call may
// access.
#include <bit>
#include <cstring>
#include <vector>

#include "mlu_op.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/descriptor_groups.h"
#include "tests/fuzz/descriptor_state.h"
#include "tests/fuzz/status_checks.h"

namespace mluop::fuzz {
namespace {

template <typename Int>
void RequireShape(const State& state, Shape<Int>& shape, bool with_strides) {
  size_t count = 1;
  Require(state.rank == shape.rank, "the rank must be the set value", "Set");
  for (int i = shape.rank - 1; i >= 0; --i) {
    Require(state.dims[i] == shape.dims[i], "the dims must be the set values", "Set");
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

// The full setters, and the setters of dims.
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
    Require(before == after, "a rejected setter must change nothing", "Set");
    return;
  }
  Require(static_cast<int>(after.layout) == layout && static_cast<int>(after.dtype) == dtype,
          "layout and type must be the set values", "Set");
  RequireShape(after, shape, with_strides);
  Require(Set(nullptr, layout, dtype, shape, with_strides) == MLUOP_STATUS_BAD_PARAM,
          "a NULL descriptor must be BAD_PARAM", "Set");
}

// Only the _v2 functions return dims beyond int; the others fail and write nothing.
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
          "must succeed if and only if all values fit in int", "GetEx");
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
  switch (bytes.Below(5)) {
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
    case 2:
      status = mluOpSetTensorDescriptorPosition(desc, value);
      expected.position = value;
      break;
    case 3:
      status = mluOpSetTensorDescriptorPositionAndScale(desc, value, scale);
      expected.position = value;
      expected.scale = std::bit_cast<uint32_t>(scale);
      break;
    default:
      status = mluOpSetTensorDescriptorPositionScaleAndOffset(desc, value, scale, ~value);
      expected.position = value;
      expected.scale = std::bit_cast<uint32_t>(scale);
      expected.offset = ~value;
  }
  Require(status == (legal ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM),
          "must succeed if and only if the value is legal", "stored value");
  Require(Read(desc) == expected, "must be stored without other changes", "stored value");
}

// Functions of an enumerator without a descriptor.
void TryEnumerators(Bytes& bytes) {
  const int value = bytes.OneIn(2) ? static_cast<int>(bytes.Integer()) : bytes.Below(20);
  size_t size = 0;
  const mluOpStatus_t status = mluOpGetSizeOfDataType(static_cast<mluOpDataType_t>(value), &size);
  const bool legal = IsDtype(value) && value != MLUOP_DTYPE_INVALID;
  Require((status == MLUOP_STATUS_SUCCESS) == legal && (size > 0) == legal,
          "must return the size of every type, and fail for other values", "GetSizeOfDataType");
  const bool unknown = std::strcmp(mluOpGetErrorString(static_cast<mluOpStatus_t>(value)),
                                   "MLUOP_STATUS_UNKNOWN") == 0;
  Require(unknown == (value < 0 || value > 8), "must return a name for every status",
          "GetErrorString");
}

// `Get` skips a NULL out-pointer; `GetEx` rejects it and writes nothing; all reject a NULL
// descriptor.
void TryNullPointers(mluOpTensorDescriptor_t desc, Bytes& bytes) {
  const State state = Read(desc);
  const int given = bytes.Below(32);
  constexpr auto kNoLayout = static_cast<mluOpTensorLayout_t>(99);
  mluOpTensorLayout_t layout = kNoLayout;
  mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
  int rank = -1;
  Array<int64_t> dims(state.rank), strides(state.rank);
  auto* l = (given & 1) != 0 ? &layout : nullptr;
  auto* t = (given & 2) != 0 ? &dtype : nullptr;
  auto* r = (given & 4) != 0 ? &rank : nullptr;
  auto* d = (given & 8) != 0 ? dims.get() : nullptr;
  auto* s = (given & 16) != 0 ? strides.get() : nullptr;
  RequireStatus(given == 31, mluOpGetTensorDescriptorEx_v2(desc, l, t, r, d, s),
                "mluOpGetTensorDescriptorEx_v2");
  Require((given == 31) == (layout != kNoLayout), "must write all or nothing", "GetEx_v2");
  RequireStatus(true, mluOpGetTensorDescriptor_v2(desc, l, t, r, d), "mluOpGetTensorDescriptor_v2");
  Require((l == nullptr || layout == state.layout) && (r == nullptr || rank == state.rank) &&
              (t == nullptr || dtype == state.dtype),
          "must write the requested values", "Get_v2");
  RequireStatus(false, mluOpGetTensorDescriptor(nullptr, l, t, r, nullptr),
                "mluOpGetTensorDescriptor");
  RequireStatus(false, mluOpCreateTensorDescriptor(nullptr), "mluOpCreateTensorDescriptor");
  RequireStatus(false, mluOpDestroyTensorDescriptor(nullptr), "mluOpDestroyTensorDescriptor");
  RequireStatus(false, mluOpResetTensorDescriptor(nullptr), "mluOpResetTensorDescriptor");
  Require(mluOpGetTensorElementNum(nullptr) == 0, "must be 0 for NULL", "GetTensorElementNum");
  Require(Read(desc) == state, "reading must change nothing", "Get");
}

// The three getters of position, scale and offset, each with one NULL pointer.
void TryQuantisation(mluOpTensorDescriptor_t desc, Bytes& bytes) {
  const State state = Read(desc);
  int position = 0;
  float scale = 0;
  int* const p = bytes.OneIn(2) ? nullptr : &position;
  float* const s = bytes.OneIn(2) ? nullptr : &scale;
  RequireStatus(p != nullptr, mluOpGetTensorDescriptorPosition(desc, p),
                "mluOpGetTensorDescriptorPosition");
  Require(p == nullptr || position == state.position, "must be the set value", "GetPosition");
  RequireStatus(p != nullptr && s != nullptr, mluOpGetTensorDescriptorPositionAndScale(desc, p, s),
                "mluOpGetTensorDescriptorPositionAndScale");
  RequireStatus(false, mluOpGetTensorDescriptorPositionScaleAndOffset(desc, p, s, nullptr),
                "mluOpGetTensorDescriptorPositionScaleAndOffset");
}

void Run(Bytes bytes) {
  mluOpTensorDescriptor_t descs[kDescriptors];
  for (auto& desc : descs) RequireSuccess(mluOpCreateTensorDescriptor(&desc), "Create");
  const State fresh = Read(descs[0]);
  while (!bytes.empty()) {
    mluOpTensorDescriptor_t desc = descs[bytes.Below(kDescriptors)];
    switch (bytes.Below(10)) {
      case 0:
      case 1: TrySet<int>(desc, bytes, /*dims_only=*/bytes.OneIn(4)); break;
      case 2:
      case 3: TrySet<int64_t>(desc, bytes, /*dims_only=*/bytes.OneIn(4)); break;
      case 4:
        TryIntGetter(desc);
        TryQuantisation(desc, bytes);
        break;
      case 5: TryStoredValues(desc, bytes); break;
      case 6: TryGroup(descs, bytes); break;
      case 7: TryEnumerators(bytes); break;
      case 8: TryNullPointers(desc, bytes); break;
      default:
        RequireSuccess(mluOpResetTensorDescriptor(desc), "Reset");
        Require(Read(desc) == fresh, "must equal a new descriptor", "Reset");
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
