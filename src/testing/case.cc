// SPDX-License-Identifier: Apache-2.0
#include "testing/case.h"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "core/arguments.h"
#include "core/dtype.h"
#include "mluops/extensions.h"
#include "testing/npz_inputs.h"

namespace mluop::testing {
namespace {

using std::string;
using std::string_view;

constexpr string_view kDataChoices[] = {"uniform", "special", "bits", "file"};
constexpr string_view kPresenceChoices[] = {"given", "absent"};

string_view Trim(string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

string_view WithoutComment(string_view text) { return Trim(text.substr(0, text.find('#'))); }

std::vector<string_view> Words(string_view text) {
  std::vector<string_view> words;
  for (text = Trim(text); !text.empty(); text = Trim(text)) {
    const size_t end = text.find_first_of(" \t");
    words.push_back(text.substr(0, end));
    if (end == string_view::npos) break;
    text.remove_prefix(end);
  }
  return words;
}

string Join(std::span<const string_view> words) {
  string joined;
  for (string_view word : words) joined += (joined.empty() ? "" : "|") + string(word);
  return joined;
}

[[noreturn]] void Reject(const Case& test_case, const string& message) {
  throw std::invalid_argument(string(test_case.op->spec.name) + ": " + message);
}

double ParseNumber(const Case& test_case, const string& key, const string& text, bool integer) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !integer || (value == std::floor(value) && std::abs(value) <= 0x1p53);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || !whole) {
    Reject(test_case, key + " must be " + (integer ? "an integer" : "a number") + ", got " + text);
  }
  return value;
}

void CheckChoice(const Case& test_case, string_view key, std::span<const string_view> choices,
                 const string& value) {
  for (string_view choice : choices) {
    if (choice == value) return;
  }
  Reject(test_case, string(key) + " must be " + Join(choices) + ", got " + value);
}

std::vector<const TensorSpec*> OptionalTensors(const OpSpec& spec) {
  std::vector<const TensorSpec*> rows;
  for (int i = 0; i < spec.tensor_count; ++i) {
    if (spec.tensors[i].optional_attribute >= 0) rows.push_back(&spec.tensors[i]);
  }
  return rows;
}

// Returns the values of an option; the first one is the default.
std::span<const string_view> Choices(const Case& test_case, string_view key) {
  for (const Option& option : test_case.test->options) {
    if (option.name == key) return option.choices;
  }
  return test_case.op->spec.TensorIndex(key) >= 0 ? std::span<const string_view>(kPresenceChoices)
                                                  : kDataChoices;
}

bool IsAbsent(const Case& test_case, const TensorSpec& row) {
  return row.optional_attribute >= 0 && test_case.Option(row.name) == "absent";
}

// Rejects absent tensors that the table does not allow: a case is a valid call.
void CheckAbsences(const Case& c) {
  for (const TensorSpec* row : OptionalTensors(c.op->spec)) {
    const string_view attribute = c.op->spec.attributes[row->optional_attribute].name;
    if (!IsAbsent(c, *row) ||
        c.values.find(attribute)->second == static_cast<double>(row->optional.value)) {
      continue;
    }
    Reject(c, string(row->name) + " must be given unless " + string(attribute) + " is " +
                  std::to_string(row->optional.value) + ", got absent");
  }
}

const char* TypeChoices(const OpSpec& spec) {
  return spec.types == kFloat ? "float|double" : "float|half|double";
}

// Returns the keys of this operator with their values, for error messages.
string Expected(const Case& test_case) {
  const OpSpec& spec = test_case.op->spec;
  string text;
  for (int i = 0; i < spec.symbol_count; ++i) text += " " + string(spec.symbols[i]) + "=";
  for (int i = 0; i < spec.attribute_count; ++i)
    text += " " + string(spec.attributes[i].name) + "=";
  text += string(" [dtype=") + TypeChoices(spec) + "]";
  text += " [seed=] [data=" + Join(kDataChoices) + "]";
  for (const TensorSpec* row : OptionalTensors(spec)) {
    text += " [" + string(row->name) + "=" + Join(kPresenceChoices) + "]";
  }
  for (const Option& option : test_case.test->options) {
    text += " [" + string(option.name) + "=" + Join(option.choices) + "]";
  }
  return text;
}

void SetKey(Case& c, const string& key, const string& value) {
  const OpSpec& spec = c.op->spec;
  const int attribute = spec.AttributeIndex(key);
  if (attribute >= 0 || spec.SymbolIndex(key) >= 0) {
    const bool real =
        attribute >= 0 && spec.attributes[attribute].kind == AttributeSpec::kPositiveReal;
    const double number = ParseNumber(c, key, value, !real);
    if (attribute < 0 && number < 0) Reject(c, key + " must be at least 0, got " + value);
    if (attribute >= 0 && !real && (number < INT32_MIN || number > INT32_MAX)) {
      Reject(c, key + " must fit in int, got " + value);
    }
    c.values[key] = number;
  } else if (key == "seed") {
    const double seed = ParseNumber(c, key, value, true);
    if (seed < 0) Reject(c, "seed must be at least 0, got " + value);
    c.seed = static_cast<uint64_t>(seed);
  } else if (key == "dtype") {
    const bool half = value == "half" && spec.types == kHalfOrFloat;
    if (!half && value != "float" && value != "double") {
      Reject(c, string("dtype must be ") + TypeChoices(spec) + ", got " + value);
    }
    c.dtype = half ? MLUOP_DTYPE_HALF : value == "double" ? MLUOP_DTYPE_DOUBLE : MLUOP_DTYPE_FLOAT;
  } else if (c.options.count(key) != 0) {
    CheckChoice(c, key, Choices(c, key), value);
    c.options[key] = value;
  } else {
    Reject(c, "unknown key " + key + ", expected" + Expected(c));
  }
}

void SetFile(Case& c, string_view npz) {
  if (c.Option("data") != "file") return;
  if (npz.empty()) {
    Reject(c, "data must be uniform, special or bits without an .npz file, got file");
  }
  c.npz = npz;
}

}  // namespace

Case ParseCase(string_view line, string_view npz) {
  Case c;
  c.line = string(WithoutComment(line));
  const std::vector<string_view> words = Words(c.line);
  if (words.empty()) throw std::invalid_argument("a case must start with an operator, got nothing");
  c.op = FindOperator(words[0]);
  c.test = FindOperatorTest(words[0]);
  if (c.op == nullptr || c.test == nullptr) {
    string names;
    for (const FamilyTest* family : FamilyTests()) {
      for (const OperatorTest& test : family->operators) names += "\n  " + string(test.name);
    }
    throw std::invalid_argument("a case must start with an operator, got " + string(words[0]) +
                                "; the operators are" + names);
  }
  c.options["data"] = kDataChoices[0];
  for (const TensorSpec* row : OptionalTensors(c.op->spec)) {
    c.options[string(row->name)] = kPresenceChoices[0];
  }
  for (const Option& option : c.test->options) c.options[string(option.name)] = option.choices[0];
  std::set<string> seen;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equal = words[i].find('=');
    if (equal == string_view::npos) {
      Reject(c, "key=value expected, got " + string(words[i]) + "; the keys are" + Expected(c));
    }
    const string key(words[i].substr(0, equal));
    SetKey(c, key, string(words[i].substr(equal + 1)));
    if (!seen.insert(key).second) Reject(c, key + " must be given once, got two values");
  }
  const OpSpec& spec = c.op->spec;
  const auto require = [&](string_view key) {
    if (c.values.find(key) == c.values.end()) {
      Reject(c, string(key) + " must have a value, got none; expected" + Expected(c));
    }
  };
  for (int i = 0; i < spec.symbol_count; ++i) require(spec.symbols[i]);
  for (int i = 0; i < spec.attribute_count; ++i) require(spec.attributes[i].name);
  CheckAbsences(c);
  SetFile(c, npz);
  return c;
}

std::vector<CaseLine> ParseCases(string_view text) {
  std::vector<CaseLine> cases;
  string set = "basic";
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const string_view line = WithoutComment(text.substr(0, end));
    text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      set = string(line.substr(1, line.size() - 2));
    } else {
      cases.push_back({set, string(line)});
    }
  }
  return cases;
}

CaseCall::CaseCall(const Case& test_case) : arguments(test_case.op->spec) {
  const OpSpec& spec = *arguments.spec;
  arguments.double_allowed = true;
  for (int i = 0; i < spec.attribute_count; ++i) {
    arguments.attributes[i].number = test_case.values.find(spec.attributes[i].name)->second;
  }
  for (int i = 0; i < spec.symbol_count; ++i) {
    arguments.symbols[i] = static_cast<int64_t>(test_case.values.find(spec.symbols[i])->second);
  }
  for (int i = 0; i < spec.tensor_count; ++i) {
    const TensorSpec& row = spec.tensors[i];
    if (IsAbsent(test_case, row)) continue;
    auto desc = std::make_unique<mluOpTensorStruct>();
    int64_t dims[kMaxRank];
    for (int d = 0; d < row.rank; ++d) dims[d] = Evaluate(arguments, row.dims[d]);
    const auto dtype = row.type == kI32 ? MLUOP_DTYPE_INT32 : test_case.dtype;
    if (mluOpSetTensorDescriptor_v2(desc.get(), LayoutOf(row.layout), dtype, row.rank, dims) != 0) {
      Reject(test_case, string(row.name) + ": " + mluOpGetLastErrorMessage());
    }
    // No operator supports more, and the byte count of larger tensors would overflow size_t.
    const int bits = spec.limited ? 31 : 60;
    if (desc->ElementCount() >= int64_t{1} << bits) {
      Reject(test_case, string(row.name) + " must have fewer than 2^" + std::to_string(bits) +
                            " elements, got " + std::to_string(desc->ElementCount()));
    }
    arguments.tensors[i].desc = desc.get();
    descs.push_back(std::move(desc));
  }
}

}  // namespace mluop::testing
