// SPDX-License-Identifier: Apache-2.0
// The elements of the page that perf and report write: text, figures, tables and the style.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "machine.h"

namespace mluop::tool {

template <typename... Arguments>
std::string Format(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof(text), format, arguments...);
  return text;
}

// Replaces the characters that HTML would read as markup, also in attributes.
std::string Escaped(const std::string& text);

// Return the value of a key, which must exist.
double Number(const Row& row, const char* key);
std::string Text(const Row& row, const char* key);

// "83.1 µs", "4.32 ms", "1.20 s"; "1.3 MB"; "2.1 million operations"; "43 %".
std::string TimeOf(double seconds);
std::string BytesOf(double bytes);
std::string OperationsOf(double operations);
std::string PercentOf(double share);

// A table in a box that scrolls sideways on a narrow screen. Cells are HTML.
std::string TableOf(const std::vector<std::string>& head,
                    const std::vector<std::vector<std::string>>& rows, const char* css_class = "");

// "met", "failed" and so on in a coloured box. kind: good, bad or note.
std::string Badge(const char* kind, const std::string& text);

// A whole page.
std::string PageOf(const std::string& title, const std::string& body);

}  // namespace mluop::tool
