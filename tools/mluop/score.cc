// SPDX-License-Identifier: Apache-2.0
#include "score.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/device.h"
#include "mluops/extensions.h"
#include "terminal.h"

namespace mluop::tool {
namespace {

using testing::Case;

char current_command[64];
char current_arguments[2048];

// Returns the command and the device, for a shell.
std::string CommandText(const char* command, const Selection& selection) {
  return std::string("mluop ") + command +
         (selection.device == "cpu" ? "" : " --device " + selection.device);
}

// Returns the arguments that select the case again, for a shell.
std::string ArgumentsOf(const Case& c) {
  return (c.npz.empty() ? "" : "--load '" + c.npz + "' ") + "'" + c.line + "'";
}

void OnFault(int signal) {
  // Calls only functions that are safe in a signal handler.
  const auto print = [](const char* text) {
    static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
  };
  print("\nFAIL access out of bounds, or write to an input\n  repeat: ");
  print(current_command);
  print(" ");
  print(current_arguments);
  print("\n");
  _exit(128 + signal);
}

}  // namespace

void ShowProgress(size_t index, size_t count, const Case& c) {
  std::snprintf(current_arguments, sizeof(current_arguments), "%s", ArgumentsOf(c).c_str());
  SetProgressLine("[" + std::to_string(index + 1) + "/" + std::to_string(count) + "] " + c.line);
}

void EndProgress() { SetProgressLine(""); }

std::string RepeatCommand(const char* command, const Selection& selection, const Case& c) {
  return CommandText(command, selection) + " " + ArgumentsOf(c);
}

void InstallFaultHandler(const char* command, const Selection& selection) {
  std::snprintf(current_command, sizeof(current_command), "%s",
                CommandText(command, selection).c_str());
  std::signal(SIGSEGV, OnFault);
  std::signal(SIGBUS, OnFault);
}

void Score::Add(const Case& c, const std::string& error) {
  if (error.empty()) {
    ++passed;
    cases_.push_back({{"case", c.line}, {"result", "passed"}});
    return;
  }
  ++failed;
  EndProgress();
  const std::string repeat = RepeatCommand(command_, selection_, c);
  std::printf("%s %s: %s\n  repeat: %s\n", Coloured(Colour::kRed, "FAIL").c_str(),
              std::string(c.test->name).c_str(), error.c_str(), repeat.c_str());
  std::fflush(stdout);
  cases_.push_back({{"case", c.line}, {"result", "failed"}, {"error", error}, {"repeat", repeat}});
}

void Score::Skip(const Case& c, const std::string& why, const std::string& details) {
  ++skipped_[why];
  cases_.push_back({{"case", c.line}, {"result", why}, {"error", details}});
  if (!selection_.verbose) return;
  std::printf("%s: %s: %s\n", why.c_str(), c.line.c_str(), details.c_str());
}

void Score::Refuse(const Case& c, const Device& device) {
  const std::string message = mluOpGetLastErrorMessage();
  const bool built_in = selection_.lines.empty() && selection_.files.empty();
  if (built_in && !device.counts_only()) return Add(c, "refused: " + message);
  Skip(c, "refused", message);
}

int Score::Print() const {
  std::string text = std::to_string(passed) + " passed, " + std::to_string(failed) + " failed";
  for (const auto& [why, count] : skipped_) text += ", " + std::to_string(count) + " " + why;
  std::printf("%s\n", Coloured(failed == 0 ? Colour::kGreen : Colour::kRed, text).c_str());
  return failed == 0 ? 0 : 1;
}

Row Score::Document() const {
  return {{"device", selection_.device},
          {"passed", passed},
          {"failed", failed},
          {"skipped", skipped_},
          {"cases", cases_}};
}

}  // namespace mluop::tool
