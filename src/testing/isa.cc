// SPDX-License-Identifier: Apache-2.0
#include "testing/isa.h"

#include <hwy/highway.h>

namespace mluop::testing {
namespace {

// Returns Highway's supported targets, regardless of ForceIsa. The scalar fallback is always
// compiled and supported.
int64_t AllTargets() {
  static const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return targets;
}

void Choose(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

std::vector<std::string> SupportedIsas() {
  std::vector<std::string> names;
  for (int64_t rest = AllTargets(); rest != 0; rest &= rest - 1) {
    names.emplace_back(hwy::TargetName(rest & -rest));
  }
  return names;
}

bool ForceIsa(const std::string& name) {
  for (int64_t rest = AllTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    if (name != hwy::TargetName(target)) continue;
    Choose(target);
    return true;
  }
  return false;
}

void ResetIsa() {
  static_cast<void>(AllTargets());
  Choose(0);
}

}  // namespace mluop::testing
