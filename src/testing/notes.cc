// SPDX-License-Identifier: Apache-2.0
#include "testing/notes.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "testing/operator_test.h"

namespace mluop::testing {
namespace {

constexpr std::string_view kMark = "#: ";

std::vector<std::string> WordsOf(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns whether "OPERATOR TOPIC KEY=VALUE ..." describes a case with these words.
bool Fits(const std::vector<std::string>& head, const std::vector<std::string>& words,
          std::string_view topic) {
  if (head.size() < 2 || words.empty() || head[0] != words[0] || head[1] != topic) return false;
  return std::all_of(head.begin() + 2, head.end(), [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  });
}

}  // namespace

std::string NoteIn(std::string_view text, std::string_view line, std::string_view topic) {
  const std::vector<std::string> words = WordsOf(line);
  std::istringstream lines{std::string(text)};
  for (std::string row; std::getline(lines, row);) {
    if (!row.starts_with(kMark)) continue;
    const size_t colon = row.find(": ", kMark.size());
    if (colon == std::string::npos) continue;
    const auto head = WordsOf(row.substr(kMark.size(), colon - kMark.size()));
    if (Fits(head, words, topic.substr(0, topic.find(':')))) return row.substr(colon + 2);
  }
  return "";
}

std::string NoteOf(std::string_view line, std::string_view topic) {
  const std::string_view op = line.substr(0, line.find(' '));
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) {
      if (test.name == op) return NoteIn(CasesOf(family->name), line, topic);
    }
  }
  return "";
}

}  // namespace mluop::testing
