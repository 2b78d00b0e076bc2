// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "mluops/extensions.h"
#include "testing/isa.h"
#include "testing/npz_inputs.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::CaseLine;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw std::invalid_argument("--file must be a readable file, got " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A case line, and the file of its inputs if it has data=file.
struct SelectedLine {
  CaseLine line;
  std::string file;  // that has the line; empty: none
  std::string npz;
};

// Returns the lines of a file. The inputs of x.txt are in x.npz.
std::vector<SelectedLine> LinesOf(const std::string& path) {
  std::vector<SelectedLine> lines;
  const std::string npz = std::filesystem::path(path).replace_extension(".npz").string();
  for (CaseLine& line : testing::ParseCases(ReadFile(path))) {
    lines.push_back({std::move(line), path, npz});
  }
  if (lines.empty()) throw std::invalid_argument(path + ": must hold a case, got none");
  return lines;
}

// Parses a line and checks the file of its inputs. The message of a failure starts with the file.
Case Parse(const SelectedLine& selected) {
  try {
    Case c = testing::ParseCase(selected.line.line, selected.npz);
    if (c.npz.empty()) return c;
    const testing::CaseCall call(c);
    testing::CheckInputFile(c.npz, call.arguments);
    return c;
  } catch (const std::invalid_argument& error) {
    if (selected.file.empty()) throw;
    throw std::invalid_argument(selected.file + ": " + error.what());
  }
}

std::string FamilyOf(const Case& c) {
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) {
      if (&test == c.test) return std::string(family->name);
    }
  }
  return "";
}

std::vector<SelectedLine> BuiltInCases() {
  std::vector<SelectedLine> all;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (CaseLine& line : testing::ParseCases(testing::CasesOf(family->name))) {
      all.push_back({std::move(line), "", ""});
    }
  }
  return all;
}

// Returns the lines of the command line and of the files, or the built-in ones if there are none.
std::vector<SelectedLine> LinesOf(const Selection& selection) {
  std::vector<SelectedLine> lines;
  for (const std::string& line : selection.lines) {
    const bool implied = !selection.load.empty() && line.find("data=") == std::string::npos;
    lines.push_back({{selection.set, line + (implied ? " data=file" : "")}, "", selection.load});
  }
  if (!selection.load.empty() && (lines.size() != 1 || !selection.files.empty())) {
    throw std::invalid_argument("--load must go with one case line, got " +
                                std::to_string(lines.size()) + " and " +
                                std::to_string(selection.files.size()) + " files");
  }
  for (const std::string& file : selection.files) {
    for (SelectedLine& line : LinesOf(file)) lines.push_back(std::move(line));
  }
  return lines.empty() ? BuiltInCases() : lines;
}

// Returns each set once, in alphabetical order.
std::string SetNamesOf(const std::vector<SelectedLine>& lines) {
  std::set<std::string> sets;
  for (const SelectedLine& line : lines) sets.insert(line.line.set);
  std::string names;
  for (const std::string& set : sets) names += (names.empty() ? "" : ", ") + set;
  return names;
}

void CheckSet(const std::string& set, const std::vector<SelectedLine>& lines) {
  for (const SelectedLine& line : lines) {
    if (set.empty() || line.line.set == set) return;
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
  throw std::invalid_argument("--op must be an operator or a family, got " + op +
                              "; available:" + names);
}

// A simulated device is slow: it runs only the built-in cases of its operators that have at most
// 2^22 elements.
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

}  // namespace

std::string SetNames() { return SetNamesOf(BuiltInCases()); }

std::vector<Case> SelectCases(const Selection& selection) {
  if (!selection.cases.empty()) return selection.cases;
  const std::vector<SelectedLine> lines = LinesOf(selection);
  CheckSet(selection.set, lines);
  CheckOperator(selection.op);
  const bool built_in = selection.lines.empty() && selection.files.empty();
  const Device* const device = selection.device == "cpu" ? CpuDevice() : UseDevice(selection);
  std::vector<Case> cases;
  for (const SelectedLine& line : lines) {
    if (!selection.set.empty() && line.line.set != selection.set) continue;
    Case c = Parse(line);
    if (!selection.load.empty() && c.npz.empty()) {
      throw std::invalid_argument("--load must go with data=file, got data=" + c.Option("data"));
    }
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
                                (selection.files.empty() ? "" : " from --file"));
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
  // The simulated MLU is visible only if it is named. Sets the variable before the list is read.
  if (selection.device == "mlu:0") setenv("MLUOP_VISIBLE_DEVICES", "cpu,mlu:0", 0);
  if (selection.device == "cpu" && CurrentDevice("mluop") == CpuDevice()) return CpuDevice();
  const DeviceList& list = VisibleDeviceList();
  std::string names;
  for (int i = 0; i < list.count; ++i) {
    Device* const device = list.devices[i];
    names += std::string(i == 0 ? "" : ", ") + device->name();
    if (selection.device == device->name() && cnrtSetDevice(i) == cnrtSuccess) return device;
  }
  if (list.count == 0) {
    throw std::invalid_argument("--device " + selection.device + ": " + list.error);
  }
  const std::string reason = list.library_error;
  throw std::invalid_argument("--device must be one of " + names +
                              (reason.empty() ? "" : " (" + reason + ")") + ", got " +
                              selection.device);
}

Device* UseTimedDevice(const Selection& selection) {
  Device* const device = UseDevice(selection);
  if (!device->counts_only()) return device;
  throw std::invalid_argument("--device must be one that measures time, got " + selection.device +
                              ": use check, bitwise, perf or report");
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

}  // namespace mluop::tool
