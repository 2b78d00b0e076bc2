// SPDX-License-Identifier: Apache-2.0
// Recording of calls on a CUDA device, also while a graph is captured. Skipped if no CUDA device is
// visible.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/handle.h"
#include "testing/npz_reader.h"
#include "tests/support/cuda_device_test.h"
#include "tests/support/folder.h"
#include "tests/support/recorded_files.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

constexpr int kCount = 6;

// Records a transposition, with its data, on a queue that wraps a CUDA stream.
class CudaRecording : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(mluOpCreateQueueFromCudaStream(&queue_, 0, stream_), MLUOP_STATUS_SUCCESS);
    ASSERT_EQ(mluOpCreate(&handle_), MLUOP_STATUS_SUCCESS);
    ASSERT_EQ(cnrtMalloc(&from_, sizeof(values_)), cnrtSuccess);
    ASSERT_EQ(cnrtMalloc(&to_, sizeof(values_)), cnrtSuccess);
    ASSERT_EQ(cnrtMemcpy(from_, values_, sizeof(values_), cnrtMemcpyHostToDev), cnrtSuccess);
    ASSERT_EQ(mluOpSetQueue(handle_, queue_), MLUOP_STATUS_SUCCESS);
    ASSERT_EQ(Call(), MLUOP_STATUS_SUCCESS);  // scratch cannot grow during a capture
    mluOpSetGenCaseDirectory(folder_.path().c_str());
    mluOpSetGenCaseMode(2);
  }
  void TearDown() override {
    mluOpSetGenCaseMode(0);
    if (handle_ != nullptr) {
      mluOpDestroy(handle_);
      cnrtFree(from_);
      cnrtFree(to_);
      cnrtQueueDestroy(queue_);
      cudaStreamDestroy(stream_);
    }
    CudaDeviceTest::TearDown();
  }
  mluOpStatus_t Call() const {
    const Descriptor input(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 2, 3});
    const Descriptor output(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {1, 3, 2});
    return mluOpTranspose(handle_, input, from_, output, to_);
  }

  const Folder folder_;
  float values_[kCount] = {1, 2, 3, 4, 5, 6};
  cudaStream_t stream_ = nullptr;
  cnrtQueue_t queue_ = nullptr;
  mluOpHandle_t handle_ = nullptr;
  void* from_ = nullptr;
  void* to_ = nullptr;
};

TEST_F(CudaRecording, DataComesFromTheDevice) {
  ASSERT_EQ(Call(), MLUOP_STATUS_SUCCESS);
  const NpzReader file(FileBelow(folder_.path(), ".npz").string());
  std::vector<float> values(kCount);
  file.Read(file.arrays().at(0), values.data(), sizeof(values_));
  EXPECT_EQ(values, std::vector<float>(values_, values_ + kCount));
}

TEST_F(CudaRecording, CapturedCallHasNoDataAndTheFileSaysSo) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(Call(), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);  // still a valid capture
  cudaGraphDestroy(graph);
  EXPECT_EQ(FilesBelow(folder_.path()), Files{"transpose/transpose_#.txt"});
  const std::string text = TextOf(FileBelow(folder_.path(), ".txt"));
  EXPECT_NE(text.find("\n# No data: the call was captured into a graph.\ntranspose N=1 A=2 B=3 "
                      "dtype=float\n"),
            std::string::npos)
      << text;
}

TEST_F(CudaRecording, CaptureOfAnotherStreamStaysValid) {
  ASSERT_EQ(mluOpSetQueue(handle_, nullptr), MLUOP_STATUS_SUCCESS);
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_TRUE(handle_->device->IsCapturing(nullptr));
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(blocking);
}

}  // namespace
}  // namespace mluop::testing
