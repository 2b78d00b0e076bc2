// SPDX-License-Identifier: Apache-2.0
// Empty tensors, workspaces, data pointers and alignment, for every table.
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

// The variables that may be 0: symbols, and attributes whose range includes 0.
std::vector<Variable> VariablesThatMayBeZero(const OpSpec& spec) {
  std::vector<Variable> found;
  for (const Variable& variable : VariablesOf(spec)) {
    if (variable.kind == Factor::kSymbol || spec.attributes[variable.index].min <= 0) {
      found.push_back(variable);
    }
  }
  return found;
}

Names EmptyTensors(TableCall& call, WhenEmpty rule) {
  Names names;
  for (int t = 0; t < call.spec().tensor_count; ++t) {
    WhenEmpty own = call.row(t).when_empty;
    if (own == kSkipRows) own = call.desc(t).dims[0] == 0 ? kSkip : kReject;
    if (own == rule && call.desc(t).ElementCount() == 0) names.emplace_back(call.row(t).name);
  }
  return names;
}

class GeneratedEmptyTensors : public EntryTest {
 protected:
  // Runs `test` on the valid call with every non-empty set of variables at 0.
  template <typename Test>
  void ForEachZeroSet(Test test) {
    const std::vector<Variable> variables = VariablesThatMayBeZero(spec());
    ASSERT_FALSE(variables.empty());
    for (unsigned choice = 1; choice < 1u << variables.size(); ++choice) {
      TableCall call(entry());
      std::string zeros;
      for (size_t i = 0; i < variables.size(); ++i) {
        if ((choice >> i & 1) == 0) continue;
        call.Set(variables[i], 0);
        zeros += std::string(NameOf(spec(), variables[i])) + " ";
      }
      SCOPED_TRACE("zero: " + zeros);
      test(call);
    }
  }

  void ExpectAsInTable(TableCall& call) {
    const Names rejected = EmptyTensors(call, kReject);
    const bool skipped_first = !EmptyTensors(call, kSkipFirst).empty();
    if (!skipped_first && !rejected.empty()) {
      ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, rejected, "0 elements");
    } else if (skipped_first || !EmptyTensors(call, kSkip).empty()) {
      ExpectNothingDone(call, entry());
    } else {
      ExpectAccepted(call, entry());
    }
  }
};
INSTANTIATE_TEST_SUITE_P(
    All, GeneratedEmptyTensors,
    ::testing::ValuesIn(Filter(AllEntries(),
                               [](auto& e) { return !VariablesThatMayBeZero(*e.spec).empty(); })),
    EntryName);

TEST_P(GeneratedEmptyTensors, ResultFollowsTheTable) {
  ForEachZeroSet([this](TableCall& call) { ExpectAsInTable(call); });
}

TEST_P(GeneratedEmptyTensors, NullPointerIsAllowed) {
  ForEachZeroSet([this](TableCall& call) {
    for (int t = 0; t < spec().tensor_count; ++t) {
      if (call.desc(t).ElementCount() == 0) call.tensor(t).data = nullptr;
    }
    ExpectAsInTable(call);
  });
}

TEST_P(GeneratedEmptyTensors, StridesAreIgnored) {
  ForEachZeroSet([this](TableCall& call) {
    for (int t = 0; t < spec().tensor_count; ++t) {
      if (call.desc(t).ElementCount() != 0) continue;
      for (int d = 0; d < call.row(t).rank; ++d) call.desc(t).strides[d] = -3;
    }
    ExpectAsInTable(call);
  });
}

// The rule on empty tensors precedes the rules on workspace and pointers.
TEST_P(GeneratedEmptyTensors, AreCheckedBeforePointers) {
  ForEachZeroSet([this](TableCall& call) {
    const bool computes = EmptyTensors(call, kSkipFirst).empty() &&
                          EmptyTensors(call, kReject).empty() && EmptyTensors(call, kSkip).empty();
    if (computes) return;
    for (int t = 0; t < spec().tensor_count; ++t) call.tensor(t).data = nullptr;
    call.arguments.workspace = {nullptr, 16};
    ExpectAsInTable(call);
  });
}

TEST_P(GeneratedEmptyTensors, OverlapIsIgnored) {
  ForEachZeroSet([this](TableCall& call) {
    for (int t = 0; t < spec().tensor_count; ++t) {
      if (call.desc(t).ElementCount() != 0) continue;
      for (int other = 0; other < spec().tensor_count; ++other) {
        if (call.desc(other).ElementCount() == 0) continue;
        call.tensor(t).data = static_cast<std::byte*>(call.tensor(other).data) + 4;
      }
    }
    ExpectAsInTable(call);
  });
}

class GeneratedGetters : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedGetters,
                         ::testing::ValuesIn(Filter(AllEntries(),
                                                    [](auto& e) { return e.getter != nullptr; })),
                         EntryName);

TEST_P(GeneratedGetters, NullSizePointerReturnsBadParam) {
  TableCall call(entry());
  call.size_pointer = nullptr;
  ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {"workspace_size"}, "NULL");
}

class GeneratedPointers : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedPointers, ::testing::ValuesIn(OperatorEntries()), EntryName);

TEST_P(GeneratedPointers, NullReturnsBadParam) {
  ForEachTensor([](TableCall& call, int t) {
    call.tensor(t).data = nullptr;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name)}, "NULL");
  });
}

TEST_P(GeneratedPointers, MisalignedAddressReturnsBadParam) {
  ForEachTensor([](TableCall& call, int t) {
    call.tensor(t).data = call.spare() + 1;
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {std::string(call.row(t).name)});
    EXPECT_TRUE(LastMessageHas(" must be aligned to its element size")) << LastMessage();
  });
}

class GeneratedWorkspaces : public EntryTest {
 protected:
  size_t WantedSize(const TableCall& call) const {
    size_t size = 0;
    if (entry().test->workspace_size == nullptr) return 1024;
    EXPECT_EQ(entry().test->workspace_size(call.handle, call.arguments, &size),
              MLUOP_STATUS_SUCCESS);
    return size;
  }
};
INSTANTIATE_TEST_SUITE_P(All, GeneratedWorkspaces,
                         ::testing::ValuesIn(Filter(OperatorEntries(),
                                                    [](auto& e) { return e.has_workspace; })),
                         EntryName);

TEST_P(GeneratedWorkspaces, SizeWithoutPointerReturnsBadParam) {
  for (const size_t size : {size_t{1}, size_t{1024}, SIZE_MAX}) {
    TableCall call(entry());
    call.arguments.workspace = {nullptr, size};
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {"workspace"}, "NULL");
  }
}

TEST_P(GeneratedWorkspaces, AnyPointerOfSizeZeroSucceeds) {
  TableCall call(entry());
  for (void* pointer : {static_cast<void*>(nullptr), reinterpret_cast<void*>(1),
                        call.tensor(spec().tensor_count - 1).data}) {
    call.arguments.workspace = {pointer, 0};
    ExpectAccepted(call, entry());
  }
}

// The workspace may be written, so it lies outside the memory that is compared.
TEST_P(GeneratedWorkspaces, AnySizeAndAlignmentSucceeds) {
  TableCall call(entry());
  const size_t wanted = WantedSize(call);
  std::vector<std::byte> memory(wanted + 64);
  for (const size_t size : {size_t{1}, wanted / 2, wanted, wanted + 1}) {
    for (const size_t offset : {0, 1, 63}) {
      call.arguments.workspace = {memory.data() + offset, size};
      ExpectAccepted(call, entry());
    }
  }
}

}  // namespace
}  // namespace mluop::testing
