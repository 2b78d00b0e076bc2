// SPDX-License-Identifier: Apache-2.0
// The report and the table of `mluop perf`, from fixed CUDA and CPU results.
#include "report.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace mluop::tool {
namespace {

constexpr char kCase[] = "roiaware_pool3d_backward P=16 pool_method=0";

Row CudaRow(const char* mode, const char* implementation, double seconds) {
  return {{"case", kCase},
          {"op", "roiaware_pool3d_backward"},
          {"device", "cuda:0"},
          {"mode", mode},
          {"implementation", implementation},
          {"min_s", seconds},
          {"host_s", 5e-6},
          {"gb_per_s", 100.0},
          {"floor_s", 5e-6},
          {"ratio_to_floor", seconds / 5e-6},
          {"operations", 0.0},
          {"compute_efficiency", 0.0}};
}

Figures CudaFigures() {
  Figures figures = {"NVIDIA H200 (cuda:0, sm_90)", "tensors rotate over 256 MB"};
  figures.ceilings.push_back({{"bytes", 1 << 20}, {"copy_gb_s", 600.0}});
  figures.rows.push_back(CudaRow("default", "sorted", 16.5e-6));
  figures.rows.push_back(CudaRow("allowed", "atomics", 8.1e-6));
  return figures;
}

std::string PageOf(const Figures& figures) {
  PerfOptions options;
  options.report = ::testing::TempDir() + "mluops_report.html";
  EXPECT_EQ(WriteFigures(options, figures), 0);
  std::ifstream file(options.report);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::remove(options.report.c_str());
  return page;
}

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SpeedPage, NamesTheCudaDeviceAndNotTheCpu) {
  const std::string page = PageOf(CudaFigures());
  EXPECT_EQ(CountOf("<b>NVIDIA H200 (cuda:0, sm_90)</b>", page), 1);
  EXPECT_EQ(CountOf(MachineName(), page), 0);
}

TEST(SpeedPage, OfCudaHasNoThreadsAndNoFill) {
  const std::string page = PageOf(CudaFigures());
  EXPECT_EQ(CountOf("threads", page), 0);
  EXPECT_EQ(CountOf("fill", page), 0);
  EXPECT_EQ(CountOf("<td>1 MB<td>600 GB/s</tr>", page), 1);
}

TEST(SpeedPage, ShowsBothModesInOneCase) {
  const std::string page = PageOf(CudaFigures());
  EXPECT_EQ(CountOf("<div class=case>", page), 1);
  EXPECT_EQ(CountOf("<span>floor</span>", page), 1);
  EXPECT_EQ(CountOf("<span>mluops, sorted</span>", page), 1);
  EXPECT_EQ(CountOf("<span>mluops, atomics (atomics allowed)</span>", page), 1);
}

TEST(SpeedPage, EscapesHtml) {
  Figures figures = CudaFigures();
  figures.machine = "<b> & co";
  EXPECT_EQ(CountOf("&lt;b> &amp; co", PageOf(figures)), 1);
}

TEST(Verdict, NamesTheOperatorsFarFromTheFloorOnce) {
  Figures figures = CudaFigures();
  figures.rows.push_back(CudaRow("default", "sorted", 30e-6));
  figures.rows.push_back(CudaRow("default", "sorted", 40e-6));
  ::testing::internal::CaptureStdout();
  PrintVerdict(figures);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(CountOf("4 measurements: 1.6 to 8.0 x the floor", text), 1) << text;
  EXPECT_EQ(CountOf("More than 5 x the floor: roiaware_pool3d_backward (8.0).", text), 1) << text;
  EXPECT_EQ(CountOf("plain loops", text), 0) << text;
}

TEST(PerfTable, SaysWhichRowsAllowAtomics) {
  Table table(/*on_cpu=*/false, /*settings=*/false);
  ::testing::internal::CaptureStdout();
  for (const Row& row : CudaFigures().rows) table.Print(row);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(CountOf("roiaware_pool3d_backward\n", text), 1) << text;
  EXPECT_EQ(CountOf("atomics allowed: P=16", text), 1) << text;
}

}  // namespace
}  // namespace mluop::tool
