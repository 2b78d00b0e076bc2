// SPDX-License-Identifier: Apache-2.0
// main() of the test programs that run child processes.
#include <gtest/gtest.h>

#include "tests/support/child.h"

#if defined(__SANITIZE_ADDRESS__)
// The tests expect an allocation to fail, not to abort.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

// A test that needs a separate process runs this program with the name of an action (child.h).
int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == mluop::testing::kChildFlag) {
    return mluop::testing::RunAction(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
