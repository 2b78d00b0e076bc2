// SPDX-License-Identifier: Apache-2.0
// mluop, the driver: checks and measures operators on case lines. See `mluop --help`.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "machine.h"
#include "mlu_op.h"
#include "report.h"
#include "terminal.h"

namespace {

using mluop::tool::PerfOptions;
using mluop::tool::Selection;

constexpr int kUsageError = 2;  // exit status

constexpr char kCaseHelp[] =
    "A case is a line such as\n"
    "  'transpose N=1 A=128 B=256 dtype=half'\n"
    "(`mluop describe OPERATOR` lists the keys). Without a case, all built-in cases run.";

constexpr char kExitHelp[] =
    "Exit status:\n"
    "  0    success\n"
    "  1    a check failed, an implementation is never chosen (check --coverage), or stdout "
    "cannot be written\n"
    "  2    wrong arguments, an unusable file or device, or too little memory\n"
    "  135, 139  a memory fault (SIGBUS, SIGSEGV) in check, bitwise, perf, run or report\n"
    "Colours and the progress line appear on a terminal only; NO_COLOR=1 disables them.";

constexpr char kDevices[] = "cpu, cuda:0 and so on, or mlu:0";
constexpr char kTimedDevices[] = "cpu, or cuda:0 and so on";

void AddSelection(CLI::App* command, Selection* selection, const char* devices) {
  command->add_option("case", selection->lines, "case lines, each in quotes");
  command->add_option("--set", selection->set,
                      "run only this set of the built-in cases: " + mluop::tool::SetNames());
  command->add_option("--op", selection->op, "run only this operator or family");
  command->add_option("--file", selection->files,
                      "read the cases from these files; MLUOP_GEN_CASE records such files");
  command->add_option("--load", selection->load,
                      ".npz file with the inputs of the case line, an array per tensor");
  command->add_option("--device", selection->device, devices)->capture_default_str();
  command->add_option("--isa", selection->isas, "instruction sets to run, or `all`")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->footer(std::string(kCaseHelp) + "\n\n" + kExitHelp);
}

// Returns "" or what is wrong. CLI::PositiveNumber takes NaN, and its message has 300 digits.
std::string CheckSeconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '\0' && seconds > 0 && seconds <= 3600) return "";
  return "must be a number of seconds in (0, 3600], got " + text;
}

void AddMeasurement(CLI::App* command, PerfOptions* perf) {
  command->add_option("--threads", perf->threads, "numbers of threads, such as 1,2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  command->add_option("--report", perf->report, "write an HTML page to this file");
  command
      ->add_option("--peers", perf->peers, "JSON files of bench/peers.py to include in the report")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--implementation", perf->implementation,
                      "name of an implementation, or all: measure each that applies "
                      "(default: the library's choice)");
  command->add_flag("--cold", perf->cold, "flush the tensors out of the caches before every run");
  command->add_option("--seconds", perf->seconds, "seconds to spend on a case, at most 3600")
      ->check(CheckSeconds)
      ->capture_default_str();
}

void AddReport(CLI::App* command, PerfOptions* perf, mluop::tool::ReportOptions* report) {
  command->add_option("--threads", perf->threads, "numbers of threads to measure, such as 1,2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--seconds", perf->seconds, "seconds to spend on measuring a case, at most 3600")
      ->check(CheckSeconds)
      ->capture_default_str();
  command->add_option("--out", report->out, "folder for report.html and report.json")
      ->capture_default_str();
  command->add_flag("--quick", report->quick,
                    "fewer instruction sets and repetitions: less than two minutes on two cores");
  command
      ->add_option("--peers", perf->peers, "JSON files of bench/peers.py to include in the report")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--link", report->links,
                   "NAME=FILE: link a result of another command, such as coverage")
      ->allow_extra_args(false);
}

// Adds --json to every command. docs/report.md describes the objects.
void AddJson(CLI::App* app, std::string* json) {
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    command->add_option("--json", *json,
                        "write the results to this file as one object; -: to stdout, and the text "
                        "to stderr");
  }
}

std::string CommandNames(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

// Quotes an argument for a shell if necessary.
std::string Quoted(const std::string& argument) {
  return argument.find(' ') == std::string::npos ? argument : "'" + argument + "'";
}

std::string Version() {
  int major = 0, minor = 0, patch = 0;
  mluOpGetLibVersion(&major, &minor, &patch);
  return "mluops " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch) + ", commit " + mluop::tool::kCommit;
}

// Returns 1 in place of success if text on stdout was lost, for example on a full disk.
int StatusAfterFlush(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "mluop: stdout must be writable, but the output is incomplete\n");
  return status == 0 ? 1 : status;
}

int Run(int argc, char** argv) {
  CLI::App app("Checks the results of the mluops operators and measures their speed.");
  app.require_subcommand(1);
  std::function<int()> action;
  app.footer(kExitHelp);
  app.set_version_flag("--version", Version(), "print the version and the commit");
  std::string op, folder, json;
  mluop::tool::Row document;
  std::vector<std::string> files;
  bool plan = false, coverage = false;
  Selection selection;
  PerfOptions perf;
  mluop::tool::ReportOptions report;
  for (int i = 0; i < argc; ++i) perf.command += (i == 0 ? "" : " ") + Quoted(argv[i]);

  app.add_subcommand("list", "list the families and their operators")->callback([&] {
    action = [&] { return mluop::tool::List(&document); };
  });
  CLI::App* describe =
      app.add_subcommand("describe", "print an operator's attributes, tensors and options");
  describe->add_option("operator", op, "a name from `mluop list`; with --plan, a case")->required();
  describe->add_flag(
      "--plan", plan,
      "print how the library computes a case: implementation, slices, tiles, scratch");
  describe->add_option("--device", selection.device, kDevices)->capture_default_str();
  describe->add_option("--threads", selection.threads, "number of threads")
      ->check(CLI::Range(1, 1024));
  describe->callback([&] {
    action = [&] {
      if (!plan) return mluop::tool::Describe(op, &document);
      selection.lines = {op};
      return mluop::tool::DescribePlans(selection, &document);
    };
  });

  CLI::App* check = app.add_subcommand(
      "check",
      "compare every implementation with the reference, on every case and instruction set");
  AddSelection(check, &selection, kDevices);
  check->add_option("--threads", selection.threads, "number of threads")
      ->check(CLI::Range(1, 1024));
  check->add_flag("-v,--verbose", selection.verbose, "print every case with its differences");
  check->add_flag("--coverage", coverage,
                  "only check that the cases choose every implementation by default");
  check->callback([&] {
    action = [&] {
      return coverage ? mluop::tool::Coverage(selection, &document)
                      : mluop::tool::Check(selection, &document);
    };
  });

  CLI::App* bitwise = app.add_subcommand(
      "bitwise", "compare bits across threads, instruction sets, implementations, workspaces");
  AddSelection(bitwise, &selection, kDevices);
  bitwise->callback([&] { action = [&] { return mluop::tool::Bitwise(selection, &document); }; });

  CLI::App* measure =
      app.add_subcommand("perf", "measure time, ratio to the floor, speedup over plain loops");
  AddSelection(measure, &selection, kDevices);
  AddMeasurement(measure, &perf);
  measure->callback(
      [&] { action = [&] { return mluop::tool::Perf(selection, perf, &document); }; });

  CLI::App* run = app.add_subcommand(
      "run", "check the cases against the reference, measure them, print a summary");
  AddSelection(run, &selection, kTimedDevices);
  AddMeasurement(run, &perf);
  run->add_option("--checked", perf.checked,
                  "skip the checks, because all of them passed on this date with the same files");
  run->callback(
      [&] { action = [&] { return mluop::tool::CheckAndMeasure(selection, perf, &document); }; });

  CLI::App* full = app.add_subcommand(
      "report", "test and measure every operator; write an HTML page and a JSON file");
  AddSelection(full, &selection, kDevices);
  AddReport(full, &perf, &report);
  full->callback([&] {
    action = [&] {
      report.perf = perf;
      return mluop::tool::Report(selection, report, &document);
    };
  });

  CLI::App* convert = app.add_subcommand(
      "convert", "convert test cases of MLU-OPS (.prototxt) to files of cases for --file");
  convert->add_option("files", files, "files x.prototxt; x.txt and x.npz are written")->required();
  convert->add_option("--out", folder, "write into this folder, not beside the files");
  convert->callback(
      [&] { action = [&] { return mluop::tool::Convert(files, folder, &document); }; });

  AddJson(&app, &json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    if (!app.get_subcommands().empty()) {
      app.exit(error);
    } else {
      std::fprintf(stderr, "mluop: the command must be one of %s, got %s\n",
                   CommandNames(app).c_str(), argc > 1 ? argv[1] : "none");
    }
    return kUsageError;
  }
  if (!mluop::tool::IsWritable(json, "--json") ||
      !mluop::tool::IsWritable(perf.report, "--report")) {
    return kUsageError;
  }
  if (json == "-") mluop::tool::ReserveStdout();
  const int status = action();
  if (document.is_null()) return status;
  const int written = mluop::tool::WriteFile(json, "--json", document.dump(2) + "\n");
  return written != 0 ? written : status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return StatusAfterFlush(Run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "mluop: out of memory\n");
    return kUsageError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mluop: %s\n", error.what());
    return kUsageError;
  }
}
