// SPDX-License-Identifier: Apache-2.0
// src/testing, which the driver and the tests share: case lines, guarded buffers, random numbers,
// instruction sets, and the comparison with the reference.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "core/device.h"
#include "testing/isa.h"
#include "testing/prepared_call.h"
#include "testing/random.h"
#include "tests/support/examples.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

TEST(ParseCase, ReturnsEveryValue) {
  const Case parsed = ParseCase(kExampleLine);
  EXPECT_EQ(parsed.op->spec.name, kExampleOperator);
  EXPECT_EQ(parsed.test->name, kExampleOperator);
  EXPECT_EQ(parsed.values.at("N"), 2);
  EXPECT_EQ(parsed.values.at("w_mask"), 5);
  EXPECT_EQ(parsed.dtype, MLUOP_DTYPE_FLOAT);
  EXPECT_EQ(parsed.seed, 1u);
  EXPECT_EQ(parsed.Option("data"), "uniform");
}

TEST(ParseCase, KeysMayComeInAnyOrder) {
  const Case parsed = ParseCase(
      "masked_im2col_forward data=bits seed=77 dtype=half pad_w=0 pad_h=-1 kernel_w=3 "
      "kernel_h=2 M=5 W=4 H=3 C=2");
  EXPECT_EQ(parsed.dtype, MLUOP_DTYPE_HALF);
  EXPECT_EQ(parsed.seed, 77u);
  EXPECT_EQ(parsed.Option("data"), "bits");
  EXPECT_EQ(parsed.values.at("pad_h"), -1);
}

TEST(ParseCase, RealAttributeMayHaveAFraction) {
  const Case parsed = ParseCase(
      "torchvision_ps_roi_pool_forward N=1 O=1 H=2 W=2 R=1 pooled_height=1 pooled_width=1 "
      "spatial_scale=0.0625");
  EXPECT_EQ(parsed.values.at("spatial_scale"), 0.0625);
}

TEST(ParseCase, BlanksAndCommentAreIgnored) {
  const Case parsed = ParseCase("  " + std::string(kExampleLine) + "\t # d003, H=99");
  EXPECT_EQ(parsed.line, kExampleLine);
  EXPECT_EQ(parsed.values.at("H"), 3);
}

struct BadLine {
  std::string line;
  std::vector<std::string> message;  // the parts that it must have
};

TEST(ParseCase, BadLineThrowsAMessageWithTheExpectedKeys) {
  const std::string family = kExampleFamily, name = kExampleOperator, example = kExampleLine;
  const std::string pads = kPadsLine;
  const std::string average =
      "roiaware_pool3d_backward P=2 boxes_num=1 out_x=1 out_y=1 out_z=1 channels=3 "
      "max_pts_each_voxel=4";
  const BadLine lines[] = {
      {"", {"operator"}},
      {"   # nothing but a comment", {"operator"}},
      {family + " N=1", {"operator", "got " + family, name, "masked_col2im_forward"}},
      {example + " fast", {name + ": ", "key=value", "got fast", "h_mask="}},
      {example + " K=3", {name + ": ", "unknown key K", "psa_type=", "seed="}},
      {example + " n=3", {"unknown key n"}},
      {name + " N=2 H=3 W=4 psa_type=0 h_mask=3", {"w_mask must have a value", "none"}},
      {name + " N=2 W=4 psa_type=0 h_mask=3 w_mask=5", {"H must have a value"}},
      {example + " N=two", {"N must be an integer, got two"}},
      {example + " N=", {"N must be an integer, got"}},
      {example + " N=2x", {"N must be an integer, got 2x"}},
      {example + " N=1.5", {"N must be an integer, got 1.5"}},
      {example + " N=nan", {"N must be an integer, got nan"}},
      {example + " N=-1", {"N must be at least 0, got -1"}},
      {example + " N=1e300", {"N must be an integer"}},
      {example + " h_mask=inf", {"h_mask must be an integer, got inf"}},
      {example + " dtype=half", {"dtype must be float|double, got half"}},
      {pads + " dtype=int32", {"dtype must be float|half|double, got int32"}},
      {example + " data=ones", {"data must be uniform|special|bits|file, got ones"}},
      {example + " seed=x", {"seed must be an integer, got x"}},
      {example + " N=2", {name + ": ", "N must be given once, got two values"}},
      {example + " seed=3 seed=3", {"seed must be given once"}},
      {example + " data=bits dtype=float data=bits", {"data must be given once"}},
      {example + " y=absent", {"unknown key y"}},
      {average + " argmax=none", {"argmax must be given|absent, got none"}},
      {average + " argmax=absent pool_method=0", {"argmax must be given unless pool_method is 1"}},
      {"torchvision_ps_roi_pool_forward spatial_scale=wide",
       {"spatial_scale must be a number, got wide"}},
  };
  for (const BadLine& bad : lines) {
    SCOPED_TRACE(bad.line);
    try {
      ParseCase(bad.line);
      ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& error) {
      for (const std::string& part : bad.message) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    }
  }
}

// Numbers that do not fit in the types of the C function.
TEST(ParseCase, NumberOutOfRangeOfItsTypeThrows) {
  const std::string im2col = "masked_im2col_forward C=2 H=3 W=4 M=5 kernel_w=3 pad_w=0";
  for (const char* end : {" kernel_h=2 pad_h=2147483648", " kernel_h=2 pad_h=-2147483649",
                          " pad_h=0 kernel_h=1e15", " kernel_h=2 pad_h=0 seed=-1"}) {
    EXPECT_THROW(ParseCase(im2col + end), std::invalid_argument) << end;
  }
  EXPECT_EQ(ParseCase(im2col + " kernel_h=2 pad_h=2147483647").values.at("pad_h"), 2147483647);
}

TEST(CaseCall, TooLargeTensorThrows) {
  const Case parsed = ParseCase(std::string(kExampleOperator) +
                                " N=4000000000 H=4000000000 W=4 psa_type=0 h_mask=3 w_mask=5");
  EXPECT_THROW(CaseCall{parsed}, std::invalid_argument);
}

TEST(ParseCases, ReadsSetsAndIgnoresCommentsAndBlankLines) {
  const auto cases = ParseCases("# head\n\na N=1\n[large]  # a set\nb N=2 # why\n\n  c\n[x]\nd");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].line, "a N=1");
  EXPECT_EQ(cases[1].set, "large");
  EXPECT_EQ(cases[1].line, "b N=2");
  EXPECT_EQ(cases[2].set, "large");
  EXPECT_EQ(cases[3].set, "x");
  EXPECT_NE(cases[0].set, "large");
}

TEST(ParseCases, CasesOfEveryFamilyParse) {
  int count = 0;
  for (const FamilyTest* family : FamilyTests()) {
    for (const CaseLine& line : ParseCases(CasesOf(family->name))) {
      EXPECT_NO_THROW(CaseCall{ParseCase(line.line)}) << line.line;
      ++count;
    }
  }
  EXPECT_GT(count, 50);
}

TEST(PreparedCall, InputsDependOnTheSeedOnly) {
  const Case first = ParseCase(kExampleLine);
  const Case second = ParseCase(std::string(kExampleLine) + " seed=2");
  const PreparedCall a(first, Placement::kFront), b(first, Placement::kBack),
      c(second, Placement::kBack);
  const auto bytes = [](const PreparedCall& call) {
    const TensorArgument& x = call.arguments().Tensor("x");
    return std::string(static_cast<const char*>(x.data), x.ByteCount());
  };
  EXPECT_EQ(bytes(a), bytes(b));
  EXPECT_NE(bytes(a), bytes(c));
}

class GuardedBufferTest : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GuardedBufferTest, ::testing::Values(0, 1, 7, 4095, 4096, 4097),
                         ::testing::PrintToStringParamName());

TEST_P(GuardedBufferTest, ReadBeforeTheFirstByteCrashes) {
  const GuardedBuffer buffer(GetParam(), Placement::kFront);
  const volatile char* data = static_cast<const char*>(buffer.data());
  EXPECT_DEATH(static_cast<void>(data[-1]), "");
}

TEST_P(GuardedBufferTest, ReadAfterTheLastByteCrashes) {
  const GuardedBuffer buffer(GetParam(), Placement::kBack);
  const volatile char* data = static_cast<const char*>(buffer.data());
  EXPECT_DEATH(static_cast<void>(data[GetParam()]), "");
}

TEST_P(GuardedBufferTest, WriteOutsideCrashes) {
  const GuardedBuffer front(GetParam(), Placement::kFront);
  const GuardedBuffer back(GetParam(), Placement::kBack);
  EXPECT_DEATH(static_cast<volatile char*>(front.data())[-1] = 1, "");
  EXPECT_DEATH(static_cast<volatile char*>(back.data())[GetParam()] = 1, "");
}

TEST_P(GuardedBufferTest, EveryByteInsideIsUsable) {
  for (const Placement placement : {Placement::kFront, Placement::kBack}) {
    GuardedBuffer buffer(GetParam(), placement);
    buffer.Poison();
    const auto* data = static_cast<const unsigned char*>(buffer.data());
    for (size_t i = 0; i < GetParam(); ++i) ASSERT_EQ(data[i], 0xff);
    EXPECT_EQ(buffer.size(), GetParam());
  }
}

TEST(GuardedBufferMakeReadOnly, WriteCrashesAndReadDoesNot) {
  GuardedBuffer buffer(10, Placement::kBack);
  buffer.Poison();
  buffer.MakeReadOnly();
  EXPECT_EQ(static_cast<volatile unsigned char*>(buffer.data())[9], 0xff);
  EXPECT_DEATH(static_cast<volatile char*>(buffer.data())[9] = 1, "");
}

TEST(RandomBits, EqualSplitMix64) {
  Random random(0);
  EXPECT_EQ(random.Bits(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(random.Bits(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(random.Bits(), 0x06c45d188009454fu);
}

TEST(RandomUniformAndBelow, StayInRange) {
  Random random(3);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const double value = random.Uniform(-2, 3);
    EXPECT_GE(value, -2);
    EXPECT_LT(value, 3);
    seen.insert(random.Below(5));
  }
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(random.Below(1), 0);
}

TEST(ForceIsa, ForcesEverySupportedInstructionSet) {
  const std::vector<std::string> names = SupportedIsas();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    EXPECT_TRUE(ForceIsa(name));
    EXPECT_EQ(CpuDevice()->architecture(), name);
  }
  EXPECT_FALSE(ForceIsa("NOSUCH"));
  ResetIsa();
  EXPECT_EQ(CpuDevice()->architecture(), names[0]);
}

#if defined(__x86_64__) && !defined(__SSSE3__)
// The fallback for x86 without SSSE3 is tested too.
TEST(SupportedIsas, LastIsTheScalarFallback) {
  const std::string last = SupportedIsas().back();
  EXPECT_TRUE(last == "SCALAR" || last == "EMU128") << last;
}
#endif

TEST(BaselineCompare, ReportsASingleWrongBit) {
  const Case parsed = ParseCase(kExampleLine);
  PreparedCall call(parsed, Placement::kBack);
  call.PoisonOutputs();
  const Handle handle;
  ASSERT_EQ(call.Run(handle), MLUOP_STATUS_SUCCESS);
  const Baseline baseline(call);
  std::string details;
  EXPECT_EQ(baseline.Compare(call, &details), "");
  static_cast<uint32_t*>(call.Output("y").data)[7] ^= 1;
  EXPECT_EQ(baseline.Compare(call, &details).find("y[7] must be "), 0u);
}

// FamilyTests() must list every table, because the generated tests iterate over it.
TEST(FamilyTests, ListEveryOperatorAndGetter) {
  std::set<std::string_view> tables, tests;
  size_t count = 0;
  for (const Family* family : Families()) {
    for (const Operator* op : family->operators) tables.insert(op->spec.name);
    for (const OpSpec* getter : family->getters) tables.insert(getter->name);
    count += family->operators.size() + family->getters.size();
  }
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) tests.insert(test.name);
    for (const GetterTest& getter : family->getters) tests.insert(getter.name);
  }
  EXPECT_EQ(tables, tests);
  EXPECT_EQ(tables.size(), count) << "two tables have the same name";
}

}  // namespace
}  // namespace mluop::testing
