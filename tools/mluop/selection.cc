// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "mluops/extensions.h"
#include "testing/isa.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::CaseLine;

char current_line[1024];
const char* current_command = "";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("--file must be a readable file, got " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string FamilyOf(const Case& c) {
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) {
      if (&test == c.test) return std::string(family->name);
    }
  }
  return "";
}

std::vector<CaseLine> BuiltInCases() {
  std::vector<CaseLine> all;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    const auto cases = testing::ParseCases(testing::CasesOf(family->name));
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

// Returns each set once, in alphabetical order.
std::string SetNamesOf(const std::vector<CaseLine>& lines) {
  std::set<std::string> sets;
  for (const CaseLine& line : lines) sets.insert(line.set);
  std::string names;
  for (const std::string& set : sets) names += (names.empty() ? "" : ", ") + set;
  return names;
}

void CheckSet(const std::string& set, const std::vector<CaseLine>& lines) {
  for (const CaseLine& line : lines) {
    if (set.empty() || line.set == set) return;
  }
  throw std::invalid_argument("--set must be one of " + SetNamesOf(lines) + ", got " + set);
}

void CheckOperator(const std::string& op) {
  std::string names;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    if (op.empty() || op == family->name) return;
    names += "\n  " + std::string(family->name) + ":";
    for (const testing::OperatorTest& test : family->operators) {
      if (op == test.name) return;
      names += " " + std::string(test.name);
    }
  }
  throw std::invalid_argument("--op must be an operator or a family, got " + op + "; there are" +
                              names);
}

// A simulated device is slow: of the built-in cases it runs the ones of its operators with at most 2^22
// elements.
bool IsLeftOut(const Device& device, const Case& c) {
  constexpr int64_t kMostElements = int64_t{1} << 22;
  if (!device.counts_only()) return false;
  if (device.Implementations(c.op->spec).empty()) return true;
  int64_t elements = 0;
  for (const auto& desc : testing::CaseCall(c).descs) {
    if (desc != nullptr) elements += static_cast<int64_t>(mluOpGetTensorElementNum(desc.get()));
  }
  return elements > kMostElements;
}

void OnFault(int signal) {
  // Calls only functions that are safe in a signal handler.
  const auto print = [](const char* text) {
    static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
  };
  print("\nFAIL access out of bounds, or write to an input\n  repeat: mluop ");
  print(current_command);
  print(" '");
  print(current_line);
  print("'\n");
  _exit(128 + signal);
}

}  // namespace

std::string SetNames() { return SetNamesOf(BuiltInCases()); }

std::vector<Case> SelectCases(const Selection& selection) {
  std::vector<CaseLine> lines;
  if (!selection.lines.empty()) {
    for (const std::string& line : selection.lines) lines.push_back({selection.set, line});
  } else {
    lines = selection.file.empty() ? BuiltInCases() : testing::ParseCases(ReadFile(selection.file));
  }
  CheckSet(selection.set, lines);
  CheckOperator(selection.op);
  const bool built_in = selection.lines.empty() && selection.file.empty();
  const Device* const device = selection.device == "cpu" ? CpuDevice() : UseDevice(selection);
  std::vector<Case> cases;
  for (const CaseLine& line : lines) {
    if (!selection.set.empty() && line.set != selection.set) continue;
    Case c = testing::ParseCase(line.line);
    if (!selection.op.empty() && selection.op != c.test->name && selection.op != FamilyOf(c))
      continue;
    if (built_in && IsLeftOut(*device, c)) continue;
    if (device->Implementations(c.op->spec).empty())
      throw std::invalid_argument(c.line + ": not implemented on device " + device->name());
    if (c.test->reference == nullptr)
      throw std::invalid_argument(c.line + ": operator has no reference");
    cases.push_back(std::move(c));
  }
  if (cases.empty()) {
    throw std::invalid_argument("the selection must contain a case, got none" +
                                (selection.op.empty() ? "" : " of --op " + selection.op) +
                                (selection.set.empty() ? "" : " in --set " + selection.set) +
                                (selection.file.empty() ? "" : " from --file " + selection.file));
  }
  return cases;
}

std::vector<Case> GroupByOperator(std::vector<Case> cases) {
  std::vector<const testing::OperatorTest*> order;
  for (const Case& c : cases) {
    if (std::find(order.begin(), order.end(), c.test) == order.end()) order.push_back(c.test);
  }
  const auto rank = [&](const Case& c) { return std::find(order.begin(), order.end(), c.test); };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const Case& a, const Case& b) { return rank(a) < rank(b); });
  return cases;
}

std::vector<std::string> SelectIsas(const Selection& selection, std::vector<std::string> fallback) {
  if (selection.isas.empty()) return fallback;
  std::vector<std::string> all = testing::SupportedIsas();
  if (selection.isas == std::vector<std::string>{"all"}) return all;
  std::string names;
  for (const std::string& name : all) names += " " + name;
  for (const std::string& isa : selection.isas) {
    if (std::find(all.begin(), all.end(), isa) != all.end()) continue;
    throw std::invalid_argument("--isa must be all or one of" + names + ", got " + isa);
  }
  return selection.isas;
}

Device* UseDevice(const Selection& selection) {
  // The simulated MLU is visible only if it is named. This comes before the list is read.
  if (selection.device == "mlu:0") setenv("MLUOP_VISIBLE_DEVICES", "cpu,mlu:0", 0);
  if (selection.device == "cpu" && CurrentDevice("mluop") == CpuDevice()) return CpuDevice();
  const DeviceList& list = VisibleDeviceList();
  std::string names;
  for (int i = 0; i < list.count; ++i) {
    Device* const device = list.devices[i];
    names += std::string(i == 0 ? "" : ", ") + device->name();
    if (selection.device == device->name() && cnrtSetDevice(i) == cnrtSuccess) return device;
  }
  const std::string reason = list.count == 0 ? list.fault : list.library_fault;
  throw std::invalid_argument("--device must be one of " + names +
                              (reason.empty() ? "" : " (" + reason + ")") + ", got " +
                              selection.device);
}

Handle::Handle(int threads) {
  if (mluOpCreate(&handle_) != MLUOP_STATUS_SUCCESS ||
      (threads != 0 && mluOpSetNumThreads(handle_, threads) != MLUOP_STATUS_SUCCESS)) {
    throw std::runtime_error(mluOpGetLastErrorMessage());
  }
}

int Handle::threads() const {
  int threads = 0;
  mluOpGetNumThreads(handle_, &threads);
  return threads;
}

void ShowProgress(size_t index, size_t count, const std::string& line) {
  std::snprintf(current_line, sizeof(current_line), "%s", line.c_str());
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K[%zu/%zu] %.100s", index + 1, count, line.c_str());
}

void EndProgress() {
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K");
}

void InstallFaultHandler(const char* command) {
  current_command = command;
  std::signal(SIGSEGV, OnFault);
  std::signal(SIGBUS, OnFault);
}

void Score::Add(const Case& c, const std::string& fault) {
  ++(fault.empty() ? passed : failed);
  if (fault.empty()) return;
  EndProgress();
  const std::string device = selection_.device == "cpu" ? "" : " --device " + selection_.device;
  std::printf("FAIL %s: %s\n  repeat: mluop %s%s '%s'\n", std::string(c.test->name).c_str(),
              fault.c_str(), command_, device.c_str(), c.line.c_str());
  std::fflush(stdout);
}

int Score::Print() const {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace mluop::tool
