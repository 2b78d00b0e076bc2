// SPDX-License-Identifier: Apache-2.0
// The files that recorded calls leave in a folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace mluop::testing {

using Files = std::multiset<std::string>;

inline std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names of the files below a folder, without the numbers of process and call.
inline Files FilesBelow(const std::filesystem::path& folder) {
  Files names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(folder).string();
    const size_t call = name.rfind('_'), process = name.rfind('_', call - 1);
    names.insert(name.substr(0, process + 1) + "#" + entry.path().extension().string());
  }
  return names;
}

// A file with that extension below the folder.
inline std::filesystem::path FileBelow(const std::filesystem::path& folder,
                                       const std::string& extension) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) return entry.path();
  }
  ADD_FAILURE() << "no file " << extension;
  return {};
}

}  // namespace mluop::testing
