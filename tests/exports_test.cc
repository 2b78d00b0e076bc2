// SPDX-License-Identifier: Apache-2.0
// The shared library's dynamic symbols are exactly the functions that the public headers declare.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string Output(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char part[4096];
  while (const size_t got = std::fread(part, 1, sizeof(part), pipe)) text.append(part, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

std::set<std::string> Exported() {
  std::set<std::string> names;
  std::istringstream lines(Output("nm -D --defined-only --format=posix '" MLUOPS_LIBRARY "'"));
  for (std::string line; std::getline(lines, line);) names.insert(line.substr(0, line.find(' ')));
  return names;
}

std::set<std::string> Declared() {
  std::set<std::string> names;
  const std::regex function(R"((?:MLUOP_WIN_API|MLUOPS_RUNTIME_API)[^;(]*?(\w+)\()");
  for (const char* header : {"mlu_op.h", "mluops/extensions.h", "mluops/runtime.h"}) {
    std::ifstream file(std::string(MLUOPS_INCLUDE "/") + header);
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator match(all.begin(), all.end(), function), end; match != end; ++match) {
      names.insert((*match)[1]);
    }
  }
  names.erase("__attribute__");  // of the macros' own definitions
  return names;
}

TEST(ExportedSymbols, AreTheDeclaredFunctionsAndNothingElse) {
  const std::set<std::string> declared = Declared();
  EXPECT_GT(declared.size(), 60u);
  EXPECT_EQ(Exported(), declared);
}

}  // namespace
