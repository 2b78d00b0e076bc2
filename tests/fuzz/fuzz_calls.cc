// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a call of any operator or workspace getter. Requirements:
//   - The status is the contract's for any descriptors, attributes, pointers and contents.
//   - A valid call agrees with the reference, and sets no error message.
//   - Any other call leaves the outputs unchanged; if it fails, it sets an error message of the
//     contract's form.
//   - No call writes to an input.
#include <string>
#include <string_view>
#include <vector>

#include "testing/isa.h"
#include "tests/fuzz/agreement.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/expected.h"
#include "tests/fuzz/generated_call.h"
#include "tests/fuzz/tally.h"

namespace mluop::fuzz {
namespace {

// Sets a marker as the last error message, so that a new message is detected.
void SetMarkerMessage() { static_cast<void>(mluOpGetSizeOfDataType(MLUOP_DTYPE_FLOAT, nullptr)); }

void RequireMessage(const GeneratedCall& call, mluOpStatus_t status) {
  const std::string_view message = mluOpGetLastErrorMessage();
  const std::string start = std::string(call.spec.name) + ": ";
  const bool about_it = message.substr(0, start.size()) == start;
  if (status == MLUOP_STATUS_SUCCESS) {
    Require(!about_it, "a success must leave no message", call.entry.name.c_str());
    return;
  }
  const bool formed = message.find(" must ") != std::string_view::npos &&
                      message.find(", got ") != std::string_view::npos;
  Require(about_it && formed, "a failure must leave a message", call.entry.name.c_str());
}

void RequireUntouched(const GeneratedCall& call, Direction direction) {
  for (int i = 0; i < call.spec.tensor_count; ++i) {
    if (call.spec.tensors[i].direction != direction) continue;
    Require(!call.blocks[i].Changed(),
            direction == kIn ? "an input has changed" : "a call that did not run wrote an output",
            call.entry.name.c_str());
  }
}

void RequireStatus(const GeneratedCall& call, mluOpStatus_t got, mluOpStatus_t expected) {
  if (got == expected) return;
  std::fprintf(stderr, "must be %s, got %s\n", mluOpGetErrorString(expected),
               mluOpGetErrorString(got));
  Require(false, "status differs from the contract", call.entry.name.c_str());
}

// `arguments` are the arguments of the call, with the values of the symbols.
void RequireAgreement(const GeneratedCall& call, const Arguments& arguments) {
  const std::string error = Disagreement(*call.entry.test, arguments, call.small_range);
  if (error.empty()) return;
  char line[512];
  FormatCase(arguments, line, sizeof(line));
  std::fprintf(stderr, "%s\n%s\n", line, error.c_str());
  Require(false, "must agree with the reference", call.entry.name.c_str());
}

Outcome RunOperator(const GeneratedCall& call) {
  Arguments arguments = call.arguments;
  const Expected expected = ExpectedFromCall(call.entry, call.handle, arguments);
  if (expected.runs && call.too_much_work) return Outcome::kTooMuchWork;
  SetMarkerMessage();
  const mluOpStatus_t status = call.entry.call(call.handle, call.arguments);
  RequireStatus(call, status, expected.status);
  RequireMessage(call, status);
  RequireUntouched(call, kIn);
  if (expected.runs) {
    RequireAgreement(call, arguments);
    return Outcome::kRan;
  }
  RequireUntouched(call, kOut);
  return status == MLUOP_STATUS_SUCCESS     ? Outcome::kNothingToDo
         : status == MLUOP_STATUS_BAD_PARAM ? Outcome::kBadParam
                                            : Outcome::kNotSupported;
}

Outcome RunGetter(const GeneratedCall& call, bool with_out_pointer) {
  constexpr size_t kMark = 0x5a5a5a5a5a5a5a5a;
  size_t size = kMark;
  Arguments arguments = call.arguments;
  Expected expected = ExpectedFromShapes(call.handle, arguments);
  if (!with_out_pointer) expected = {MLUOP_STATUS_BAD_PARAM, false};
  SetMarkerMessage();
  const mluOpStatus_t status =
      call.entry.get(call.handle, call.arguments, with_out_pointer ? &size : nullptr);
  RequireStatus(call, status, expected.status);
  RequireMessage(call, status);
  Require((status == MLUOP_STATUS_SUCCESS) == (size != kMark),
          "workspace_size must be written on success, and only then", call.entry.name.c_str());
  const bool nothing = status == MLUOP_STATUS_SUCCESS && !expected.runs;
  Require(!nothing || size == 0, "nothing to do must need no workspace", call.entry.name.c_str());
  RequireUntouched(call, kIn);
  RequireUntouched(call, kOut);
  return expected.runs                      ? Outcome::kRan
         : nothing                          ? Outcome::kNothingToDo
         : status == MLUOP_STATUS_BAD_PARAM ? Outcome::kBadParam
                                            : Outcome::kNotSupported;
}

mluOpHandle_t HandleWithThreads(int num_threads) {
  mluOpHandle_t handle = nullptr;
  Require(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS, "must succeed", "mluOpCreate");
  Require(mluOpSetNumThreads(handle, num_threads) == MLUOP_STATUS_SUCCESS, "must succeed",
          "mluOpSetNumThreads");
  return handle;
}

void Run(Bytes bytes) {
  static const std::vector<EntryPoint> entry_points = AllEntryPoints();
  static const std::vector<std::string> isas = testing::SupportedIsas();
  static const mluOpHandle_t single_thread_handle = HandleWithThreads(1),
                             three_thread_handle = HandleWithThreads(3);
  static Tally tally;
  const EntryPoint& entry = entry_points[bytes.Below(static_cast<int>(entry_points.size()))];
  testing::ForceIsa(isas[bytes.Below(static_cast<int>(isas.size()))]);
  const GeneratedCall call(entry, bytes.OneIn(16) ? three_thread_handle : single_thread_handle,
                           bytes);
  tally.Count(entry.name,
              entry.get != nullptr ? RunGetter(call, !bytes.OneIn(8)) : RunOperator(call));
}

}  // namespace
}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Run({data, size});
  return 0;
}
