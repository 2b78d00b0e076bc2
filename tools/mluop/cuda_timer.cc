// SPDX-License-Identifier: Apache-2.0
#include "cuda_timer.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "mluops/extensions.h"
#include "mluops/runtime.h"

namespace mluop::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kEmptyKernel[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry empty() { ret; }\n";
constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

void Require(int result, const char* step) {
  if (result == 0) return;
  throw std::runtime_error(std::string(step) + " failed with CUDA driver error " +
                           std::to_string(result));
}

}  // namespace

// The CUDA driver functions that the timer uses. The driver's handles are plain pointers here.
struct CudaTimer::Driver {
  explicit Driver(int ordinal_number) : ordinal(ordinal_number) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    Load(library, "cuInit", &init);
    Load(library, "cuDeviceGet", &device_get);
    Load(library, "cuDeviceGetName", &device_get_name);
    Load(library, "cuDevicePrimaryCtxRetain", &retain);
    Load(library, "cuCtxSetCurrent", &set_current);
    Load(library, "cuStreamCreate", &stream_create);
    Load(library, "cuStreamSynchronize", &stream_sync);
    Load(library, "cuStreamBeginCapture_v2", &begin_capture);
    Load(library, "cuStreamEndCapture", &end_capture);
    Load(library, "cuGraphInstantiateWithFlags", &instantiate);
    Load(library, "cuGraphLaunch", &graph_launch);
    Load(library, "cuGraphDestroy", &graph_destroy);
    Load(library, "cuGraphExecDestroy", &exec_destroy);
    Load(library, "cuEventCreate", &event_create);
    Load(library, "cuEventRecord", &event_record);
    Load(library, "cuEventSynchronize", &event_sync);
    Load(library, "cuEventElapsedTime", &event_elapsed);
    Load(library, "cuModuleLoadData", &module_load);
    Load(library, "cuModuleGetFunction", &get_function);
    Load(library, "cuLaunchKernel", &launch_kernel);
    void* context = nullptr;
    Require(init(0), "cuInit");
    Require(device_get(&device, ordinal), "cuDeviceGet");
    Require(retain(&context, device), "cuDevicePrimaryCtxRetain");
    Require(set_current(context), "cuCtxSetCurrent");
    Require(stream_create(&stream, 0), "cuStreamCreate");
    Require(event_create(&start, 0), "cuEventCreate");
    Require(event_create(&end, 0), "cuEventCreate");
    if (mluOpCreateQueueFromCudaStream(&queue, ordinal, stream) != MLUOP_STATUS_SUCCESS)
      throw std::runtime_error(mluOpGetLastErrorMessage());
  }

  template <typename Function>
  static void Load(void* library, const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(dlsym(library, name));
    if (*function == nullptr)
      throw std::runtime_error(std::string("CUDA driver: symbol ") + name + " is missing");
  }

  // Captures the work of one call of `enqueue`.
  void* Capture(const Enqueue& enqueue) const {
    void* graph = nullptr;
    void* executable = nullptr;
    Require(begin_capture(stream, kCaptureThreadLocal), "cuStreamBeginCapture");
    const mluOpStatus_t status = enqueue(queue);
    const int captured = end_capture(stream, &graph);
    if (status != MLUOP_STATUS_SUCCESS) throw std::runtime_error(mluOpGetLastErrorMessage());
    Require(captured, "cuStreamEndCapture");
    const int instantiated = instantiate(&executable, graph, 0);
    graph_destroy(graph);
    Require(instantiated, "cuGraphInstantiate");
    return executable;
  }

  double Replay(void* executable) const {
    float milliseconds = 0;
    Require(event_record(start, stream), "cuEventRecord");
    Require(graph_launch(executable, stream), "cuGraphLaunch");
    Require(event_record(end, stream), "cuEventRecord");
    Require(event_sync(end), "cuEventSynchronize");
    Require(event_elapsed(&milliseconds, start, end), "cuEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  int ordinal;
  int device = 0;
  void* stream = nullptr;
  void* start = nullptr;  // events
  void* end = nullptr;
  cnrtQueue_t queue = nullptr;

  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*device_get_name)(char* name, int size, int device);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_sync)(void* stream);
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** graph);
  int (*instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*graph_launch)(void* executable, void* stream);
  int (*graph_destroy)(void* graph);
  int (*exec_destroy)(void* executable);
  int (*event_create)(void** event, unsigned flags);
  int (*event_record)(void* event, void* stream);
  int (*event_sync)(void* event);
  int (*event_elapsed)(float* milliseconds, void* start, void* end);
  int (*module_load)(void** module, const void* image);
  int (*get_function)(void** function, void* module, const char* name);
  int (*launch_kernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       void* stream, void** parameters, void** extra);
};

CudaTimer::CudaTimer(const std::string& device)
    : driver_(std::make_unique<Driver>(std::atoi(device.c_str() + device.find(':') + 1))) {}

CudaTimer::~CudaTimer() = default;  // frees no CUDA objects: the process exits soon after

std::string CudaTimer::DeviceName() const {
  char name[256] = "";
  Require(driver_->device_get_name(name, sizeof(name), driver_->device), "cuDeviceGetName");
  return name;
}

double CudaTimer::SecondsOfReplay(const Enqueue& enqueue, int replays) {
  void* const executable = driver_->Capture(enqueue);
  double least = HUGE_VAL;
  driver_->Replay(executable);  // warm-up
  for (int i = 0; i < replays; ++i) least = std::min(least, driver_->Replay(executable));
  driver_->exec_destroy(executable);
  return least;
}

double CudaTimer::SecondsOfLaunch() {
  constexpr int kBatches = 10, kLaunches = 100;  // fits into the driver's launch queue
  void* module = nullptr;
  void* kernel = nullptr;
  Require(driver_->module_load(&module, kEmptyKernel), "cuModuleLoadData");
  Require(driver_->get_function(&kernel, module, "empty"), "cuModuleGetFunction");
  double least = HUGE_VAL;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      Require(
          driver_->launch_kernel(kernel, 1, 1, 1, 32, 1, 1, 0, driver_->stream, nullptr, nullptr),
          "cuLaunchKernel");
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    least = std::min(least, seconds / kLaunches);
    Require(driver_->stream_sync(driver_->stream), "cuStreamSynchronize");
  }
  return least;
}

}  // namespace mluop::tool
