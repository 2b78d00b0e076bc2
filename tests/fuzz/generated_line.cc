// SPDX-License-Identifier: Apache-2.0
// Turns bytes into a case line (generated_line.h).
#include "tests/fuzz/generated_line.h"

#include <vector>

#include "testing/operator_test.h"

namespace mluop::fuzz {
namespace {

constexpr const char* kSpecialValues[] = {
    "",     "0",      "-1",         "1e3",        "1e400",      "nan",        "inf",  "0x10",
    "1.5",  "1e-400", "2147483647", "2147483648", "4294967296", "1e18",       "9e18", "-0",
    "half", "absent", "bits",       "1=2",        "++1",        "-2147483648"};
constexpr const char* kInvalidWords[] = {
    "N=1",          "dtype=half", "seed=-1", "nonsense",      "=",          "=3",
    "data=special", "#",          "data=x",  "argmax=absent", "[networks]", "seed=1e20"};

std::string Number(Bytes& bytes, bool small) {
  if (bytes.OneIn(32)) return std::to_string(bytes.Integer());
  return std::to_string(1 + bytes.Below(small ? 4 : 9));
}

std::string ValueOf(const AttributeSpec& row, Bytes& bytes) {
  if (row.kind == AttributeSpec::kPositiveReal) return "0." + std::to_string(1 + bytes.Below(99));
  if (row.max < INT32_MAX) return std::to_string(row.min + bytes.Below(2));
  return Number(bytes, /*small=*/true);
}

// Every key of the operator, usually with a valid value.
std::vector<std::string> ValidWords(const testing::OperatorTest& test, Bytes& bytes) {
  const OpSpec& spec = testing::FindOperator(test.name)->spec;
  std::vector<std::string> words;
  for (int i = 0; i < spec.symbol_count; ++i) {
    words.push_back(std::string(spec.symbols[i]) + "=" + Number(bytes, /*small=*/false));
  }
  std::string values[kMaxAttributes];
  for (int i = 0; i < spec.attribute_count; ++i) values[i] = ValueOf(spec.attributes[i], bytes);
  for (int i = 0; i < spec.relation_count; ++i) {
    values[spec.AttributeIndex(spec.relations[i].first)] =
        values[spec.AttributeIndex(spec.relations[i].second)];
  }
  for (int i = 0; i < spec.attribute_count; ++i) {
    words.push_back(std::string(spec.attributes[i].name) + "=" + values[i]);
  }
  if (bytes.OneIn(2)) words.push_back("seed=" + std::to_string(bytes.Raw<uint16_t>()));
  if (spec.types == kHalfOrFloat && bytes.OneIn(2)) words.emplace_back("dtype=half");
  if (bytes.OneIn(4)) words.emplace_back("data=special");
  for (const testing::Option& option : test.options) {
    if (bytes.OneIn(2)) continue;
    const auto choice = static_cast<size_t>(bytes.Below(static_cast<int>(option.choices.size())));
    words.push_back(std::string(option.name) + "=" + std::string(option.choices[choice]));
  }
  return words;
}

// Drops a word, repeats it, changes its value, or adds one.
void Change(std::vector<std::string>& words, Bytes& bytes) {
  const size_t i = words.empty() ? 0 : static_cast<size_t>(bytes.Below(16)) % words.size();
  switch (bytes.Below(4)) {
    case 0:
      if (!words.empty()) words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    case 1:
      if (!words.empty()) words.push_back(std::string(words[i]));
      break;
    case 2:
      if (words.empty()) break;
      words[i] = words[i].substr(0, words[i].find('=') + 1) +
                 kSpecialValues[bytes.Below(std::size(kSpecialValues))];
      break;
    default: words.emplace_back(kInvalidWords[bytes.Below(std::size(kInvalidWords))]);
  }
}

}  // namespace

std::string MakeLine(Bytes bytes) {
  std::vector<const testing::OperatorTest*> tests;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) tests.push_back(&test);
  }
  const testing::OperatorTest& test =
      *tests[static_cast<size_t>(bytes.Below(static_cast<int>(tests.size())))];
  std::vector<std::string> words = ValidWords(test, bytes);
  const int changes = bytes.OneIn(3) ? bytes.Below(3) : 0;
  for (int i = 0; i < changes; ++i) Change(words, bytes);
  std::string line(test.name);
  for (const std::string& word : words) line += (bytes.OneIn(16) ? " \t " : " ") + word;
  return line;
}

}  // namespace mluop::fuzz
