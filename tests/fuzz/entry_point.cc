// SPDX-License-Identifier: Apache-2.0
// Lists the entry points of all operators (entry_point.h).
#include "tests/fuzz/entry_point.h"

#include "mlu_op.h"

namespace mluop::fuzz {
namespace {

using testing::Desc;

mluOpStatus_t CallPsRoiPoolWithoutWorkspace(mluOpHandle_t handle, const Arguments& a) {
  return mluOpPsRoiPoolForward(handle, a.Int("pooled_height"), a.Int("pooled_width"),
                               a.Float("spatial_scale"), a.Int("group_size"), a.Int("output_dim"),
                               Desc(a, "input"), a.In<void>("input"), Desc(a, "rois"),
                               a.In<void>("rois"), Desc(a, "output"), a.Out<void>("output"),
                               Desc(a, "mapping_channel"), a.Out<void>("mapping_channel"));
}

}  // namespace

// The corpus stores the index of an entry point, modulo their number. After adding one, regenerate
// the corpus (`scripts/fuzz.sh minimise`).
std::vector<EntryPoint> AllEntryPoints() {
  std::vector<EntryPoint> all, aliases;
  // The same operator through its other C function.
  const auto add_alias = [&aliases](EntryPoint entry, const char* suffix) -> EntryPoint& {
    entry.name += suffix;
    return aliases.emplace_back(std::move(entry));
  };
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) {
      all.push_back({std::string(test.name), &testing::FindOperator(test.name)->spec, &test,
                     test.call, test.has_workspace(), nullptr});
      if (test.other_spelling != nullptr)
        add_alias(all.back(), ", other spelling").call = test.other_spelling;
    }
    for (const testing::GetterTest& getter : family->getters) {
      all.push_back({std::string(getter.name), testing::FindGetter(getter.name), nullptr, nullptr,
                     false, getter.call});
      if (getter.other_spelling != nullptr)
        add_alias(all.back(), ", other spelling").get = getter.other_spelling;
    }
  }
  for (const EntryPoint& entry : all) {
    if (entry.name != "psroipool_forward") continue;
    EntryPoint& short_form = add_alias(entry, ", no workspace");
    short_form.call = CallPsRoiPoolWithoutWorkspace;
    short_form.has_workspace = false;
  }
  all.insert(all.end(), aliases.begin(), aliases.end());
  return all;
}

}  // namespace mluop::fuzz
