// SPDX-License-Identifier: Apache-2.0
// The API on a CUDA device: streams, graphs, device memory. Skipped if no CUDA device is visible.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/cuda_device_test.h"
#include "tests/support/tensors.h"

namespace mluop::testing {
namespace {

// masked_col2im of one channel to one row of pixels: mask m writes pixel size-1-m. It uses scratch
// if the row has at least kWithScratch pixels.
constexpr int kWithScratch = 30000;

class Scatter {
 public:
  explicit Scatter(int size)
      : size_(size),
        col_(Array({1, size})),
        at_(Array({size}, MLUOP_DTYPE_INT32)),
        im_(Nchw({1, 1, 1, size})) {
    std::vector<float> values(size);
    std::vector<int> zeros(size), columns(size);
    for (int i = 0; i < size; ++i) {
      values[i] = static_cast<float>(i + 1);
      columns[i] = size - 1 - i;
    }
    Upload(values.data(), &col_data_);
    Upload(zeros.data(), &rows_);
    Upload(columns.data(), &columns_);
    EXPECT_EQ(cnrtMalloc(&im_data_, 4 * static_cast<size_t>(size)), cnrtSuccess);
    Clear();
  }
  ~Scatter() {
    for (void* pointer : {col_data_, rows_, columns_, im_data_}) cnrtFree(pointer);
  }
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;

  mluOpStatus_t Run(mluOpHandle_t handle) const {
    return mluOpMaskedCol2imForward(handle, col_, col_data_, at_, rows_, at_, columns_, 0, nullptr,
                                    im_, im_data_);
  }
  void Clear() { EXPECT_EQ(cnrtMemset(im_data_, 0xff, 4 * static_cast<size_t>(size_)), 0); }
  // Waits for the device.
  bool IsCorrect() const {
    std::vector<float> result(size_);
    EXPECT_EQ(cnrtSyncDevice(), cnrtSuccess);
    EXPECT_EQ(cnrtMemcpy(result.data(), im_data_, 4 * result.size(), cnrtMemcpyDevToHost), 0);
    for (int i = 0; i < size_; ++i) {
      if (result[i] != static_cast<float>(size_ - i)) return false;
    }
    return true;
  }

 private:
  void Upload(void* from, void** to) {
    EXPECT_EQ(cnrtMalloc(to, 4 * static_cast<size_t>(size_)), cnrtSuccess);
    EXPECT_EQ(cnrtMemcpy(*to, from, 4 * static_cast<size_t>(size_), cnrtMemcpyHostToDev), 0);
  }

  int size_;
  Tensor col_, at_, im_;
  void* col_data_ = nullptr;
  void* rows_ = nullptr;
  void* columns_ = nullptr;
  void* im_data_ = nullptr;
};

// A stream of the caller, and the queue that wraps it.
class Stream {
 public:
  Stream() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(mluOpCreateQueueFromCudaStream(&queue_, 0, stream_), MLUOP_STATUS_SUCCESS);
  }
  ~Stream() {
    EXPECT_EQ(cnrtQueueDestroy(queue_), cnrtSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);  // the queue does not own it
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  cnrtQueue_t queue() const { return queue_; }
  bool Idle() const { return cudaStreamQuery(stream_) == cudaSuccess; }

  // Blocks the stream until `open` is true.
  void Block(std::atomic<bool>* open) const {
    const auto wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    EXPECT_EQ(cudaLaunchHostFunc(stream_, wait, open), cudaSuccess);
  }

 private:
  cudaStream_t stream_ = nullptr;
  cnrtQueue_t queue_ = nullptr;
};

TEST_F(CudaDeviceTest, CallReturnsBeforeTheWorkIsDone) {
  const Handle handle;
  const Stream stream;
  Scatter scatter(kWithScratch);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);  // the first call allocates
  ASSERT_TRUE(scatter.IsCorrect());
  scatter.Clear();
  std::atomic<bool> open = false;
  stream.Block(&open);
  ASSERT_EQ(mluOpSetQueue(handle, stream.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_FALSE(stream.Idle());
  open = true;
  EXPECT_TRUE(scatter.IsCorrect());
}

TEST_F(CudaDeviceTest, CallKeepsTheCurrentCudaDevice) {
  const Handle handle;
  const Scatter scatter(10);
  int before = -1, after = -2;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(before, after);
}

TEST_F(CudaDeviceTest, NewQueueWaitsForTheScratchOfTheOldOne) {
  const Handle handle;
  const Stream first, second;
  Scatter a(kWithScratch), b(kWithScratch);
  ASSERT_EQ(a.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_TRUE(a.IsCorrect());
  std::atomic<bool> open = false;
  first.Block(&open);
  ASSERT_EQ(mluOpSetQueue(handle, first.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(a.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetQueue(handle, second.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(b.Run(handle), MLUOP_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(second.Idle());
  open = true;
  EXPECT_TRUE(b.IsCorrect());
  EXPECT_TRUE(a.IsCorrect());
}

// Captures the call of `handle` on `stream`.
cudaGraphExec_t Capture(const Stream& stream, mluOpHandle_t handle, const Scatter& scatter) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS) << LastMessage();
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return executable;
}

TEST_F(CudaDeviceTest, CapturedCallReplaysAfterTheScratchGrew) {
  const Handle handle;
  const Stream stream;
  Scatter small(kWithScratch), large(1000000);
  ASSERT_EQ(mluOpSetQueue(handle, stream.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(small.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_TRUE(small.IsCorrect());
  const cudaGraphExec_t graph = Capture(stream, handle, small);
  ASSERT_EQ(large.Run(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(large.IsCorrect());
  for (int replay = 0; replay < 3; ++replay) {
    small.Clear();
    ASSERT_EQ(cudaGraphLaunch(graph, stream.get()), cudaSuccess);
    EXPECT_TRUE(small.IsCorrect());
  }
  cudaGraphExecDestroy(graph);
}

TEST_F(CudaDeviceTest, ScratchDoesNotGrowDuringACapture) {
  const Handle handle;
  const Stream stream;
  Scatter scatter(100000);
  ASSERT_EQ(mluOpSetQueue(handle, stream.queue()), MLUOP_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(scatter.Run(handle), MLUOP_STATUS_ALLOC_FAILED);
  EXPECT_TRUE(LastMessageHas("masked_col2im_forward: scratch must not grow")) << LastMessage();
  EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);  // still a valid capture
  cudaGraphDestroy(graph);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(scatter.IsCorrect());
}

TEST_F(CudaDeviceTest, CaptureOnAnotherQueueSucceeds) {
  const Handle handle;
  const Stream first, second;
  Scatter scatter(kWithScratch);
  ASSERT_EQ(mluOpSetQueue(handle, first.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetQueue(handle, second.queue()), MLUOP_STATUS_SUCCESS);
  const cudaGraphExec_t graph = Capture(second, handle, scatter);
  scatter.Clear();
  ASSERT_EQ(cudaGraphLaunch(graph, second.get()), cudaSuccess);
  EXPECT_TRUE(scatter.IsCorrect());
  ASSERT_EQ(mluOpSetQueue(handle, first.queue()), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(scatter.Run(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(scatter.IsCorrect());
  cudaGraphExecDestroy(graph);
}

TEST_F(CudaDeviceTest, HandlesOfSeveralThreadsRunConcurrently) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  int ordinal = 0;
  cnrtGetDevice(&ordinal);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      cnrtSetDevice(ordinal);
      const Handle handle;
      const Stream stream;
      mluOpSetQueue(handle, stream.queue());
      Scatter scatter(kWithScratch * (i + 1));
      for (int round = 0; round < 50; ++round) {
        scatter.Clear();
        cudaDeviceSynchronize();  // the fill is on the default stream
        if (scatter.Run(handle) != MLUOP_STATUS_SUCCESS || !scatter.IsCorrect()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaDeviceTest, NoMemoryReturnsAllocFailedAndTheNextCallSucceeds) {
  const Handle handle;
  Scatter small(100), large(10000000);
  ASSERT_EQ(small.Run(handle), MLUOP_STATUS_SUCCESS);
  ASSERT_TRUE(small.IsCorrect());
  std::vector<void*> blocks;
  for (size_t bytes = size_t{64} << 30; bytes >= (size_t{1} << 20);) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaSuccess) {
      blocks.push_back(block);
    } else {
      bytes /= 2;
    }
  }
  static_cast<void>(cudaGetLastError());
  EXPECT_EQ(large.Run(handle), MLUOP_STATUS_ALLOC_FAILED);
  EXPECT_TRUE(LastMessageHas("masked_col2im_forward: scratch")) << LastMessage();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(small.Run(handle), MLUOP_STATUS_SUCCESS);
  for (void* block : blocks) cudaFree(block);
  EXPECT_TRUE(small.IsCorrect());
  EXPECT_EQ(large.Run(handle), MLUOP_STATUS_SUCCESS);
  EXPECT_TRUE(large.IsCorrect());
}

TEST_F(CudaDeviceTest, QueueOfAnotherDeviceReturnsBadParam) {
  int ordinal = 0;
  cnrtGetDevice(&ordinal);
  const Handle handle;
  cnrtQueue_t queue = nullptr;
  ASSERT_EQ(cnrtSetDevice(0), cnrtSuccess);
  ASSERT_EQ(cnrtQueueCreate(&queue), cnrtSuccess);
  EXPECT_EQ(mluOpSetQueue(handle, queue), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(LastMessage(),
            "mluOpSetQueue: queue must be on the handle's device cuda:0, got a queue of cpu");
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtSuccess);
  cnrtSetDevice(ordinal);
}

TEST_F(CudaDeviceTest, NotifiersTimeAQueue) {
  cnrtQueue_t queue = nullptr;
  cnrtNotifier_t start = nullptr, end = nullptr;
  ASSERT_EQ(cnrtQueueCreate(&queue), cnrtSuccess);
  ASSERT_EQ(cnrtNotifierCreate(&start), cnrtSuccess);
  ASSERT_EQ(cnrtNotifierCreate(&end), cnrtSuccess);
  void* memory = nullptr;
  constexpr size_t kBytes = size_t{64} << 20;
  ASSERT_EQ(cnrtMalloc(&memory, kBytes), cnrtSuccess);
  EXPECT_EQ(cnrtPlaceNotifier(start, queue), cnrtSuccess);
  EXPECT_EQ(cnrtMemsetAsync(memory, 7, kBytes, queue), cnrtSuccess);
  EXPECT_EQ(cnrtPlaceNotifier(end, queue), cnrtSuccess);
  EXPECT_EQ(cnrtWaitNotifier(end), cnrtSuccess);
  float us = 0;
  EXPECT_EQ(cnrtNotifierDuration(start, end, &us), cnrtSuccess);
  EXPECT_GT(us, 0);
  EXPECT_EQ(cnrtFree(memory), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDestroy(start), cnrtSuccess);
  EXPECT_EQ(cnrtNotifierDestroy(end), cnrtSuccess);
  EXPECT_EQ(cnrtQueueDestroy(queue), cnrtSuccess);
}

}  // namespace
}  // namespace mluop::testing
