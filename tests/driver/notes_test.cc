// SPDX-License-Identifier: Apache-2.0
// The notes of cases.txt that reports show.
#include "testing/notes.h"

#include <gtest/gtest.h>

#include "testing/operator_test.h"

namespace mluop::testing {
namespace {

constexpr char kText[] =
    "# a comment\n"
    "#: blur_forward cuda H=60 psa_type=1: the L2\n"
    "#: blur_forward cuda: latency: 3 us\n"
    "#: blur_forward description: Spreads masks.\n"
    "blur_forward N=1\n";

TEST(Notes, FirstLineWithAllItsWordsInTheCaseIsUsed) {
  EXPECT_EQ(NoteIn(kText, "blur_forward N=1 H=60 psa_type=1", "cuda:0"), "the L2");
  EXPECT_EQ(NoteIn(kText, "blur_forward N=1 H=60 psa_type=0", "cuda:1"), "latency: 3 us");
  EXPECT_EQ(NoteIn(kText, "blur_forward N=1 H=600 psa_type=1", "cuda:0"), "latency: 3 us");
}

TEST(Notes, OtherOperatorsAndDevicesHaveNone) {
  EXPECT_EQ(NoteIn(kText, "blur_forward N=1", "cpu"), "");
  EXPECT_EQ(NoteIn(kText, "blur_backward N=1", "cuda:0"), "");
  EXPECT_EQ(NoteIn(kText, "", "cuda:0"), "");
}

TEST(Notes, EveryOperatorHasADescription) {
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) {
      EXPECT_NE(NoteOf(test.name, "description"), "") << test.name;
    }
  }
}

}  // namespace
}  // namespace mluop::testing
