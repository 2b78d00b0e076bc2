// SPDX-License-Identifier: Apache-2.0
// For every table: an output that shares a byte with an input, another output or the workspace is
// rejected; adjacent tensors are accepted.
#include "tests/validation/table_call.h"

namespace mluop::testing {
namespace {

class GeneratedOverlap : public EntryTest {
 protected:
  // Runs test(call, output, other) for each pair of an output and another tensor. The output lies
  // in the spare memory, with space for the other tensor before and after it.
  template <typename Test>
  void ForEachPair(Test test) {
    for (int output = 0; output < spec().tensor_count; ++output) {
      for (int other = 0; other < spec().tensor_count; ++other) {
        if (spec().tensors[output].direction != kOut || other == output) continue;
        SCOPED_TRACE(std::string(spec().tensors[output].name) + " and " +
                     std::string(spec().tensors[other].name));
        TableCall call(entry());
        ASSERT_LE(call.tensor(output).ByteCount() + 2 * call.tensor(other).ByteCount() + 128,
                  TableCall::kSpareBytes);
        const size_t before = (call.tensor(other).ByteCount() + 63) / 64 * 64;
        call.tensor(output).data = call.spare() + before;
        test(call, output, other);
      }
    }
  }

  static std::byte* Begin(TableCall& call, int t) {
    return static_cast<std::byte*>(call.tensor(t).data);
  }
  static std::byte* End(TableCall& call, int t) { return Begin(call, t) + Size(call, t); }
  static ptrdiff_t Size(TableCall& call, int t) {
    return static_cast<ptrdiff_t>(call.tensor(t).ByteCount());
  }

  static void ExpectOverlap(TableCall& call, int output, std::string_view other) {
    const std::string name(call.row(output).name);
    ExpectRejected(call, MLUOP_STATUS_BAD_PARAM, {name, std::string(other)});
    const std::string message = call.Run().message;
    const bool forward =
        message.find(" got an overlap with " + std::string(other)) != std::string::npos;
    const bool backward = message.find(" got an overlap with " + name) != std::string::npos;
    EXPECT_TRUE(forward || backward) << message;
  }
};
INSTANTIATE_TEST_SUITE_P(All, GeneratedOverlap, ::testing::ValuesIn(OperatorEntries()), EntryName);

TEST_P(GeneratedOverlap, SameAddressReturnsBadParam) {
  ForEachPair([](TableCall& call, int output, int other) {
    call.tensor(other).data = call.tensor(output).data;
    ExpectOverlap(call, output, call.row(other).name);
  });
}

TEST_P(GeneratedOverlap, SharedLastByteReturnsBadParam) {
  ForEachPair([](TableCall& call, int output, int other) {
    call.tensor(other).data = End(call, output) - 1;
    ExpectOverlap(call, output, call.row(other).name);
  });
}

TEST_P(GeneratedOverlap, SharedFirstByteReturnsBadParam) {
  ForEachPair([](TableCall& call, int output, int other) {
    call.tensor(other).data = Begin(call, output) - Size(call, other) + 1;
    ExpectOverlap(call, output, call.row(other).name);
  });
}

TEST_P(GeneratedOverlap, NestedTensorReturnsBadParam) {
  ForEachPair([](TableCall& call, int output, int other) {
    call.tensor(other).data = Begin(call, output) + (Size(call, output) - Size(call, other)) / 2;
    ExpectOverlap(call, output, call.row(other).name);
  });
}

TEST_P(GeneratedOverlap, TensorRightAfterTheOutputSucceeds) {
  ForEachPair([this](TableCall& call, int output, int other) {
    call.Move(other, End(call, output));
    ExpectAccepted(call, entry());
  });
}

TEST_P(GeneratedOverlap, TensorRightBeforeTheOutputSucceeds) {
  ForEachPair([this](TableCall& call, int output, int other) {
    call.Move(other, Begin(call, output) - Size(call, other));
    ExpectAccepted(call, entry());
  });
}

class GeneratedInputs : public EntryTest {};
INSTANTIATE_TEST_SUITE_P(All, GeneratedInputs, ::testing::ValuesIn(OperatorEntries()), EntryName);

TEST_P(GeneratedInputs, OverlappingInputsSucceed) {
  for (int t = 0; t < spec().tensor_count; ++t) {
    TableCall call(entry());
    if (call.row(t).direction != kIn) continue;
    for (int other = 0; other < spec().tensor_count; ++other) {
      if (call.row(other).direction != kIn) continue;
      const bool fits = call.tensor(other).ByteCount() <= call.tensor(t).ByteCount();
      if (fits) call.tensor(other).data = call.tensor(t).data;
    }
    ExpectAccepted(call, entry());
  }
}

class GeneratedWorkspaceOverlap : public GeneratedOverlap {
 protected:
  static constexpr size_t kSize = 48;
  static void PutWorkspace(TableCall* call, std::byte* data) {
    call->arguments.workspace = {data, kSize};
  }
  // Runs test(call, output) for each output, with space around it.
  template <typename Test>
  void ForEachOutput(Test test) {
    ForEachTensor([&](TableCall& call, int t) {
      if (call.row(t).direction != kOut) return;
      call.tensor(t).data = call.spare() + 64;
      test(call, t);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(All, GeneratedWorkspaceOverlap,
                         ::testing::ValuesIn(Filter(OperatorEntries(),
                                                    [](auto& e) { return e.has_workspace; })),
                         EntryName);

TEST_P(GeneratedWorkspaceOverlap, SharedLastByteReturnsBadParam) {
  ForEachOutput([](TableCall& call, int output) {
    PutWorkspace(&call, End(call, output) - 1);
    ExpectOverlap(call, output, "workspace");
  });
}

TEST_P(GeneratedWorkspaceOverlap, SharedFirstByteReturnsBadParam) {
  ForEachOutput([](TableCall& call, int output) {
    PutWorkspace(&call, Begin(call, output) - kSize + 1);
    ExpectOverlap(call, output, "workspace");
  });
}

TEST_P(GeneratedWorkspaceOverlap, OutputInsideTheWorkspaceReturnsBadParam) {
  ForEachOutput([](TableCall& call, int output) {
    call.arguments.workspace = {call.spare(), TableCall::kSpareBytes};
    ExpectOverlap(call, output, "workspace");
  });
}

TEST_P(GeneratedWorkspaceOverlap, WorkspaceRightAfterTheOutputSucceeds) {
  ForEachOutput([this](TableCall& call, int output) {
    PutWorkspace(&call, End(call, output));
    ExpectAccepted(call, entry());
  });
}

TEST_P(GeneratedWorkspaceOverlap, WorkspaceRightBeforeTheOutputSucceeds) {
  ForEachOutput([this](TableCall& call, int output) {
    PutWorkspace(&call, Begin(call, output) - kSize);
    ExpectAccepted(call, entry());
  });
}

}  // namespace
}  // namespace mluop::testing
