// SPDX-License-Identifier: Apache-2.0
// Named implementations. For every operator a device has an ordered list of implementations; the
// first one that applies to a call runs. All that apply to a call give the same bits, so the choice
// affects speed only. Example, the list of an operator on the CPU:
//
//   constexpr CpuImplementation<Problem> kForward[] = {
//       // name     when it applies                            applies      scratch      run
//       {"strided", "the RoIs read less than 1/6 of the map",  ReadsLittle, NoScratch,   RunStrided},
//       {"bands",   "always",                                  Always,      BandScratch, RunBands},
//   };
//   constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("my_operator_forward");
//
// The last entry is the fallback: it always applies. Two functions mark exceptions: Limited (the
// operator has limits on this device) and Exclusive (adds in another order than the entries before
// it, so it applies only if none of them does). Calls with tensors of type double have one
// implementation, "double": CpuImplementation<Problem>::ForDouble(RunDouble).
#pragma once

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/arguments.h"
#include "core/device.h"
#include "core/error.h"
#include "core/spec.h"

namespace mluop {

// A description of how a call is computed. `mluop describe --plan` prints it.
struct Plan {
  std::string_view implementation;
  std::string_view when;  // the rule that chose it
  size_t scratch = 0;     // bytes
  bool free_order = false;
  char details[512] = "";  // slices, tiles, threads: "name value" pairs, one per line

  // Appends one line to the details; truncates what does not fit.
  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...);
};

// A validated call on a device. Context holds the device's resources: threads or a stream, scratch.
template <class Problem, class Context>
struct Call {
  const Problem& p;
  const Arguments& arguments;
  Context& context;
};

template <class Problem, class Context>
bool Always(const Call<Problem, Context>&) {
  return true;
}

// Describes tiles of a fixed size.
template <int64_t kRows, int64_t kColumns, class Problem, class Context>
void DescribeTiles(const Call<Problem, Context>&, Plan& plan) {
  plan.Add("tiles of %" PRId64 " x %" PRId64 " elements", kRows, kColumns);
}

template <class ProblemType, class ContextType>
struct Implementation {
  using Problem = ProblemType;
  using Context = ContextType;
  using Call = mluop::Call<Problem, Context>;

  std::string_view name;
  std::string_view when;  // the rule that `applies` tests, in words
  bool (*applies)(const Call& call);
  size_t (*scratch)(const Call& call);  // bytes; NULL: none
  // Computes the call. `scratch` has the requested bytes. On CUDA it is NULL after a failed
  // allocation; launches are then skipped.
  mluOpStatus_t (*run)(const Call& call, void* scratch);
  void (*describe)(const Call& call, Plan& plan) = nullptr;  // adds slices and tiles to a plan
  bool is_double = false;   // serves calls of type double; the others serve half and float
  bool free_order = false;  // adds by atomics: bits may differ between two runs
  // Offsets are 64-bit, for tensors that are larger than any built-in case.
  bool beyond_32_bits = false;
  bool limited = false;    // see Limited
  bool exclusive = false;  // see Exclusive

  // Marks an implementation that only calls beyond the built-in cases choose.
  static constexpr Implementation Beyond32Bits(Implementation entry) {
    entry.beyond_32_bits = true;
    return entry;
  }
  // Marks the last entry of an operator with limits on this device (docs/c.md names them). A call
  // beyond them is NOT_SUPPORTED.
  static constexpr Implementation Limited(Implementation entry) {
    entry.limited = true;
    return entry;
  }
  // Marks a last entry that adds in another order than the entries before it. It applies, forced or
  // not, only if none of them does: for each call only one order can run.
  static constexpr Implementation Exclusive(Implementation entry) {
    entry.exclusive = true;
    return entry;
  }
  static constexpr Implementation ForDouble(mluOpStatus_t (*run)(const Call&, void*),
                                            size_t (*scratch)(const Call&) = nullptr) {
    return {"double", "dtype double", Always<Problem, Context>, scratch, run, nullptr, true};
  }
};

// The list of one operator with its types erased.
template <class Context>
struct DeviceOperator {
  std::string_view op;                                  // the name of its table
  std::span<const ImplementationInfo> implementations;  // in order
  // Runs the call with the implementation `forced`, or with the first that applies if that is
  // empty. Returns NOT_SUPPORTED, with an error message, if none applies.
  mluOpStatus_t (*run)(const Arguments& arguments, Context& context, std::string_view forced);
  // Fills the plan of the same call instead of running it.
  mluOpStatus_t (*plan)(const Arguments& arguments, Context& context, std::string_view forced,
                        Plan* plan);
};

// Computes the result of a workspace getter.
struct DeviceGetter {
  std::string_view getter;  // the name of its table
  size_t (*bytes)(const Arguments& arguments);
};

// A family's operators and getters for one kind of device.
template <class Context>
struct DeviceFamily {
  std::span<const DeviceOperator<Context>* const> operators;
  std::span<const DeviceGetter> getters;
};

mluOpStatus_t FailNoImplementation(const OpSpec& spec, std::string_view forced);

template <const auto& kList>
constexpr auto InfosOf() {
  std::array<ImplementationInfo, std::size(kList)> infos = {};
  for (size_t i = 0; i < infos.size(); ++i) infos[i] = {kList[i].name, kList[i].beyond_32_bits};
  return infos;
}

// Returns whether the last implementation that is not "double" applies to every call within the
// operator's limits.
template <const auto& kList>
constexpr bool EndsWithFallback() {
  using Entry = std::remove_cvref_t<decltype(kList[0])>;
  bool found = false;
  for (const Entry& entry : kList) {
    if (entry.is_double) continue;
    found =
        entry.limited || entry.applies == Always<typename Entry::Problem, typename Entry::Context>;
  }
  return found;
}

// Binds a list to the function that converts arguments to its Problem.
template <auto kMakeProblem, const auto& kList>
class Binding {
  using Entry = std::remove_cvref_t<decltype(kList[0])>;
  using Context = typename Entry::Context;
  using Call = typename Entry::Call;

  static const Entry* Choose(const Call& call, std::string_view forced) {
    const bool is_double = call.arguments.Type() == MLUOP_DTYPE_DOUBLE;
    for (const Entry& entry : kList) {
      if (entry.is_double != is_double || (!forced.empty() && entry.name != forced)) continue;
      if (entry.applies(call) && !(entry.exclusive && AppliesBefore(entry, call))) return &entry;
    }
    return nullptr;
  }
  // Returns whether an implementation before `entry` applies.
  static bool AppliesBefore(const Entry& entry, const Call& call) {
    for (const Entry* other = kList; other != &entry; ++other) {
      if (other->is_double == entry.is_double && other->applies(call)) return true;
    }
    return false;
  }
  static size_t ScratchOf(const Entry& entry, const Call& call) {
    return entry.scratch == nullptr ? 0 : entry.scratch(call);
  }

 public:
  static mluOpStatus_t Run(const Arguments& arguments, Context& context, std::string_view forced) {
    const auto problem = kMakeProblem(arguments);
    const Call call = {problem, arguments, context};
    const Entry* const entry = Choose(call, forced);
    if (entry == nullptr) return FailNoImplementation(*arguments.spec, forced);
    const size_t bytes = ScratchOf(*entry, call);
    return entry->run(call, bytes == 0 ? nullptr : context.Scratch(bytes));
  }

  static mluOpStatus_t MakePlan(const Arguments& arguments, Context& context,
                                std::string_view forced, Plan* plan) {
    const auto problem = kMakeProblem(arguments);
    const Call call = {problem, arguments, context};
    const Entry* const entry = Choose(call, forced);
    if (entry == nullptr) return FailNoImplementation(*arguments.spec, forced);
    plan->implementation = entry->name;
    plan->when = entry->when;
    plan->scratch = ScratchOf(*entry, call);
    plan->free_order = entry->free_order;
    if (entry->describe != nullptr) entry->describe(call, *plan);
    return MLUOP_STATUS_SUCCESS;
  }

  static constexpr auto kInfos = InfosOf<kList>();

  static constexpr DeviceOperator<Context> Operator(std::string_view op) {
    return {op, kInfos, Run, MakePlan};
  }
};

template <auto kMakeProblem, const auto& kList>
constexpr auto Bind(std::string_view op) {
#if !defined(__SANITIZE_ADDRESS__)  // g++ with UBSan compares no functions in constant expressions
  static_assert(EndsWithFallback<kList>());
#endif
  return Binding<kMakeProblem, kList>::Operator(op);
}

// Finds a device's operator or getter for a table. Names are compared once, when the index is
// built; calls compare addresses. A NULL family has no implementations on the device.
template <class Context>
class DeviceIndex {
 public:
  DeviceIndex(std::span<const OpSpec* const> specs,
              std::span<const DeviceFamily<Context>* const> families) {
    for (const OpSpec* spec : specs) {
      Row row = {spec, nullptr, nullptr};
      for (const DeviceFamily<Context>* family : families) {
        if (family == nullptr) continue;
        for (const DeviceOperator<Context>* op : family->operators) {
          if (op->op == spec->name) row.op = op;
        }
        for (const DeviceGetter& getter : family->getters) {
          if (getter.getter == spec->name) row.getter = &getter;
        }
      }
      rows_[count_++] = row;
    }
  }

  // Returns NULL if the device does not support the operator.
  const DeviceOperator<Context>* FindOperator(const OpSpec& spec) const { return Find(spec).op; }
  const DeviceGetter* FindGetter(const OpSpec& spec) const { return Find(spec).getter; }

 private:
  struct Row {
    const OpSpec* spec;
    const DeviceOperator<Context>* op;
    const DeviceGetter* getter;
  };
  Row Find(const OpSpec& spec) const {
    const auto row = std::ranges::find(rows_, &spec, &Row::spec);
    return row == rows_.end() ? Row{} : *row;
  }

  std::array<Row, kMaxTables> rows_ = {};
  size_t count_ = 0;
};

}  // namespace mluop
