// SPDX-License-Identifier: Apache-2.0
// Runs one RoI, box or mask of a call as a separate call: a forward result must not depend on the
// other items.
#pragma once

#include <cstdint>
#include <vector>

#include "testing/prepared_call.h"

namespace mluop::testing {

// Returns the number of items of a case; 0 if its operator has none.
int64_t ItemCount(const Case& test_case);

class SingleItem {
 public:
  // Copies the inputs of item `index` from `all`, which must outlive this object.
  SingleItem(const PreparedCall& all, int64_t index);

  PreparedCall& call() { return call_; }
  // Returns the bytes of this item in the outputs of `all`; `bytes` is the result of OutputBytes.
  std::vector<char> ItemOutputs(const std::vector<char>& bytes) const;

 private:
  const PreparedCall& all_;
  int64_t index_;
  Case case_;
  PreparedCall call_;
};

}  // namespace mluop::testing
