// SPDX-License-Identifier: Apache-2.0
// The main program of mluops_tests.
#include <gtest/gtest.h>

#include "tests/support/child.h"

#if defined(__SANITIZE_ADDRESS__)
// Out of memory is an answer to test, not the end of the program.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif

// A test that needs a process of its own runs this program again with an action instead of tests.
int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == mluop::testing::kChildFlag) {
    return mluop::testing::RunAction(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
