// SPDX-License-Identifier: Apache-2.0
// The directory of recorded calls, and the environment variables of recording.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/recorded_files.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

namespace fs = std::filesystem;

TEST(GenCaseDirectory, BufferMustHoldThePath) {
  ASSERT_EQ(mluOpSetGenCaseDirectory("/some/where"), MLUOP_STATUS_SUCCESS);
  char buffer[12] = "";
  size_t length = 0;
  mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
  EXPECT_EQ(mluOpGetGenCaseDirectory(buffer, sizeof(buffer), &length, &status), buffer);
  EXPECT_STREQ(buffer, "/some/where");
  EXPECT_EQ(length, 11u);
  EXPECT_EQ(status, MLUOP_STATUS_SUCCESS);
  buffer[0] = '?';
  length = 0;
  EXPECT_EQ(mluOpGetGenCaseDirectory(buffer, 11, &length, &status), nullptr);
  EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(), "mluOpGetGenCaseDirectory: bufferSize must be at least 12, got 11");
  EXPECT_EQ(length, 11u);
  EXPECT_EQ(buffer[0], '?');
  char* const allocated = const_cast<char*>(mluOpGetGenCaseDirectory(nullptr, 0, nullptr, nullptr));
  EXPECT_STREQ(allocated, "/some/where");
  free(allocated);
  mluOpSetGenCaseDirectory("gen_case");
}

TEST(GenCaseDirectory, WrongPathsAreRefusedAndChangeNothing) {
  ASSERT_EQ(mluOpSetGenCaseDirectory("/before"), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpSetGenCaseDirectory(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(), "mluOpSetGenCaseDirectory: path must be a pointer, got NULL");
  EXPECT_EQ(mluOpSetGenCaseDirectory(""), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpSetGenCaseDirectory(std::string(3841, 'a').c_str()), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(),
            "mluOpSetGenCaseDirectory: path must have 1 to 3840 characters, got more");
  char buffer[16];
  EXPECT_STREQ(mluOpGetGenCaseDirectory(buffer, sizeof(buffer), nullptr, nullptr), "/before");
  EXPECT_EQ(mluOpSetGenCaseDirectory(std::string(3840, 'a').c_str()), MLUOP_STATUS_SUCCESS);
  mluOpSetGenCaseDirectory("gen_case");
}

// The files that one call in a child process records with these variables.
Files FilesOfChild(const Folder& folder, std::vector<std::string> variables) {
  variables.push_back("MLUOP_GEN_CASE_DIR=" + (folder / "a/b"));
  const ChildResult child = RunChild("without_argmax", variables);
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, "");
  return FilesBelow(folder.path());
}

const std::string kText = "a/b/roiaware_pool3d_forward/roiaware_pool3d_forward_#.txt";
const std::string kData = "a/b/roiaware_pool3d_forward/roiaware_pool3d_forward_#.npz";

TEST(GenCaseVariables, SelectModeAndDirectory) {
  EXPECT_EQ(FilesOfChild(Folder(), {"MLUOP_GEN_CASE=1"}), Files{kText});
  EXPECT_EQ(FilesOfChild(Folder(), {"MLUOP_GEN_CASE=2"}), (Files{kText, kData}));
  for (const char* off : {"0", "", "4", "-1", "2x", "on"}) {
    EXPECT_EQ(FilesOfChild(Folder(), {std::string("MLUOP_GEN_CASE=") + off}), Files{}) << off;
  }
  EXPECT_EQ(FilesOfChild(Folder(), {}), Files{});
}

TEST(GenCaseVariables, SelectOperators) {
  struct Row {
    const char* names;
    bool recorded;
  };
  for (const Row& row :
       {Row{"", true}, Row{"roiaware_pool3d_forward", true}, Row{"transpose", false},
        Row{"transpose;roiaware_pool3d_forward", true}, Row{"-roiaware_pool3d_forward", false},
        Row{"-transpose;-roiaware_pool3d_backward", true}, Row{"roiaware_pool3d", false},
        Row{"-transpose;-roiaware_pool3d_forward", false}, Row{";;", true}}) {
    const auto files = FilesOfChild(
        Folder(), {"MLUOP_GEN_CASE=1", std::string("MLUOP_GEN_CASE_OP_NAME=") + row.names});
    EXPECT_EQ(files, row.recorded ? Files{kText} : Files{}) << row.names;
  }
}

TEST(GenCaseVariables, MalformedValuesAreReportedInTheLog) {
  const Folder folder;
  const std::string directory = "MLUOP_GEN_CASE_DIR=" + folder.path();
  const std::string mode =
      RunChild("without_argmax", {"MLUOP_VERBOSE=1", directory, "MLUOP_GEN_CASE=on"}).errors;
  EXPECT_NE(mode.find("# MLUOP_GEN_CASE must be 0, 1, 2 or 3, got on; it is ignored\n"),
            std::string::npos)
      << mode;
  const std::string name =
      RunChild("without_argmax", {"MLUOP_VERBOSE=1", directory, "MLUOP_GEN_CASE=1",
                                  "MLUOP_GEN_CASE_OP_NAME=-roiaware"})
          .errors;
  EXPECT_NE(name.find("# MLUOP_GEN_CASE_OP_NAME must be a list of operators, got roiaware;"),
            std::string::npos)
      << name;
  EXPECT_EQ(FilesBelow(folder.path()).size(), 1u);
}

TEST(GenCaseVariables, DefaultDirectoryIsGenCase) {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(RunChild("without_argmax", {"MLUOP_GEN_CASE=1"}).status, 0);
  fs::current_path(before);
  EXPECT_EQ(FilesBelow(folder.path()),
            Files{"gen_case/roiaware_pool3d_forward/roiaware_pool3d_forward_#.txt"});
}

}  // namespace
}  // namespace mluop::testing
