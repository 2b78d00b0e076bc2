// SPDX-License-Identifier: Apache-2.0
#include "prototxt.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace mluop::tool {
namespace {

constexpr int kMaxDepth = 16;  // blocks in blocks

class Parser {
 public:
  Parser(const std::string& path, const std::string& text) : path_(path), text_(text) { Next(); }

  // Parses fields until the end of the file or, in a block, until its brace.
  std::vector<ProtoField> ParseFields(int depth) {
    if (depth > kMaxDepth) Fail("blocks must be nested at most 16 deep");
    std::vector<ProtoField> fields;
    while (kind_ == Kind::kWord) ParseField(depth, &fields);
    if (depth == 0 && kind_ != Kind::kEnd) Fail("a field must start with its name, got " + token_);
    return fields;
  }

 private:
  enum class Kind { kWord, kString, kMark, kEnd };

  [[noreturn]] void Fail(const std::string& message) const { FailAt(path_, line_, message); }

  bool IsMark(char mark) const { return kind_ == Kind::kMark && token_[0] == mark; }

  // Moves to the next token.
  void Next() {
    SkipSpace();
    token_.clear();
    if (at_ == text_.size()) {
      kind_ = Kind::kEnd;
      token_ = "the end of the file";
    } else if (text_[at_] == '"' || text_[at_] == '\'') {
      ReadString();
    } else if (IsWord(text_[at_])) {
      kind_ = Kind::kWord;
      while (at_ < text_.size() && IsWord(text_[at_])) token_ += text_[at_++];
    } else {
      kind_ = Kind::kMark;
      token_ = text_[at_++];
    }
  }

  static bool IsWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '+';
  }

  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      if (text_[at_] == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) return;
    }
  }

  void ReadString() {
    const size_t end = text_.find_first_of(std::string{text_[at_], '\n'}, at_ + 1);
    if (end == std::string::npos || text_[end] == '\n') Fail("a string must end on its line");
    kind_ = Kind::kString;
    token_ = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
  }

  void ParseField(int depth, std::vector<ProtoField>* fields) {
    ProtoField field;
    field.name = token_;
    field.line = line_;
    Next();
    const bool colon = IsMark(':');
    if (colon) Next();
    if (IsMark('{')) {
      Next();
      field.is_block = true;
      field.fields = ParseFields(depth + 1);
      if (!IsMark('}')) Fail("the block " + field.name + " must end with }, got " + token_);
      Next();
      fields->push_back(std::move(field));
    } else if (!colon) {
      Fail(field.name + " must have a colon or a block, got " + token_);
    } else if (IsMark('[')) {
      ParseList(field, fields);
    } else {
      ParseScalar(field, fields);
    }
    if (IsMark(',') || IsMark(';')) Next();
  }

  void ParseScalar(ProtoField field, std::vector<ProtoField>* fields) {
    if (kind_ != Kind::kWord && kind_ != Kind::kString) {
      Fail(field.name + " must have a value, got " + token_);
    }
    field.value = token_;
    field.line = line_;
    fields->push_back(std::move(field));
    Next();
  }

  void ParseList(const ProtoField& field, std::vector<ProtoField>* fields) {
    Next();
    while (!IsMark(']')) {
      ParseScalar(field, fields);
      if (IsMark(',')) {
        Next();
      } else if (!IsMark(']')) {
        Fail("the list " + field.name + " must have a comma or ], got " + token_);
      }
    }
    Next();
  }

  const std::string& path_;
  const std::string& text_;
  size_t at_ = 0;
  int line_ = 1;
  Kind kind_ = Kind::kEnd;
  std::string token_;
};

}  // namespace

void FailAt(const std::string& path, int line, const std::string& message) {
  throw std::invalid_argument(path + ":" + std::to_string(line) + ": " + message);
}

void CheckName(const std::string& path, int line, const char* what,
               const std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list = names.empty() ? "absent" : names.size() == 1 ? names[0] : "one of " + names[0];
  for (size_t i = 1; i < names.size(); ++i) list += ", " + names[i];
  FailAt(path, line, std::string(what) + " must be " + list + ", got " + name);
}

ProtoField ParsePrototxt(const std::string& path, const std::string& text) {
  ProtoField file;
  file.is_block = true;
  file.fields = Parser(path, text).ParseFields(0);
  return file;
}

}  // namespace mluop::tool
