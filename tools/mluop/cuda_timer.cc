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
// CU_DEVICE_ATTRIBUTE_...
enum Attribute { kClockRate = 13, kSmCount = 16, kMemoryClockRate = 36, kBusWidth = 37, kL2 = 38 };

// The kernel that measures the peak: independent chains of multiply-adds in registers.
constexpr int kChains = 8, kUnrolled = 16, kRounds = 2048;
constexpr unsigned kPeakThreads = 256, kPeakBlocksPerSm = 8;

std::string PeakKernel() {
  std::string text =
      ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .f32 sink;\n"
      ".visible .entry peak() {\n.reg .f32 %a<10>; .reg .u32 %i; .reg .pred %more;\n"
      "mov.f32 %a8, 0f3F7FBE77; mov.f32 %a9, 0f3A83126F;\n";  // 0.999 and 0.001
  // Different starts: equal chains would be merged into one.
  text += "mov.u32 %i, %tid.x; cvt.rn.f32.u32 %a0, %i;\n";
  for (int chain = 1; chain < kChains; ++chain) {
    text += "add.f32 %a" + std::to_string(chain) + ", %a" + std::to_string(chain - 1) +
            ", 0f3F800000;\n";
  }
  text += "mov.u32 %i, " + std::to_string(kRounds) + ";\nagain:\n";
  for (int i = 0; i < kUnrolled; ++i) {
    for (int chain = 0; chain < kChains; ++chain) {
      const std::string a = "%a" + std::to_string(chain);
      text += "fma.rn.f32 " + a + ", " + a + ", %a8, %a9;\n";
    }
  }
  text += "sub.u32 %i, %i, 1; setp.ne.u32 %more, %i, 0; @%more bra again;\n";
  for (int chain = 1; chain < kChains; ++chain) {
    text += "add.f32 %a0, %a0, %a" + std::to_string(chain) + ";\n";
  }
  return text + "st.global.f32 [sink], %a0;\nret;\n}\n";
}

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
    Load(library, "cuDeviceGetAttribute", &get_attribute);
    Load(library, "cuDeviceTotalMem_v2", &total_memory);
    Load(library, "cuDriverGetVersion", &driver_version);
    Load(library, "cuCtxCreate_v2", &context_create);
    Load(library, "cuCtxDestroy_v2", &context_destroy);
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
    Require(init(0), "cuInit");
    Require(device_get(&device, ordinal), "cuDeviceGet");
  }

  // Makes the context of the operators current, and creates what the timer needs in it.
  void Enter() {
    void* context = nullptr;
    Require(retain(&context, device), "cuDevicePrimaryCtxRetain");
    Require(set_current(context), "cuCtxSetCurrent");
    Require(stream_create(&stream, 0), "cuStreamCreate");
    Require(event_create(&start, 0), "cuEventCreate");
    Require(event_create(&end, 0), "cuEventCreate");
    if (mluOpCreateQueueFromCudaStream(&queue, ordinal, stream) != MLUOP_STATUS_SUCCESS)
      throw std::runtime_error(mluOpGetLastErrorMessage());
  }

  int AttributeOf(Attribute attribute) const {
    int value = 0;
    Require(get_attribute(&value, attribute, device), "cuDeviceGetAttribute");
    return value;
  }

  // Launches the kernel once and returns its seconds. Needs `stream`, `start` and `end`.
  double SecondsOf(void* kernel, unsigned blocks) const {
    float milliseconds = 0;
    Require(event_record(start, stream), "cuEventRecord");
    Require(launch_kernel(kernel, blocks, 1, 1, kPeakThreads, 1, 1, 0, stream, nullptr, nullptr),
            "cuLaunchKernel");
    Require(event_record(end, stream), "cuEventRecord");
    Require(event_sync(end), "cuEventSynchronize");
    Require(event_elapsed(&milliseconds, start, end), "cuEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  // Returns operations per second, measured in a temporary context.
  double MeasurePeak() {
    void* context = nullptr;
    void* module = nullptr;
    void* kernel = nullptr;
    Require(context_create(&context, 0, device), "cuCtxCreate");
    Require(stream_create(&stream, 0), "cuStreamCreate");
    Require(event_create(&start, 0), "cuEventCreate");
    Require(event_create(&end, 0), "cuEventCreate");
    Require(module_load(&module, PeakKernel().c_str()), "cuModuleLoadData");
    Require(get_function(&kernel, module, "peak"), "cuModuleGetFunction");
    const unsigned blocks = kPeakBlocksPerSm * static_cast<unsigned>(AttributeOf(kSmCount));
    double least = HUGE_VAL;
    SecondsOf(kernel, blocks);  // warm-up
    for (int i = 0; i < 10; ++i) least = std::min(least, SecondsOf(kernel, blocks));
    Require(context_destroy(context), "cuCtxDestroy");  // and all that was created in it
    return 2.0 * kChains * kUnrolled * kRounds * kPeakThreads * blocks / least;
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
  int (*get_attribute)(int* value, int attribute, int device);
  int (*total_memory)(size_t* bytes, int device);
  int (*driver_version)(int* version);
  int (*context_create)(void** context, unsigned flags, int device);
  int (*context_destroy)(void* context);
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
    : driver_(std::make_unique<Driver>(std::atoi(device.c_str() + device.find(':') + 1))),
      peak_(driver_->MeasurePeak()) {
  driver_->Enter();
}

CudaTimer::~CudaTimer() = default;  // frees no CUDA objects: the process exits soon after

CudaFacts CudaTimer::Facts() const {
  char name[256] = "";
  size_t memory = 0;
  int version = 0;
  Require(driver_->device_get_name(name, sizeof(name), driver_->device), "cuDeviceGetName");
  Require(driver_->total_memory(&memory, driver_->device), "cuDeviceTotalMem");
  Require(driver_->driver_version(&version), "cuDriverGetVersion");
  return {name,
          driver_->AttributeOf(kSmCount),
          driver_->AttributeOf(kClockRate) * 1e-3,
          driver_->AttributeOf(kMemoryClockRate) * 1e-3,
          driver_->AttributeOf(kBusWidth),
          static_cast<double>(driver_->AttributeOf(kL2)),
          static_cast<double>(memory),
          version};
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
