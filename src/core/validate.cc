// SPDX-License-Identifier: Apache-2.0
#include "core/validate.h"

#include <cstdarg>
#include <cstdio>

#include "core/checks.h"
#include "core/error.h"

namespace mluop {
namespace {

constexpr Validation kRun = {Verdict::kRun, MLUOP_STATUS_SUCCESS};
constexpr Validation kNothingToDo = {Verdict::kNothingToDo, MLUOP_STATUS_SUCCESS};

// Runs the checks that need only descriptors and attributes.
Validation ValidateShapes(Arguments& call) {
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  const auto passes = [&](mluOpStatus_t result) {
    return (status = result) == MLUOP_STATUS_SUCCESS;
  };
  bool skip = false;
  const bool passed = passes(CheckRanks(call)) && passes(CheckTypes(call)) &&
                      passes(CheckLayouts(call)) && passes(CheckAttributes(call)) &&
                      passes(CheckShapes(call)) && passes(CheckStrides(call)) &&
                      passes(CheckSizes(call)) && passes(CheckEmptyTensors(call, &skip));
  if (!passed) return {Verdict::kFailed, status};
  return skip ? kNothingToDo : kRun;
}

}  // namespace

mluOpStatus_t FailArgument(mluOpStatus_t status, const OpSpec& spec, std::string_view argument,
                           const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return Fail(status, "%.*s: %.*s%s", MLUOP_SV(spec.name), MLUOP_SV(argument), text);
}

Validation Validate(Arguments& call) {
  DropHalfAbsentTensors(call);
  if (mluOpStatus_t status = CheckDescriptors(call)) return {Verdict::kFailed, status};
  const Validation shapes = ValidateShapes(call);
  if (shapes.verdict != Verdict::kRun) return shapes;
  if (mluOpStatus_t status = CheckWorkspace(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckPointers(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckOverlap(call)) return {Verdict::kFailed, status};
  if (mluOpStatus_t status = CheckAlignment(call)) return {Verdict::kFailed, status};
  return kRun;
}

Validation ValidateGetter(Arguments& call, const size_t* out) {
  if (mluOpStatus_t status = CheckDescriptors(call)) return {Verdict::kFailed, status};
  if (out == nullptr) {
    return {Verdict::kFailed, FailArgument(MLUOP_STATUS_BAD_PARAM, *call.spec, "workspace_size",
                                           " must be a pointer, got NULL")};
  }
  return ValidateShapes(call);
}

}  // namespace mluop
