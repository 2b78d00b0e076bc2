// SPDX-License-Identifier: Apache-2.0
// Parses text, or bytes that generated_line.h turns into text, as `mluop check` does: as a case line and
// as a file of cases. Requirements: any text is a case or is rejected with a message; FormatCase of
// a parsed case parses to the same case; a small case runs and agrees with the reference.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <stdexcept>
#include <string>

#include "testing/case.h"
#include "testing/isa.h"
#include "testing/prepared_call.h"
#include "tests/fuzz/agreement.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/expected.h"
#include "tests/fuzz/generated_line.h"
#include "tests/fuzz/tally.h"
#include "tools/mluop/selection.h"

namespace mluop::fuzz {
namespace {

using testing::Case;

constexpr double kMaxElements = 1 << 12;
constexpr double kMaxSteps = 1 << 16;

// Returns the error message, or "". Any other exception ends the process.
template <typename Action>
std::string MessageOf(Action action) {
  try {
    action();
    return "";
  } catch (const std::invalid_argument& error) {
    Require(error.what()[0] != '\0', "a rejection must have a message");
    return error.what();
  }
}

// Compares the product of a line's values, an upper bound of the call's accesses, with a limit.
bool IsSmall(const Case& c, const Arguments& arguments) {
  double steps = 1;
  for (const auto& [name, value] : c.values) {
    if (name != "pad_h" && name != "pad_w") steps *= std::max(value, 1.0);
  }
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const mluOpTensorStruct* desc = arguments.tensors[i].desc;
    if (desc != nullptr && static_cast<double>(desc->ElementCount()) > kMaxElements) return false;
  }
  return steps <= kMaxSteps;
}

void RequireAllValues(const Case& c) {
  const OpSpec& spec = c.op->spec;
  Require(std::ssize(c.values) == spec.symbol_count + spec.attribute_count,
          "a case must have a value for every key", c.line.c_str());
}

// Seed and contents are not part of the call.
void RequireSameAgain(const Case& c, const testing::CaseCall& call) {
  char text[1024];
  const int length = FormatCase(call.arguments, text, sizeof(text));
  Require(length > 0 && length < static_cast<int>(sizeof(text)), "a case must fit in its line",
          text);
  const Case again = testing::ParseCase(text);
  Require(again.op == c.op && again.dtype == c.dtype, "must be the same operator and type", text);
  for (const auto& [name, value] : c.values) {
    const double other = again.values.find(name)->second;
    const double digits = value == std::floor(value) && std::abs(value) < 1e9 ? 0 : 1e-8;
    Require(std::abs(value - other) <= digits * std::abs(value), "must have the same values", text);
  }
}

// Rounds real numbers to float, as the C function receives them.
void RoundReals(Arguments& arguments) {
  for (int i = 0; i < arguments.spec->attribute_count; ++i) {
    if (arguments.spec->attributes[i].kind != AttributeSpec::kPositiveReal) continue;
    double& number = arguments.attributes[i].number;
    number = std::abs(number) > FLT_MAX ? std::copysign(INFINITY, number)
                                        : static_cast<double>(static_cast<float>(number));
  }
}

Outcome RunCase(const Case& c, mluOpHandle_t handle) {
  RequireAllValues(c);
  const testing::CaseCall shapes(c);
  RequireSameAgain(c, shapes);
  if (!IsSmall(c, shapes.arguments)) return Outcome::kTooMuchWork;
  const auto placement = c.seed % 2 == 0 ? testing::Placement::kFront : testing::Placement::kBack;
  Arguments arguments = shapes.arguments;
  RoundReals(arguments);
  const Expected expected = ExpectedFromShapes(handle, arguments);
  if (!expected.runs) {  // a generator of contents requires a valid problem
    return expected.status == MLUOP_STATUS_BAD_PARAM ? Outcome::kBadParam : Outcome::kNothingToDo;
  }
  testing::PreparedCall call(c, placement);
  call.PoisonOutputs();
  const mluOpStatus_t status = call.Run(handle);
  Require(status == MLUOP_STATUS_SUCCESS, "a valid case must succeed", c.line.c_str());
  arguments = call.arguments();
  const bool small_range = c.Option("data") == "uniform";
  const std::string error = Disagreement(*c.test, arguments, small_range);
  if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
  Require(error.empty(), "must agree with the reference", c.line.c_str());
  return Outcome::kRan;
}

void RunLine(const std::string& line, Tally& tally) {
  static const mluOpHandle_t handle = [] {
    mluOpHandle_t created = nullptr;
    Require(mluOpCreate(&created) == MLUOP_STATUS_SUCCESS, "must succeed", "mluOpCreate");
    mluOpSetNumThreads(created, 1);
    return created;
  }();
  Case c;
  Outcome outcome = Outcome::kRejected;
  if (!MessageOf([&] { c = testing::ParseCase(line); }).empty()) {
    tally.Count("rejected", outcome);
    return;
  }
  const std::string rejection = MessageOf([&] { outcome = RunCase(c, handle); });
  tally.Count(rejection.empty() ? std::string(c.test->name) : "too large", outcome);
}

void Run(const std::string& text) {
  static Tally tally;
  RunLine(text.substr(0, text.find('\n')), tally);
  tool::Selection selection;
  for (const testing::CaseLine& line : testing::ParseCases(text)) {
    Require(line.line.find('\n') == std::string::npos, "a case must be of one line");
    selection.set = line.set;
    selection.lines.push_back(line.line);
  }
  if (!selection.lines.empty()) MessageOf([&] { tool::SelectCases(selection); });
}

}  // namespace
}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Run(mluop::fuzz::IsForMakeLine(data, size)
                       ? mluop::fuzz::MakeLine({data + 1, size - 1})
                       : std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
