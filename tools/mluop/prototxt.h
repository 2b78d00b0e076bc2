// SPDX-License-Identifier: Apache-2.0
// A parser of the part of protobuf's text format that MLU-OPS's test cases use: `name: value`,
// lists `name: [1, 2]`, blocks `name { ... }` and `name: { ... }`, comments from # to the end of
// the line.
#pragma once

#include <string>
#include <vector>

namespace mluop::tool {

struct ProtoField {
  std::string name;
  std::string value;  // of a scalar; a string without its quotes
  bool is_block = false;
  std::vector<ProtoField> fields;  // of a block
  int line = 0;
};

// Returns a block with the fields of the file. Throws std::invalid_argument, "path:line: ...".
ProtoField ParsePrototxt(const std::string& path, const std::string& text);

// Throws std::invalid_argument, "path:line: message".
[[noreturn]] void FailAt(const std::string& path, int line, const std::string& message);

// Throws std::invalid_argument, "path:line: what must be one of ..., got name", unless the name is
// in the list.
void CheckName(const std::string& path, int line, const char* what,
               const std::vector<std::string>& names, const std::string& name);

}  // namespace mluop::tool
