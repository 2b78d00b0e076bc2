// SPDX-License-Identifier: Apache-2.0
// The entries of the operators' tables as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "testing/entries.h"

namespace mluop::testing {

// Returns the name of the entry as a test parameter.
inline std::string EntryName(const ::testing::TestParamInfo<Entry>& info) {
  return info.param.name();
}

}  // namespace mluop::testing
