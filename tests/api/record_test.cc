// SPDX-License-Identifier: Apache-2.0
// Recording of calls: modes, files, failures. tests/python/test_record.py replays a
// training step.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/operator.h"
#include "testing/case.h"
#include "testing/npz_reader.h"
#include "tests/faults/failing_device.h"
#include "tests/support/folder.h"
#include "tests/support/recorded_files.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;
constexpr char kCase[] = "transpose N=2 A=12 B=15 dtype=float";

class Recording : public OperatorFixture {
 protected:
  Recording() : x_(Array({2, 12, 15})), y_(Array({2, 15, 12})) {
    for (int i = 0; i < 2 * 12 * 15; ++i) x_.as<float>()[i] = static_cast<float>(i);
    EXPECT_EQ(mluOpSetGenCaseDirectory(folder_.path().c_str()), MLUOP_STATUS_SUCCESS);
  }
  ~Recording() override {
    mluOpSetGenCaseMode(0);
    mluOpSetGenCaseDirectory("gen_case");
  }

  mluOpStatus_t Call() const { return mluOpTranspose(handle_, x_, x_.data(), y_, y_.data()); }
  // Calls the operator in this recording mode. Returns the text on stderr.
  std::string CallInMode(int mode) {
    mluOpSetGenCaseMode(mode);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(Call(), MLUOP_STATUS_SUCCESS);
    return ::testing::internal::GetCapturedStderr();
  }

  const Folder folder_;
  const Tensor x_, y_;
};

TEST_F(Recording, Mode1WritesACaseLine) {
  EXPECT_EQ(CallInMode(1), "");
  EXPECT_EQ(FilesBelow(folder_.path()), Files{"transpose/transpose_#.txt"});
  const std::vector<CaseLine> lines = ParseCases(TextOf(FileBelow(folder_.path(), ".txt")));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].line, kCase);
}

TEST_F(Recording, Mode2WritesTheInputsToo) {
  EXPECT_EQ(CallInMode(2), "");
  EXPECT_EQ(FilesBelow(folder_.path()),
            (Files{"transpose/transpose_#.txt", "transpose/transpose_#.npz"}));
  const fs::path text = FileBelow(folder_.path(), ".txt");
  const fs::path data = FileBelow(folder_.path(), ".npz");
  EXPECT_EQ(fs::path(text).replace_extension(".npz"), data);
  EXPECT_EQ(ParseCases(TextOf(text)).at(0).line, std::string(kCase) + " data=file");
  const NpzReader file(data.string());
  ASSERT_EQ(file.arrays().size(), 1u);
  EXPECT_EQ(file.arrays()[0].name, "input");
  std::vector<float> values(2 * 12 * 15);
  file.Read(file.arrays()[0], values.data(), 4 * values.size());
  EXPECT_EQ(std::memcmp(values.data(), x_.data(), x_.bytes()), 0);
}

TEST_F(Recording, DataOfSeveralChunksIsWhole) {
  const Tensor large = Array({1, 1000, 700}), output = Array({1, 700, 1000});  // 2.8 MB
  for (int i = 0; i < 700000; ++i) large.as<float>()[i] = static_cast<float>(i);
  mluOpSetGenCaseMode(2);
  ASSERT_EQ(mluOpTranspose(handle_, large, large.data(), output, output.data()), 0);
  const NpzReader file(FileBelow(folder_.path(), ".npz").string());
  std::vector<float> values(700000);
  file.Read(file.arrays().at(0), values.data(), 4 * values.size());
  EXPECT_EQ(std::memcmp(values.data(), large.data(), large.bytes()), 0);
}

TEST_F(Recording, Mode3PrintsTheCaseLineOnly) {
  const std::string printed = CallInMode(3);
  EXPECT_EQ(printed, std::string(kCase) + "  # recorded on cpu\n");
  EXPECT_TRUE(FilesBelow(folder_.path()).empty());
}

TEST_F(Recording, OtherModesAreOff) {
  for (const int mode : {0, -1, 4, 1000}) EXPECT_EQ(CallInMode(mode), "");
  EXPECT_TRUE(FilesBelow(folder_.path()).empty());
}

TEST_F(Recording, RefusedAndEmptyCallsAreNotRecorded) {
  const Tensor no_x = Array({0, 12, 15}), no_y = Array({0, 15, 12});
  mluOpSetGenCaseMode(2);
  EXPECT_EQ(mluOpTranspose(handle_, x_, x_.data(), no_y, y_.data()), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpTranspose(handle_, no_x, nullptr, no_y, nullptr), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(FilesBelow(folder_.path()).empty());
}

TEST_F(Recording, ExistingFilesStay) {
  CallInMode(2);
  const fs::path first = FileBelow(folder_.path(), ".txt");
  const std::string stem = first.stem().string();
  const size_t number = stem.rfind('_') + 1;
  const fs::path taken =
      first.parent_path() /
      (stem.substr(0, number) + std::to_string(std::stoi(stem.substr(number)) + 1) + ".txt");
  std::ofstream(taken) << "mine";
  CallInMode(2);
  EXPECT_EQ(TextOf(taken), "mine");
  EXPECT_EQ(FilesBelow(folder_.path()).size(), 5u);  // two calls, and the existing file
}

TEST_F(Recording, DoesNotChangeOutputs) {
  ASSERT_EQ(Call(), MLUOP_STATUS_SUCCESS);
  const std::string expected(y_.as<char>(), y_.bytes());
  std::memset(y_.data(), 0xff, y_.bytes());
  CallInMode(2);
  EXPECT_EQ(std::string(y_.as<char>(), y_.bytes()), expected);
}

TEST_F(Recording, DirectoryThatCannotBeCreatedIsReported) {
  std::ofstream(folder_ / "file") << "";
  const std::string folder = (folder_ / "file") + "/below";
  ASSERT_EQ(mluOpSetGenCaseDirectory(folder.c_str()), MLUOP_STATUS_SUCCESS);
  const std::string before = LastMessage();
  EXPECT_EQ(CallInMode(2), "mluops: recording transpose: cannot write " + folder +
                               "/transpose: Not a directory\n");
  EXPECT_EQ(LastMessage(), before);
}

TEST_F(Recording, DirectoryWithoutWritePermissionIsReported) {
  fs::create_directory(folder_ / "transpose");
  ASSERT_EQ(chmod((folder_ / "transpose").c_str(), 0500), 0);
  const bool is_root = geteuid() == 0;  // root may write everywhere
  if (is_root && seteuid(kNobody) != 0) GTEST_SKIP() << "root may not change its identity";
  const std::string printed = CallInMode(1);
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_NE(printed.find(": Permission denied\n"), std::string::npos) << printed;
  EXPECT_TRUE(FilesBelow(folder_.path()).empty());
}

// Limits the size of the files that the process writes, until it is destroyed.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit = {bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_;
};

TEST_F(Recording, DataThatDoesNotFitIsReportedAndTheLineIsKept) {
  std::string printed;
  {
    const FileSizeLimit limit(1000);  // the line fits, the data does not
    printed = CallInMode(2);
  }
  EXPECT_EQ(FilesBelow(folder_.path()), Files{"transpose/transpose_#.txt"});
  const std::string text = TextOf(FileBelow(folder_.path(), ".txt"));
  EXPECT_NE(text.find("\n# No data: File too large.\n" + std::string(kCase) + "\n"),
            std::string::npos)
      << text;
  EXPECT_NE(printed.find(".npz: File too large\n"), std::string::npos) << printed;
}

TEST_F(Recording, LineThatDoesNotFitLeavesNoFile) {
  std::string with_data, without;
  {
    const FileSizeLimit limit(60);  // also of the captured stderr
    with_data = CallInMode(2);
    without = CallInMode(1);
  }
  EXPECT_TRUE(FilesBelow(folder_.path()).empty());
  EXPECT_EQ(with_data.find("mluops: recording transpose: cannot write /"), 0u) << with_data;
  EXPECT_EQ(without.find("mluops: recording transpose: cannot write /"), 0u) << without;
}

constexpr Operator kOperator = {
    OpSpec("recorded", kFloat, {},
           {{"x", kIn, kT, kAnyLayout, "N", kSkip}, {"y", kOut, kT, kAnyLayout, "N", kSkip}})};

TEST_F(Recording, FailedCopyFromTheDeviceIsReported) {
  const Tensor x = Array({3}), y = Array({3});
  FailingDevice device(cnrtErrorUnknown);
  Device* const cpu = std::exchange(handle_.get()->device, &device);
  mluOpSetGenCaseMode(2);
  ::testing::internal::CaptureStderr();
  const mluOpStatus_t status = Execute(kOperator, handle_, {}, {{x, x.data()}, {y, y.data()}});
  handle_.get()->device = cpu;
  EXPECT_EQ(status, MLUOP_STATUS_EXECUTION_FAILED);  // the device's own result
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cnrtErrorUnknown"), std::string::npos);
  EXPECT_EQ(FilesBelow(folder_.path()), Files{"recorded/recorded_#.txt"});
}

}  // namespace
}  // namespace mluop::testing
