// SPDX-License-Identifier: Apache-2.0
// One RoI, box or mask of a call as a separate call: a forward result must not depend on the
// others.
#pragma once

#include <cstdint>
#include <vector>

#include "testing/prepared_call.h"

namespace mluop::testing {

// The items of a case; 0 where its operator has none.
int64_t ItemCount(const Case& test_case);

class SingleItem {
 public:
  // Takes the inputs of item `index` from `all`, which outlives this.
  SingleItem(const PreparedCall& all, int64_t index);

  PreparedCall& call() { return call_; }
  // The item's share of the outputs of `all`, `bytes` as OutputBytes writes them.
  std::vector<char> ShareOf(const std::vector<char>& bytes) const;

 private:
  const PreparedCall& all_;
  int64_t index_;
  Case case_;
  PreparedCall call_;
};

}  // namespace mluop::testing
