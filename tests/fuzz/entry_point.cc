// SPDX-License-Identifier: Apache-2.0
#include "entry_point.h"

#include "mlu_op.h"

namespace mluop::fuzz {
namespace {

using testing::Desc;

mluOpStatus_t CallRoiAwareForward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpRoiAwarePool3dForward(
      handle, a.Int("pool_method"), a.Int("boxes_num"), a.Int("pts_num"), a.Int("channels"),
      Desc(a, "rois"), a.In<void>("rois"), Desc(a, "pts"), a.In<void>("pts"),
      Desc(a, "pts_feature"), a.In<void>("pts_feature"), a.workspace.data, a.workspace.size,
      a.Int("max_pts_each_voxel"), a.Int("out_x"), a.Int("out_y"), a.Int("out_z"),
      Desc(a, "argmax"), a.Out<void>("argmax"), Desc(a, "pts_idx_of_voxels"),
      a.Out<void>("pts_idx_of_voxels"), Desc(a, "pooled_features"), a.Out<void>("pooled_features"));
}

mluOpStatus_t CallRoiAwareBackward(mluOpHandle_t handle, const Arguments& a) {
  return mluOpRoiAwarePool3dBackward(
      handle, a.Int("pool_method"), a.Int("boxes_num"), a.Int("out_x"), a.Int("out_y"),
      a.Int("out_z"), a.Int("channels"), a.Int("max_pts_each_voxel"), Desc(a, "pts_idx_of_voxels"),
      a.In<void>("pts_idx_of_voxels"), Desc(a, "argmax"), a.In<void>("argmax"), Desc(a, "grad_out"),
      a.In<void>("grad_out"), Desc(a, "grad_in"), a.Out<void>("grad_in"));
}

mluOpStatus_t GetRoiAwareForward(mluOpHandle_t handle, const Arguments& a, size_t* size) {
  return mluOpGetRoiAwarePool3dForwardWorkspaceSize(handle, Desc(a, "rois"), Desc(a, "pts"),
                                                    Desc(a, "pts_feature"), size);
}

mluOpStatus_t CallPsRoiPoolWithoutWorkspace(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsRoiPoolForward(handle, a.Int("pooled_height"), a.Int("pooled_width"),
                               a.Float("spatial_scale"), a.Int("group_size"), a.Int("output_dim"),
                               Desc(a, "input"), a.In<void>("input"), Desc(a, "rois"),
                               a.In<void>("rois"), Desc(a, "output"), a.Out<void>("output"),
                               Desc(a, "mapping_channel"), a.Out<void>("mapping_channel"));
}

// The entry point of that name once more, under another.
EntryPoint* Again(std::vector<EntryPoint>& all, std::string_view name, const char* suffix) {
  for (const EntryPoint& entry : all) {
    if (entry.name != name) continue;
    EntryPoint copy = entry;
    copy.name += suffix;
    return &all.emplace_back(std::move(copy));
  }
  return nullptr;
}

}  // namespace

std::vector<EntryPoint> AllEntryPoints() {
  std::vector<EntryPoint> all;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) {
      all.push_back({std::string(test.name), &testing::FindOperator(test.name)->spec, &test,
                     test.call, test.has_workspace(), nullptr});
    }
    for (const testing::GetterTest& getter : family->getters) {
      for (const Family* tables : Families()) {
        for (const OpSpec* spec : tables->getters) {
          if (spec->name != getter.name) continue;
          all.push_back({std::string(spec->name), spec, nullptr, nullptr, false, getter.call});
        }
      }
    }
  }
  Again(all, "roiaware_pool3d_forward", ", RoiAware")->call = CallRoiAwareForward;
  Again(all, "roiaware_pool3d_backward", ", RoiAware")->call = CallRoiAwareBackward;
  Again(all, "roiaware_pool3d_forward_workspace", ", RoiAware")->get = GetRoiAwareForward;
  EntryPoint* short_form = Again(all, "psroipool_forward", ", no workspace");
  short_form->call = CallPsRoiPoolWithoutWorkspace;
  short_form->has_workspace = false;
  return all;
}

}  // namespace mluop::fuzz
