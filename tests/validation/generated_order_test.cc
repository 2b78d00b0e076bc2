// SPDX-License-Identifier: Apache-2.0
// The order of the checks, for every table. A call that breaks rules of two phases returns the same
// status and message as a call that breaks only the earlier rule.
#include <algorithm>
#include <array>

#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

// In the contract's order.
enum Phase {
  kNullPhase,
  kRankPhase,
  kTypePhase,
  kLayoutPhase,
  kAttributePhase,
  kShapePhase,
  kStridePhase,
  kSizePhase,
  kEmptyPhase,
  kWorkspacePhase,
  kPointerPhase,
  kOverlapPhase,
  kPhaseCount
};
constexpr std::array<const char*, kPhaseCount> kPhaseNames = {
    "null",   "rank", "type",  "layout",    "attribute", "shape",
    "stride", "size", "empty", "workspace", "pointer",   "overlap"};

// Breaks one rule of each phase, on different tensors if the table has enough of them.
class RuleBreaker {
 public:
  explicit RuleBreaker(const Entry& entry) : entry_(entry), spec_(*entry.spec) {
    ChooseEmpty();
    ChooseSize();
    for (int t = spec_.tensor_count - 1; t >= 0; --t) {
      if (spec_.tensors[t].layout != kAnyLayout) layout_ = t;
      if (spec_.tensors[t].direction == kOut && output_ < 0) output_ = t;
      if (nonempty_tensor_ < 0 || StaysNonempty(t)) nonempty_tensor_ = t;
      for (int d = 0; d < spec_.tensors[t].rank; ++d) {
        if (!IsFree(spec_, spec_.tensors[t].dims[d])) fixed_ = {t, d};
      }
    }
    for (int t = 0; t < spec_.tensor_count; ++t) {
      if (t != output_ && (t != nonempty_tensor_ || other_tensor_ < 0)) other_tensor_ = t;
    }
    for (int i = 0; i < spec_.attribute_count; ++i) {
      if (spec_.attributes[i].min > INT32_MIN) attribute_ = i;
    }
  }

  bool CanBreak(Phase phase) const {
    const bool memory = entry_.op != nullptr;
    if (phase == kLayoutPhase) return layout_ >= 0;
    if (phase == kAttributePhase) return attribute_ >= 0;
    if (phase == kSizePhase) return large_tensor_ >= 0;
    if (phase == kEmptyPhase) return can_be_empty_;
    if (phase == kWorkspacePhase) return memory && entry_.has_workspace;
    return memory || phase < kWorkspacePhase;
  }

  // False if breaking one rule would satisfy the other.
  bool CanBreakBoth(Phase first, Phase second) const {
    if (!CanBreak(first) || !CanBreak(second)) return false;
    if (first == kStridePhase && second == kEmptyPhase) return StaysNonempty(nonempty_tensor_);
    if (first == kSizePhase && second == kEmptyPhase) return StaysNonempty(large_tensor_);
    if (first == kPointerPhase && second == kOverlapPhase) {
      return nonempty_tensor_ != output_ && nonempty_tensor_ != other_tensor_;
    }
    return true;
  }

  void Break(Phase phase, TableCall* call) const {
    switch (phase) {
      case kNullPhase: call->tensor(spec_.tensor_count - 1).desc = nullptr; break;
      case kRankPhase: call->desc(0).dims[call->desc(0).rank++] = 1; break;
      case kTypePhase: call->desc(0).dtype = MLUOP_DTYPE_BOOL; break;
      case kLayoutPhase: call->desc(layout_).layout = MLUOP_LAYOUT_HWCN; break;
      case kAttributePhase:
        call->attribute(attribute_) = static_cast<double>(spec_.attributes[attribute_].min - 1);
        break;
      case kShapePhase: call->desc(fixed_.first).dims[fixed_.second] += 1; break;
      case kStridePhase: call->desc(nonempty_tensor_).strides[0] += 1; break;
      case kSizePhase:
        while (!IsTooLarge(call->desc(large_tensor_))) {
          call->Set(grown_symbol_, call->Get(grown_symbol_) * 2);
        }
        break;
      case kEmptyPhase: call->Set(zeroed_symbol_, 0); break;
      case kWorkspacePhase: call->arguments.workspace = {nullptr, 16}; break;
      case kPointerPhase: call->tensor(nonempty_tensor_).data = nullptr; break;
      case kOverlapPhase: call->tensor(other_tensor_).data = call->tensor(output_).data; break;
      case kPhaseCount: break;
    }
  }

 private:
  bool IsTooLarge(const mluOpTensorStruct& desc) const {
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (spec_.limited) return desc.ElementCount() >= kLimit;
    return *std::max_element(desc.dims, desc.dims + desc.rank) >= kLimit;
  }
  bool StaysNonempty(int t) const {
    return can_be_empty_ && !DependsOn(spec_.tensors[t], zeroed_symbol_);
  }

  // Chooses the symbol that, set to 0, makes the call return early and empties the fewest tensors.
  void ChooseEmpty() {
    int most = -1;
    for (const Variable& variable : VariablesOf(spec_)) {
      if (variable.kind != Factor::kSymbol) continue;
      int full = 0;
      bool ends = false;
      for (int t = 0; t < spec_.tensor_count; ++t) {
        const TensorSpec& row = spec_.tensors[t];
        full += !DependsOn(row, variable);
        ends = ends || (DependsOn(row, variable) && row.when_empty != kCompute);
      }
      if (!ends || full <= most) continue;
      most = full;
      zeroed_symbol_ = variable;
      can_be_empty_ = true;
    }
  }

  // Prefers a variable that grows only tensors that zeroed_symbol_ does not empty.
  void ChooseSize() {
    for (const Variable& variable : VariablesOf(spec_)) {
      // An attribute is at most INT32_MAX, so it makes a tensor too large and never a dim.
      if (variable.kind == Factor::kAttribute && !spec_.limited) continue;
      int first = -1;
      bool all_stay_nonempty = true;
      for (int t = 0; t < spec_.tensor_count; ++t) {
        if (!DependsOn(spec_.tensors[t], variable)) continue;
        if (first < 0) first = t;
        all_stay_nonempty = all_stay_nonempty && StaysNonempty(t);
      }
      if (large_tensor_ >= 0 && !all_stay_nonempty) continue;
      large_tensor_ = first;
      grown_symbol_ = variable;
    }
  }

  const Entry& entry_;
  const OpSpec& spec_;
  bool can_be_empty_ = false;
  Variable zeroed_symbol_ = {};
  Variable grown_symbol_ = {};
  int large_tensor_ = -1;     // grows with grown_symbol_
  int nonempty_tensor_ = -1;  // preferably a tensor that zeroed_symbol_ does not empty
  int layout_ = -1;           // has a layout rule
  int output_ = -1;
  int other_tensor_ = -1;      // not output_; with three tensors, not nonempty_tensor_ either
  int attribute_ = -1;         // has a minimum
  std::pair<int, int> fixed_;  // a tensor and a dim of it that other dims or attributes decide
};

// The status, and the message with its numbers replaced by #: sizes differ between the calls.
std::pair<mluOpStatus_t, std::string> StatusAndMessage(const Entry& entry,
                                                       const RuleBreaker& breaks,
                                                       std::initializer_list<Phase> phases) {
  TableCall call(entry);
  // Phases that change sizes are broken first: they reshape the whole call.
  for (const Phase phase : phases) {
    if (phase == kEmptyPhase) breaks.Break(phase, &call);
  }
  for (const Phase phase : phases) {
    if (phase == kSizePhase) breaks.Break(phase, &call);
  }
  for (const Phase phase : phases) {
    if (phase != kEmptyPhase && phase != kSizePhase) breaks.Break(phase, &call);
  }
  const Outcome outcome = call.Run();
  std::string message;
  for (const char c : outcome.message) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) message += c;
    if (digit && (message.empty() || message.back() != '#')) message += '#';
  }
  return {outcome.status, message};
}

class GeneratedOrder : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedOrder, ::testing::ValuesIn(AllEntries()), EntryName);

TEST_P(GeneratedOrder, EarlierPhaseIsReported) {
  const RuleBreaker breaks(entry());
  for (int first = 0; first < kPhaseCount; ++first) {
    for (int second = first + 1; second < kPhaseCount; ++second) {
      const auto early = static_cast<Phase>(first);
      const auto late = static_cast<Phase>(second);
      if (!breaks.CanBreakBoth(early, late)) continue;
      SCOPED_TRACE(std::string(kPhaseNames[early]) + " and " + kPhaseNames[late]);
      const auto early_alone = StatusAndMessage(entry(), breaks, {early});
      const auto late_alone = StatusAndMessage(entry(), breaks, {late});
      ASSERT_NE(early_alone, late_alone);
      EXPECT_EQ(StatusAndMessage(entry(), breaks, {early, late}), early_alone);
    }
  }
}

TEST(GeneratedOrderCoverage, EveryPairOfNeighbouringPhasesIsTested) {
  for (int phase = 0; phase + 1 < kPhaseCount; ++phase) {
    int observed = 0;
    for (const Entry& entry : AllEntries()) {
      observed +=
          RuleBreaker(entry).CanBreakBoth(static_cast<Phase>(phase), static_cast<Phase>(phase + 1));
    }
    EXPECT_GT(observed, 0) << kPhaseNames[phase] << " and " << kPhaseNames[phase + 1];
  }
}

}  // namespace
}  // namespace mluop::testing
