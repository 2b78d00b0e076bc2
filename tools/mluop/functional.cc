// SPDX-License-Identifier: Apache-2.0
// The functional tests of `mluop report`.
#include <algorithm>

#include "core/dtype.h"
#include "html.h"
#include "mluops/extensions.h"
#include "operator_report.h"
#include "testing/device_call.h"
#include "testing/isa.h"

namespace mluop::tool {
namespace {

using testing::Case;
using testing::Comparison;

// Quick: larger cases run once, with default settings; one in eight smaller cases is compared
// across threads.
constexpr size_t kQuickBytes = size_t{1} << 20;
constexpr int kQuickBitwise = 8;
constexpr int64_t kTile = 16;  // elements; multiples of it fill the kernels' vectors and tiles

std::string LayoutOf(const OpSpec& spec) {
  for (int t = 0; t < spec.tensor_count; ++t) {
    if (spec.tensors[t].layout == kNHWC) return "NHWC";
    if (spec.tensors[t].layout == kNCHW) return "NCHW";
  }
  return "any";
}

// A fixed dim, such as the four coordinates of a box, is not divided into tiles.
bool IsLiteral(const DimSpec& dim) {
  return std::all_of(dim.factors, dim.factors + dim.factor_count,
                     [](const Factor& factor) { return factor.kind == Factor::kLiteral; });
}

// Classifies the sizes of a case.
struct Sizes {
  bool empty = false, on_tiles = true;
  size_t bytes = 0;  // of all tensors
};
Sizes SizesOf(const Case& c) {
  const testing::CaseCall call(c);
  Sizes sizes;
  for (int t = 0; t < c.op->spec.tensor_count; ++t) {
    const TensorArgument& tensor = call.arguments.tensors[t];
    if (tensor.desc == nullptr) continue;
    sizes.bytes += tensor.ByteCount();
    sizes.empty |= tensor.desc->ElementCount() == 0;
    const DimSpec& last = c.op->spec.tensors[t].dims[tensor.desc->rank - 1];
    if (!IsLiteral(last)) sizes.on_tiles &= tensor.desc->dims[tensor.desc->rank - 1] % kTile == 0;
  }
  return sizes;
}

const char* CriterionName(testing::Criterion criterion) {
  switch (criterion) {
    case testing::Criterion::kExact: return "equal bits";
    case testing::Criterion::kDynamic: return "dynamic threshold";
    case testing::Criterion::kFixed: return "fixed threshold";
    case testing::Criterion::kFamily: return "equal up to near-ties";
  }
  return "";
}

// Returns the ratio of the larger difference to the threshold.
double Nearness(const Row& row) {
  if (!row.contains("threshold")) return 0;
  return std::max(Number(row, "diff1"), Number(row, "diff2")) / Number(row, "threshold");
}

Row RowOf(const Case& c, const Comparison& comparison) {
  Row row = {{"output", comparison.tensor},
             {"criterion", CriterionName(comparison.criterion)},
             {"case", c.line},
             {"passed", true}};
  const bool exact = comparison.criterion == testing::Criterion::kExact ||
                     comparison.criterion == testing::Criterion::kFamily;
  if (exact) return row;
  const testing::Differences& d = comparison.differences;
  const double unequal = std::max(1.0, static_cast<double>(d.above + d.below));
  row["diff1"] = d.diff1;
  row["diff2"] = d.diff2;
  row["diff3"] = d.diff3;
  row["diff4"] = d.above + d.below == 0 ? 0.5 : static_cast<double>(d.above) / unequal;
  row["threshold"] = std::min(comparison.threshold.diff1, comparison.threshold.diff2);
  return row;
}

}  // namespace

FunctionalTests::FunctionalTests(const Selection& selection, const Device& device, bool quick)
    : selection_(selection), quick_(quick) {
  const bool on_cpu = &device == CpuDevice();
  if (!on_cpu) return;
  isas_ = SelectIsas(selection, testing::SupportedIsas());
  if (quick && isas_.size() > 2) isas_ = {isas_.front(), isas_.back()};
}

void FunctionalTests::Add(const std::string& kind, bool passed, int runs) {
  auto found =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& k) { return k.first == kind; });
  if (found == kinds_.end()) found = kinds_.insert(kinds_.end(), {kind, {}});
  ++found->second.cases;
  found->second.passed += passed;
  found->second.runs += runs;
}

void FunctionalTests::AddFailure(const Case& c, const char* command, const std::string& error) {
  failures_.push_back(
      {{"case", c.line}, {"error", error}, {"repeat", RepeatCommand(command, selection_, c)}});
}

// Returns whether the chosen implementation adds by atomics, in any order.
bool FunctionalTests::HasFreeOrder(const Case& c) const {
  testing::PreparedCall call(c, testing::Placement::kFront);
  const testing::DeviceCall placed(call, testing::Placement::kFront);
  const Handle handle(0);
  return PlanOf(placed.arguments(), handle.get()).free_order;
}

void FunctionalTests::NoteWorst(const Case& c, const std::vector<Comparison>& comparisons) {
  for (const Comparison& comparison : comparisons) {
    const Row row = RowOf(c, comparison);
    auto same = std::find_if(worst_.begin(), worst_.end(), [&](const Row& other) {
      return other["output"] == row["output"] && other["criterion"] == row["criterion"];
    });
    if (same == worst_.end()) {
      worst_.push_back(row);
    } else if (Nearness(row) > Nearness(*same)) {
      *same = row;
    }
  }
}

bool FunctionalTests::Run(const Case& c) {
  const Sizes sizes = SizesOf(c);
  const bool is_short = quick_ && sizes.bytes > kQuickBytes;
  if (is_short) testing::ResetIsa();
  const CaseResult result = CheckCase(c, selection_, isas_, is_short);
  const bool passed = result.error.empty();
  if (passed && result.runs == 0) {
    Add("refused by the device", true, 0);
    refused_.push_back({{"case", c.line}, {"error", mluOpGetLastErrorMessage()}});
    return true;
  }
  Add(std::string("type ") + NameOf(c.dtype), passed, result.runs);
  Add("layout " + LayoutOf(c.op->spec), passed, result.runs);
  if (sizes.empty) {
    Add("zero elements", passed, result.runs);
  } else {
    Add(sizes.on_tiles ? "sizes on tile boundaries (multiples of 16)"
                       : "sizes off the tile boundaries",
        passed, result.runs);
  }
  if (c.Option("data") != "uniform") Add("NaN, Inf and denormals", passed, result.runs);
  for (const auto& [isa, runs] : result.isas) {
    if (!isa.empty()) Add("instruction set " + isa, passed, runs);
  }
  for (const auto& [name, runs] : result.implementations) {
    if (!name.empty()) Add("implementation " + name, passed, runs);
  }
  if (!passed) AddFailure(c, "check", result.error);
  NoteWorst(c, result.comparisons);
  if (!passed) return false;
  if (is_short || (quick_ && cases_++ % kQuickBitwise != 0) || HasFreeOrder(c)) return true;
  const std::string error = BitwiseError(c, isas_);
  Add("equal bits in repeated runs, with 1 to 16 threads, alone and together", error.empty(), 1);
  if (!error.empty()) AddFailure(c, "bitwise", error);
  return error.empty();
}

void FunctionalTests::AddTo(Row* op) const {
  Row tests = Row::array();
  auto kinds = kinds_;
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [kind, count] : kinds) {
    tests.push_back(
        {{"kind", kind}, {"cases", count.cases}, {"passed", count.passed}, {"runs", count.runs}});
  }
  Row worst = worst_;
  for (Row& row : worst) {
    for (const Row& failure : failures_) {
      if (failure["case"] == row["case"]) row["passed"] = false;
    }
  }
  (*op)["tests"] = tests;
  (*op)["worst"] = worst;
  (*op)["failures"] = failures_;
}

}  // namespace mluop::tool
