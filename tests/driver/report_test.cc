// SPDX-License-Identifier: Apache-2.0
// Tests the page, the table, the efficiencies and the summary with made-up measurements of a CUDA
// device.
#include "report.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "efficiency.h"
#include "figures.h"
#include "html.h"
#include "peers.h"
#include "plots.h"

namespace mluop::tool {
namespace {

constexpr char kCase[] = "roiaware_pool3d_backward P=16 pool_method=0";
constexpr Rates kRates = {4e12, 256 << 20, 0, 60e12, 60 << 20};

Row CudaRow(const char* mode, const char* implementation, double seconds) {
  Row row = {{"case", kCase},       {"op", "roiaware_pool3d_backward"},
             {"device", "cuda:0"},  {"mode", mode},
             {"dtype", "float"},    {"implementation", implementation},
             {"caches", "rotated"}, {"min_s", seconds},
             {"host_s", 5e-6},      {"workspace_bytes", 0},
             {"tensor_bytes", 2e6}, {"written_bytes", 1e6},
             {"bytes", 2e6},        {"gb_per_s", 100.0},
             {"floor_s", 5e-6},     {"ratio_to_floor", seconds / 5e-6},
             {"operations", 1e6}};
  AddEfficiency(kRates, &row);
  return row;
}

Figures CudaFigures() {
  Figures figures = {{{"name", "NVIDIA H200"}, {"device", "cuda:0"}, {"clock_mhz", 1980}},
                     "tensors rotate over 256 MB"};
  figures.ceilings.push_back({{"bytes", 1 << 20}, {"copy_gb_s", 600.0}});
  figures.ceilings.push_back({{"peak_gflop_s", 60000.0}});
  figures.rows.push_back(CudaRow("default", "sorted", 16.5e-6));
  figures.rows.push_back(CudaRow("allowed", "atomics", 8.1e-6));
  return figures;
}

// The document of a report with one operator, which passed.
Row FullDocument() {
  Row document = DocumentOf(CudaFigures(), "mluop report", 0);
  document["operators"] = {
      {{"name", "roiaware_pool3d_backward"},
       {"description", "Adds gradients."},
       {"criterion", "grad_in: within the threshold"},
       {"checklist", {{"types", {"half, float"}}}},
       {"tests", {{{"kind", "type float"}, {"cases", 3}, {"passed", 3}, {"runs", 12}}}},
       {"worst",
        {{{"output", "grad_in"},
          {"criterion", "dynamic threshold"},
          {"case", kCase},
          {"passed", true},
          {"diff1", 1e-8},
          {"diff2", 2e-8},
          {"threshold", 1e-6}}}},
       {"failures", Row::array()},
       {"parameter_checks",
        {{{"entry", "roiaware_pool3d_backward"},
          {"rule", "rank"},
          {"status", "BAD_PARAM"},
          {"message", "m < n"},
          {"passed", true},
          {"error", ""}}}}}};
  document["summary"] = SummaryOf(document, Row::array());
  document["verdict"] = "3 of 3";
  return document;
}

std::string PageOf(const Figures& figures) {
  return DocumentPage(DocumentOf(figures, "mluop perf", 0), Row::array());
}

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SpeedPage, NamesTheCudaDeviceAndNotTheCpu) {
  const std::string page = PageOf(CudaFigures());
  EXPECT_EQ(CountOf("<b>NVIDIA H200</b>", page), 1);
  EXPECT_EQ(CountOf("<dt>clock<dd>1980 MHz", page), 1);
  EXPECT_EQ(CountOf(CpuName(), page), 0);
}

TEST(SpeedPage, CudaPageHasNoThreadsAndNoFill) {
  const std::string page = PageOf(CudaFigures());
  EXPECT_EQ(CountOf("<dt>threads", page), 0);
  EXPECT_EQ(CountOf("<th>fill", page), 0);
  EXPECT_EQ(CountOf("<td class=short>1.0 MB<td class=short>600 GB/s</tr>", page), 1);
}

TEST(SpeedPage, SaysWhatTheFloorOfTheDeviceIs) {
  Figures figures = CudaFigures();
  const std::string copy = "the bytes that must move, copied on this device";
  const std::string stream = "the fastest of six streams over the operator's own buffers";
  EXPECT_EQ(CountOf(copy, PageOf(figures)), 2);
  figures.machine["device"] = "cpu";
  EXPECT_EQ(CountOf(copy, PageOf(figures)), 0);
  EXPECT_EQ(CountOf(stream, PageOf(figures)), 2);
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
  figures.machine["name"] = "<b> & 'co'";
  EXPECT_EQ(CountOf("&lt;b> &amp; &#39;co&#39;", PageOf(figures)), 1);
}

TEST(SpeedPage, NeedsNoNetwork) {
  const std::string page = DocumentPage(FullDocument(), ParseBuiltInPeers());
  EXPECT_EQ(CountOf("http", page), 0);
  EXPECT_EQ(CountOf("<script", page) + CountOf("src=", page) + CountOf("@import", page), 0);
}

TEST(ReportPage, HasASectionForEveryPartOfTheDocument) {
  const std::string page = DocumentPage(FullDocument(), Row::array());
  for (const char* part : {"Adds gradients.", "<h3>Checklist</h3>", "<h3>Functional tests</h3>",
                           "<h3>Parameter checks</h3>", "<h3>Performance</h3>", "m &lt; n",
                           "<h3>Efficiency</h3>", "<h3>Accuracy</h3>", "id=summary"}) {
    EXPECT_EQ(CountOf(part, page), 1) << part;
  }
  EXPECT_EQ(CountOf("limited by memory", page), 1);
  EXPECT_EQ(CountOf("<svg", page), 3);
}

TEST(Efficiency, IsAShareOfTheLargestCopyAndOfThePeak) {
  const Row row = CudaRow("default", "sorted", 1e-6);
  EXPECT_DOUBLE_EQ(row["io_efficiency"].get<double>(), 2e6 / 1e-6 / 4e12);
  EXPECT_DOUBLE_EQ(row["compute_efficiency"].get<double>(), 1e6 / 1e-6 / 60e12);
  EXPECT_EQ(row["met"], true);
  EXPECT_EQ(row["bound"], "memory");
}

TEST(Efficiency, BelowHalfTakesTheReasonOfTheFamily) {
  const Row row = CudaRow("default", "sorted", 16.5e-6);
  EXPECT_EQ(row["met"], false);
  EXPECT_NE(row["reason"], "");
}

TEST(Efficiency, ASmallCaseNearItsFloorIsExplainedByItsSize) {
  Row row = CudaRow("default", "sorted", 6e-6);
  row["case"] = "transpose N=1 A=2 B=2";  // has no note
  AddEfficiency(kRates, &row);
  EXPECT_EQ(
      CountOf("the size: a copy of as many bytes takes 5.0 µs and reaches 10 %", row["reason"]), 1);
  row["ratio_to_floor"] = 2.2;
  AddEfficiency(kRates, &row);
  EXPECT_EQ(row["reason"], "");
}

TEST(Efficiency, ALargeCaseNearASlowFloorIsExplainedByMemory) {
  Row row = CudaRow("default", "sorted", 60e-6);
  row["case"] = "transpose N=1 A=2 B=2";  // has no note
  row["bytes"] = 40e6;
  row["written_bytes"] = 30e6;
  row["floor_s"] = 50e-6;
  row["ratio_to_floor"] = 1.2;
  AddEfficiency(kRates, &row);
  EXPECT_EQ(CountOf("memory: the fastest stream of the same bytes, 75 % of them written, takes "
                    "50.0 µs and reaches 20 %, this call takes 1.20 times as long",
                    row["reason"]),
            1)
      << row["reason"];
  row["floor_s"] = 10e-6;  // at the rate of the largest copy
  row["ratio_to_floor"] = 6;
  AddEfficiency(kRates, &row);
  EXPECT_EQ(row["reason"], "");
}

TEST(Efficiency, ARowThatBeatsTheFloorHasARemark) {
  const Row row = CudaRow("default", "sorted", 0.4e-6);  // 5 TB/s
  ASSERT_EQ(row["remarks"].size(), 2u);
  EXPECT_EQ(row["remarks"][0]["mark"], "c");
  EXPECT_EQ(row["remarks"][1]["mark"], "d");
}

TEST(Efficiency, TensorsThatStayInTheCachesHaveARemark) {
  Row row = CudaRow("default", "sorted", 0.4e-6);
  row["caches"] = "hot";
  AddEfficiency(kRates, &row);
  EXPECT_EQ(row["remarks"][0]["mark"], "a");
}

TEST(Summary, NamesFailuresRefusalsPeersAndCasesBelowHalf) {
  Row document = FullDocument();
  document["operators"][0]["failures"] = {
      {{"case", "a"}, {"error", "diff1 must be"}},
      {{"case", "b"}, {"error", "MLUOP_STATUS_NOT_SUPPORTED, x"}}};
  document["operators"][0]["parameter_checks"][0]["passed"] = false;
  const Row peers = {
      {{"machine", {{"name", "V100"}}},
       {"device", "cuda"},
       {"cases", {{{"case", kCase}, {"level", "library"}, {"peer", "mmcv"}, {"peer_s", 8e-6}}}}}};
  const Row summary = SummaryOf(document, peers);
  ASSERT_EQ(summary.size(), 5u);
  EXPECT_EQ(summary[0]["items"][0], "a: diff1 must be");
  EXPECT_EQ(summary[1]["items"][0], "b: MLUOP_STATUS_NOT_SUPPORTED, x");
  EXPECT_EQ(summary[2]["items"].size(), 1u);
  EXPECT_EQ(summary[3]["items"].size(), 2u);
  EXPECT_EQ(CountOf("mmcv (measured elsewhere: V100)", summary[3]["items"][0]), 1);
  EXPECT_EQ(summary[4]["items"].size(), 2u);
  document["cases"][0]["reason"] = "latency: one block";
  document["cases"][1]["reason"] = "";
  EXPECT_EQ(CountOf("V100); no reason given", SummaryOf(document, peers)[3]["items"][1]), 1);
  document["cases"][1]["met"] = true;
  const Row explained = SummaryOf(document, peers)[3]["items"];
  EXPECT_EQ(CountOf("V100); latency: one block", explained[0]), 1);
  EXPECT_EQ(CountOf("V100); reaches 50 %", explained[1]), 1);
}

TEST(Peers, BuiltInFilesHaveTheTimesOfDocument002) {
  Row row = CudaRow("default", "sorted", 10e-6);
  row["case"] =
      "roiaware_pool3d_backward P=16000 pool_method=1 boxes_num=128 out_x=12 out_y=12 "
      "out_z=12 channels=16 max_pts_each_voxel=128";
  const auto peers = PeersOf(ParseBuiltInPeers(), row);
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers[0].machine, "NVIDIA H200");
  EXPECT_EQ(peers[1].machine, "Tesla V100-SXM2 16GB");
  EXPECT_DOUBLE_EQ(peers[1].ratio, 15.786);
  for (const Row& file : ParseBuiltInPeers()) {
    if (Text(file["machine"], "name") != peers[1].machine) continue;
    EXPECT_EQ(CountOf("document 002, section 1.5.2", file["command"]), 1);
  }
}

TEST(Plot, DrawsADotPerValueAndKeepsItOnTheAxis) {
  const Axis axis = {1, 100, true, {1, 10, 100}, "%g", 10};
  const std::string plot = PlotOf({{"a", {{1000, "far", "dot"}, {10, "<", "dot"}}}}, axis);
  EXPECT_EQ(CountOf("<circle", plot), 2);
  EXPECT_EQ(CountOf("cx='94.00%'", plot), 1);
  EXPECT_EQ(CountOf("cx='49.00%'", plot), 1);
  EXPECT_EQ(CountOf("<title>&lt;</title>", plot), 1);
}

TEST(Time, HasTheUnitOfItsSize) {
  EXPECT_EQ(TimeOf(43e-9), "43 ns");
  EXPECT_EQ(TimeOf(82.42e-6), "82.4 µs");
  EXPECT_EQ(TimeOf(3.942e-3), "3.94 ms");
  EXPECT_EQ(TimeOf(99), "99.00 s");
}

TEST(Machine, CacheBytesCountsEveryCopyFromTheSecondLevelOn) {
  const Row machine = {{"cores", 4},
                       {"caches",
                        {{{"level", 1}, {"bytes", 5}, {"shared_by", 1}},
                         {{"level", 2}, {"bytes", 10}, {"shared_by", 1}},
                         {{"level", 3}, {"bytes", 100}, {"shared_by", 4}}}}};
  EXPECT_EQ(CacheBytes(machine), 140);
}

TEST(Machine, DateIsUtc) { EXPECT_EQ(DateText(1700000000), "2023-11-14T22:13:20Z"); }

TEST(Verdict, NamesTheOperatorsFarFromTheFloorOnce) {
  Figures figures = CudaFigures();
  figures.rows.push_back(CudaRow("default", "sorted", 30e-6));
  figures.rows.push_back(CudaRow("default", "sorted", 40e-6));
  ::testing::internal::CaptureStdout();
  PrintVerdict(figures);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(CountOf("4 measurements: 1.6x to 8.0x the floor (median 6.0x).", text), 1) << text;
  EXPECT_EQ(CountOf("More than 5 x the floor: roiaware_pool3d_backward (8.0).", text), 1) << text;
  EXPECT_EQ(CountOf("plain loops", text), 0) << text;
  EXPECT_EQ(CountOf("0 of 4 reach 50 %", text), 1) << text;
}

TEST(PerfTable, SaysWhichRowsAllowAtomics) {
  Table table(/*on_cpu=*/false, /*settings=*/false);
  ::testing::internal::CaptureStdout();
  for (const Row& row : CudaFigures().rows) table.Print(row);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(CountOf("roiaware_pool3d_backward\n", text), 1) << text;
  EXPECT_EQ(CountOf("atomics allowed: P=16", text), 1) << text;
}

TEST(PerfTable, MarksEfficienciesAboveOneHundredPercent) {
  Figures figures = CudaFigures();
  figures.rows = Row::array({CudaRow("default", "sorted", 0.4e-6)});
  ::testing::internal::CaptureStdout();
  Table(/*on_cpu=*/false, /*settings=*/false).Print(figures.rows[0]);
  PrintVerdict(figures);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(CountOf(" 0.08d ", text), 1) << text;
  EXPECT_EQ(CountOf(" 125%c ", text), 1) << text;
  EXPECT_EQ(CountOf("\nc: faster than the reference copy", text), 1) << text;
}

TEST(CompareDistributions, AddsTheRatioToTheSameCaseWithUniformData) {
  Figures figures = CudaFigures();
  Row uneven = CudaRow("default", "sorted", 33e-6);
  uneven["case"] = std::string(kCase) + " scene=same_points";
  Row dense = uneven;
  dense["case"] = std::string(kCase) + " scene=dense";
  figures.rows.push_back(uneven);
  figures.rows.push_back(dense);
  CompareDistributions(&figures);
  EXPECT_FALSE(figures.rows[0].contains("ratio_to_uniform"));
  EXPECT_DOUBLE_EQ(Number(figures.rows[2], "ratio_to_uniform"), 2);  // of the default mode's row
  EXPECT_FALSE(figures.rows[3].contains("ratio_to_uniform"));
}

}  // namespace
}  // namespace mluop::tool
