// SPDX-License-Identifier: Apache-2.0
// The caller's floating-point settings do not change results, and a call does not change them.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <vector>

#include "mlu_op.h"
#include "mluops/extensions.h"
#include "testing/prepared_call.h"
#include "tests/support/tensors.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using mluop::testing::Case;
using mluop::testing::ParseCase;
using mluop::testing::Placement;
using mluop::testing::PreparedCall;

// The gradients are just above the denormals, so the gradient of a pixel is denormal. The case is
// large enough for several threads.
constexpr char kCase[] =
    "torchvision_ps_roi_pool_backward N=4 O=16 H=40 W=40 R=200 pooled_height=3 pooled_width=3 "
    "spatial_scale=0.5";

std::vector<char> RunCase(const Case& test_case, int threads) {
  PreparedCall call(test_case, Placement::kFront);
  // Tiny gradients in a copy of the arguments: the prepared inputs are read-only.
  mluop::Arguments arguments = call.arguments();
  std::vector<float> gradients(arguments.Tensor("grad_output").ByteCount() / sizeof(float));
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = i % 2 == 0 ? 1.5e-38f : 2.5e-38f;
  arguments.tensors[arguments.spec->TensorIndex("grad_output")].data = gradients.data();
  const mluop::testing::Handle handle(threads);
  call.PoisonOutputs();
  EXPECT_EQ(test_case.test->call(handle, arguments), MLUOP_STATUS_SUCCESS);
  const mluop::TensorArgument& output = call.Output("grad_input");
  const auto* bytes = static_cast<const char*>(output.data);
  return {bytes, bytes + output.ByteCount()};
}

bool HasDenormals(const std::vector<char>& bytes) {
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + i, 4);
    if ((bits & 0x7f800000u) == 0 && (bits & 0x007fffffu) != 0) return true;
  }
  return false;
}

TEST(FloatingPointSettings, RoundingModeOfTheCallerDoesNotChangeResults) {
  const Case test_case = ParseCase(kCase);
  const std::vector<char> expected = RunCase(test_case, 1);
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const std::vector<char> one = RunCase(test_case, 1);
  const std::vector<char> four = RunCase(test_case, 4);
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_TRUE(one == expected);
  EXPECT_TRUE(four == expected);
}

#if defined(__x86_64__)
TEST(FloatingPointSettings, FlushToZeroOfTheCallerDoesNotChangeResults) {
  const Case test_case = ParseCase(kCase);
  const std::vector<char> expected = RunCase(test_case, 1);
  ASSERT_TRUE(HasDenormals(expected));
  const unsigned before = _mm_getcsr();
  const unsigned flushing = (before & ~0x3fu) | 0x8040u;
  _mm_setcsr(flushing);
  const std::vector<char> one = RunCase(test_case, 1);
  const std::vector<char> four = RunCase(test_case, 4);
  const unsigned after = _mm_getcsr() & ~0x3fu;
  _mm_setcsr(before);
  EXPECT_EQ(after, flushing);
  EXPECT_TRUE(one == expected);
  EXPECT_TRUE(four == expected);
}
#endif

}  // namespace
