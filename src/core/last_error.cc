// SPDX-License-Identifier: Apache-2.0
// The thread's last error message, and the names of the statuses.
#include <charconv>
#include <cstdio>

#include "core/environment.h"
#include "core/error.h"
#include "mluops/extensions.h"

namespace mluop {
namespace {

thread_local char last_message[512] = "";

// The parts of last_message, if it is about an argument of an operator.
struct ErrorParts {
  char op[64];
  char argument[64];
  char property[16];
  int index;
  char rule[160];
  char value[96];
};
constexpr ErrorParts kNoParts = {"", "", "", -1, "", ""};
thread_local ErrorParts last_parts = kNoParts;

template <size_t kSize>
void Copy(char (&to)[kSize], std::string_view from) {
  snprintf(to, kSize, "%.*s", MLUOP_SV(from));
}

// Splits ".shape[3]" or "_desc", the text between an argument and its rule.
void SplitProperty(std::string_view text, ErrorParts& parts) {
  if (text.empty() || text[0] != '.') return;
  const size_t bracket = text.find('[');
  Copy(parts.property, text.substr(1, bracket == std::string_view::npos ? bracket : bracket - 1));
  if (bracket != std::string_view::npos) {
    std::from_chars(text.data() + bracket + 1, text.data() + text.size(), parts.index);
  }
}

void KeepMessage(mluOpStatus_t status, const char* message) {
  snprintf(last_message, sizeof(last_message), "%s", message);
  last_parts = kNoParts;
  if (Verbosity() >= 2) fprintf(stderr, "# %s: %s\n", mluOpGetErrorString(status), last_message);
}

}  // namespace

constinit StoreMessage store_message = KeepMessage;

void StoreErrorInfo(std::string_view op, std::string_view argument, const char* text) {
  constexpr std::string_view kMust = " must ", kGot = ", got ";
  const std::string_view all = text;
  const size_t must = all.find(kMust), got = all.rfind(kGot);
  if (must == std::string_view::npos || got == std::string_view::npos || got < must) return;
  Copy(last_parts.op, op);
  Copy(last_parts.argument, argument);
  SplitProperty(all.substr(0, must), last_parts);
  Copy(last_parts.rule, all.substr(must + kMust.size(), got - must - kMust.size()));
  Copy(last_parts.value, all.substr(got + kGot.size()));
}

const char* LastErrorMessage() { return last_message; }

}  // namespace mluop

const char* mluOpGetLastErrorMessage() { return mluop::LastErrorMessage(); }

mluOpStatus_t mluOpGetLastErrorInfo(mluOpErrorInfo_t* info) {
  using mluop::last_parts;
  if (info == nullptr) return mluop::FailNull("mluOpGetLastErrorInfo", "info");
  *info = {last_parts.op,    last_parts.argument, last_parts.property,
           last_parts.index, last_parts.rule,     last_parts.value};
  return MLUOP_STATUS_SUCCESS;
}

const char* mluOpGetErrorString(mluOpStatus_t status) {
  switch (status) {
    case MLUOP_STATUS_SUCCESS: return "MLUOP_STATUS_SUCCESS";
    case MLUOP_STATUS_NOT_INITIALIZED: return "MLUOP_STATUS_NOT_INITIALIZED";
    case MLUOP_STATUS_ALLOC_FAILED: return "MLUOP_STATUS_ALLOC_FAILED";
    case MLUOP_STATUS_BAD_PARAM: return "MLUOP_STATUS_BAD_PARAM";
    case MLUOP_STATUS_INTERNAL_ERROR: return "MLUOP_STATUS_INTERNAL_ERROR";
    case MLUOP_STATUS_ARCH_MISMATCH: return "MLUOP_STATUS_ARCH_MISMATCH";
    case MLUOP_STATUS_EXECUTION_FAILED: return "MLUOP_STATUS_EXECUTION_FAILED";
    case MLUOP_STATUS_NOT_SUPPORTED: return "MLUOP_STATUS_NOT_SUPPORTED";
    case MLUOP_STATUS_NUMERICAL_OVERFLOW: return "MLUOP_STATUS_NUMERICAL_OVERFLOW";
  }
  return "MLUOP_STATUS_UNKNOWN";
}
