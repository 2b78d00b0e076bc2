// SPDX-License-Identifier: Apache-2.0
// Bytes -> a call of any operator or workspace getter.
//   - A call that is valid succeeds (NOT_SUPPORTED without a kernel), and agrees with the reference
//       bit for bit
//     where the operator is exact.
//   - Any other call fails, or has nothing to do, and leaves the outputs as they were.
//   - Inputs are never written to.
#include <string>
#include <vector>

#include "bytes.h"
#include "core/validate.h"
#include "made_call.h"
#include "testing/accuracy.h"
#include "testing/isa.h"
#include "testing/operator_test.h"

namespace mluop::fuzz {
namespace {

using testing::Criterion;
using testing::OutputRule;

constexpr double kMaxIterations = 1 << 12;  // of a loop that no tensor's size limits

// Rules that are plain to see, written apart from the library's own.
bool IsPlainlyWrong(const MadeCall& call) {
  if (call.handle == nullptr) return true;
  for (int i = 0; i < call.spec.tensor_count; ++i) {
    const TensorSpec& row = call.spec.tensors[i];
    const mluOpTensorStruct* desc = call.arguments.tensors[i].desc;
    if (desc == nullptr) {
      if (row.optional_attribute < 0) return true;
      continue;
    }
    const bool floats = desc->dtype == MLUOP_DTYPE_FLOAT || desc->dtype == MLUOP_DTYPE_HALF;
    if (desc->rank != row.rank) return true;
    if (row.type == kI32 ? desc->dtype != MLUOP_DTYPE_INT32 : !floats) return true;
  }
  for (int i = 0; i < call.spec.attribute_count; ++i) {
    const AttributeSpec& row = call.spec.attributes[i];
    const double value = call.arguments.attributes[i].number;
    const bool real = row.kind == AttributeSpec::kPositiveReal;
    if (real ? !(value > 0) : value < static_cast<double>(row.min)) return true;
  }
  return false;
}

bool IsInShape(const OpSpec& spec, int attribute) {
  for (const TensorSpec& row : spec.tensors) {
    for (const DimSpec& dim : row.dims) {
      for (const Factor& factor : dim.factors) {
        if (factor.kind == Factor::kAttribute && factor.value == attribute) return true;
      }
    }
  }
  return false;
}

// A kernel's work is bounded by its tensors, except for a count that is no dim of any.
bool IsTooMuchWork(const MadeCall& call) {
  for (int i = 0; i < call.spec.attribute_count; ++i) {
    const bool counts = call.spec.attributes[i].min >= 0 && !IsInShape(call.spec, i);
    if (counts && call.arguments.attributes[i].number > kMaxIterations) return true;
  }
  return call.too_large;
}

void RequireUntouched(const MadeCall& call, Direction direction) {
  for (int i = 0; i < call.spec.tensor_count; ++i) {
    if (call.spec.tensors[i].direction != direction) continue;
    Require(!call.blocks[i].Changed(),
            direction == kIn ? "an input has changed" : "a call that did not run wrote an output",
            call.name.c_str());
  }
}

// "" where the output is what the reference says. Values that are rounded on the way are looked at only where no
// digits are lost, and then loosely: how exact they are is for the driver to judge.
std::string Difference(const MadeCall& call, const Arguments& arguments, const OutputRule& rule,
                       const void* expected) {
  const TensorArgument& got = arguments.Tensor(rule.tensor);
  const int64_t count = got.desc->ElementCount();
  if (rule.criterion == Criterion::kExact) {
    const int64_t first = testing::FirstDifference(got.data, expected, count, got.desc->dtype);
    return first < 0 ? "" : "element " + std::to_string(first) + " differs";
  }
  if (!call.smooth) return "";
  if (rule.criterion == Criterion::kFamily) {
    return call.entry.test->accept(arguments, rule.tensor, expected);
  }
  const testing::Differences differences =
      testing::Compare(got.data, got.desc->dtype, static_cast<const double*>(expected), count);
  const bool half = got.desc->dtype == MLUOP_DTYPE_HALF;
  const bool close = differences.diff1 <= (half ? 1e-2 : 1e-4) || differences.diff3_2 <= 1e-5;
  return differences.misplaced < 0 && close ? "" : testing::Format(differences);
}

// `arguments` are those of the call, with the symbols that validation found.
void CompareWithReference(const MadeCall& call, const Arguments& arguments) {
  Arguments expected = arguments;
  std::vector<Block> outputs;
  for (const OutputRule& rule : call.entry.test->outputs) {
    TensorArgument& tensor = expected.tensors[call.spec.TensorIndex(rule.tensor)];
    if (tensor.desc == nullptr) continue;
    const auto count = static_cast<size_t>(tensor.desc->ElementCount());
    const bool own_type =
        rule.criterion == Criterion::kExact || rule.criterion == Criterion::kFamily;
    outputs.emplace_back(own_type ? tensor.ByteCount() : count * sizeof(double));
    tensor.data = outputs.back().data();
  }
  call.entry.test->reference(expected);
  for (const OutputRule& rule : call.entry.test->outputs) {
    const TensorArgument& tensor = expected.Tensor(rule.tensor);
    if (tensor.desc == nullptr) continue;
    const std::string difference = Difference(call, arguments, rule, tensor.data);
    if (difference.empty()) continue;
    char line[512];
    FormatCase(expected, line, sizeof(line));
    std::fprintf(stderr, "%s\n%s: %s\n", line, std::string(rule.tensor).c_str(),
                 difference.c_str());
    Require(false, "must agree with the reference", call.name.c_str());
  }
}

void RunOperator(const MadeCall& call) {
  Arguments planned = call.arguments;
  Arguments without_workspace = call.arguments;  // not every operator has one to look at
  without_workspace.workspace = {};
  Validation plan = Validate(call.handle, planned);
  const Validation other_plan = Validate(call.handle, without_workspace);
  const char* name = call.name.c_str();
  Require(!call.as_made || plan.verdict == Verdict::kRun, "a valid call is refused", name);
  if (other_plan.verdict == Verdict::kRun && IsTooMuchWork(call)) return;

  const mluOpStatus_t status = call.entry.test->call(call.handle, call.arguments);
  if (status != plan.status) plan = other_plan;
  RequireUntouched(call, kIn);
  if (IsPlainlyWrong(call)) Require(status == MLUOP_STATUS_BAD_PARAM, "must be BAD_PARAM", name);
  if (plan.verdict != Verdict::kRun) {
    Require(status == plan.status, "the status must be that of the checks", name);
    RequireUntouched(call, kOut);
  } else if (call.entry.op->cpu == nullptr) {
    Require(status == MLUOP_STATUS_NOT_SUPPORTED, "must be NOT_SUPPORTED", name);
    RequireUntouched(call, kOut);
  } else {
    Require(status == MLUOP_STATUS_SUCCESS, "a valid call must succeed", name);
    if (call.entry.test->reference != nullptr) CompareWithReference(call, without_workspace);
  }
}

void RunGetter(const MadeCall& call, bool with_out_pointer) {
  constexpr size_t kMark = 0x5a5a5a5a;
  size_t size = kMark;
  const char* name = call.name.c_str();
  const mluOpStatus_t status =
      call.entry.getter->call(call.handle, call.arguments, with_out_pointer ? &size : nullptr);
  if (IsPlainlyWrong(call) || !with_out_pointer) {
    Require(status == MLUOP_STATUS_BAD_PARAM, "must be BAD_PARAM", name);
  } else if (call.as_made) {
    Require(status == MLUOP_STATUS_SUCCESS, "a valid call must succeed", name);
  }
  Require((status == MLUOP_STATUS_SUCCESS) == (size != kMark),
          "workspace_size must be written on success, and only then", name);
  RequireUntouched(call, kIn);
  RequireUntouched(call, kOut);
}

std::vector<EntryPoint> AllEntryPoints() {
  std::vector<EntryPoint> all;
  for (const testing::FamilyTest* family : testing::FamilyTests()) {
    for (const testing::OperatorTest& test : family->operators) {
      const Operator* op = testing::FindOperator(test.name);
      all.push_back({&op->spec, op, &test, nullptr});
    }
    for (const testing::GetterTest& getter : family->getters) {
      for (const Family* tables : Families()) {
        for (const OpSpec* spec : tables->getters) {
          if (spec->name == getter.name) all.push_back({spec, nullptr, nullptr, &getter});
        }
      }
    }
  }
  return all;
}

mluOpHandle_t HandleWithThreads(int num_threads) {
  mluOpHandle_t handle = nullptr;
  Require(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS, "must succeed", "mluOpCreate");
  Require(mluOpSetNumThreads(handle, num_threads) == MLUOP_STATUS_SUCCESS, "must succeed",
          "mluOpSetNumThreads");
  return handle;
}

void Run(Bytes bytes) {
  static const std::vector<EntryPoint> entry_points = AllEntryPoints();
  static const std::vector<std::string> isas = testing::SupportedIsas();
  static const mluOpHandle_t handles[] = {HandleWithThreads(1), HandleWithThreads(2),
                                          HandleWithThreads(5)};
  const EntryPoint& entry = entry_points[bytes.Below(static_cast<int>(entry_points.size()))];
  testing::ForceIsa(isas[bytes.Below(static_cast<int>(isas.size()))]);
  const MadeCall call(entry, handles[bytes.Below(3)], bytes);
  if (entry.getter != nullptr) {
    RunGetter(call, !bytes.OneIn(8));
  } else {
    RunOperator(call);
  }
}

}  // namespace
}  // namespace mluop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mluop::fuzz::Run({data, size});
  return 0;
}
