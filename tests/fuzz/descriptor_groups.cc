// SPDX-License-Identifier: Apache-2.0
// Tests groups of descriptors (descriptor_groups.h).
#include "tests/fuzz/descriptor_groups.h"

#include <cstring>
#include <vector>

#include "tests/fuzz/descriptor_state.h"
#include "tests/fuzz/status_checks.h"

namespace mluop::fuzz {
namespace {

// A setter changes all descriptors of a group or none.
template <auto SetGroup, typename Int>
void TrySetGroup(mluOpTensorDescriptor_t (&descs)[kDescriptors], const char* name, Bytes& bytes) {
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
  // Sometimes an argument or an entry of the group is NULL.
  const int missing = bytes.OneIn(4) ? bytes.Below(6) : -1;
  if (missing == 5) group[bytes.Below(kDescriptors)] = nullptr;
  const mluOpStatus_t status =
      SetGroup(missing == 0 ? nullptr : group, missing == 1 ? nullptr : layouts,
               missing == 2 ? nullptr : dtypes, missing == 3 ? nullptr : ranks,
               missing == 4 ? nullptr : dims.get(), kDescriptors);
  legal = legal && missing < 0;
  RequireStatus(legal, status, name);
  for (int i = 0; i < kDescriptors; ++i) {
    const State after = Read(descs[i]);
    Require(legal ? after.rank == ranks[i] && after.layout == layouts[i] : after == before[i],
            "must set all or none", "SetGroup");
  }
}

// Creates all descriptors of the group, or none.
void TryCreateGroup(Bytes& bytes) {
  mluOpTensorDescriptor_t descs[kDescriptors] = {};
  mluOpTensorDescriptor_t* group[kDescriptors];
  for (int i = 0; i < kDescriptors; ++i) group[i] = &descs[i];
  const bool hole = bytes.OneIn(4);
  const int count = bytes.OneIn(4) ? bytes.Below(4) - 3 : 1 + bytes.Below(kDescriptors);
  if (hole) group[0] = nullptr;
  const bool legal = count > 0 && !hole;
  RequireStatus(legal, mluOpCreateGroupTensorDescriptors(group, count),
                "mluOpCreateGroupTensorDescriptors");
  for (int i = 0; i < kDescriptors; ++i) {
    Require((descs[i] != nullptr) == (legal && i < count), "must make all or none", "CreateGroup");
  }
  RequireStatus(false, mluOpCreateGroupTensorDescriptors(nullptr, count),
                "mluOpCreateGroupTensorDescriptors");
  RequireStatus(false, mluOpDestroyGroupTensorDescriptors(nullptr, count),
                "mluOpDestroyGroupTensorDescriptors");
  // One too many: nothing is destroyed, as the next call shows.
  if (count < kDescriptors) {
    RequireStatus(false, mluOpDestroyGroupTensorDescriptors(group, count + 1),
                  "mluOpDestroyGroupTensorDescriptors");
  }
  RequireStatus(legal, mluOpDestroyGroupTensorDescriptors(group, count),
                "mluOpDestroyGroupTensorDescriptors");
}

}  // namespace

void TryGroup(mluOpTensorDescriptor_t (&descs)[kDescriptors], Bytes& bytes) {
  switch (bytes.Below(3)) {
    case 0:
      TrySetGroup<mluOpSetGroupTensorDescriptors, int>(descs, "mluOpSetGroupTensorDescriptors",
                                                       bytes);
      break;
    case 1:
      TrySetGroup<mluOpSetGroupTensorDescriptors_v2, int64_t>(
          descs, "mluOpSetGroupTensorDescriptors_v2", bytes);
      break;
    default: TryCreateGroup(bytes);
  }
}

}  // namespace mluop::fuzz
