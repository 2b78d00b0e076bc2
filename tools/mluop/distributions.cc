// SPDX-License-Identifier: Apache-2.0
// Compares uneven data with uniform data of the same sizes.
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "figures.h"
#include "html.h"

namespace mluop::tool {
namespace {

// The options of a case line that concentrate its data, and the option of uniform data, which may be
// the default.
struct Distribution {
  std::string_view uneven, uniform;
};
constexpr Distribution kDistributions[] = {
    {" boxes=clipped", ""},   {" boxes=located", ""},    {" rois=object", ""},
    {" rois=one_image", ""},  {" masks=row", ""},        {" masks=row", " masks=random"},
    {" scene=one_voxel", ""}, {" scene=same_points", ""}};

// Identifies a row by its case and what else perf varies.
std::string KeyOf(const Row& row, const std::string& line) {
  return line + "|" + Text(row, "implementation") + "|" + SettingText(row);
}

}  // namespace

void CompareDistributions(Figures* figures) {
  std::map<std::string, double> seconds;
  for (const Row& row : figures->rows) {
    // The library's choice may depend on the data: every row is also found without its implementation.
    seconds[KeyOf(row, Text(row, "case"))] = Number(row, "min_s");
    seconds[Text(row, "case") + SettingText(row)] = Number(row, "min_s");
  }
  const auto find = [&](const Row& row, const std::string& line) {
    const auto same = seconds.find(KeyOf(row, line));
    const auto any = same != seconds.end() ? same : seconds.find(line + SettingText(row));
    return any == seconds.end() ? 0 : any->second;
  };
  for (Row& row : figures->rows) {
    for (const Distribution& d : kDistributions) {
      std::string line = Text(row, "case");
      const size_t at = line.find(d.uneven);
      if (at == std::string::npos) continue;
      const double uniform = find(row, line.replace(at, d.uneven.size(), d.uniform));
      if (uniform == 0) continue;
      row["ratio_to_uniform"] = Number(row, "min_s") / uniform;
      std::printf("%5.2f x the time of uniform data: %s %s\n", Number(row, "ratio_to_uniform"),
                  SettingText(row).c_str(), Text(row, "case").c_str());
      break;
    }
  }
}

}  // namespace mluop::tool
