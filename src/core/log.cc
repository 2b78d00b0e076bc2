// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <chrono>
#include <cstdio>

#include "core/dtype.h"
#include "core/error.h"
#include "core/implementation.h"

namespace mluop {
namespace {

// A line that is printed at once, so that lines of several threads do not mix. Truncates.
class LogLine {
 public:
  // Starts with the case line and the device.
  LogLine(const Arguments& arguments, const Device& device) : writer_(text_, sizeof(text_)) {
    char line[sizeof(text_)];
    FormatCase(arguments, line, sizeof(line));
    writer_.Add("%s  # %s, %s", line, device.name(), device.architecture());
  }

  TextWriter& writer() { return writer_; }

  // The size of the workspace, then type and layout of each tensor.
  void AddBuffers(const Arguments& arguments, size_t workspace_size) {
    writer_.Add(", workspace %zu bytes", workspace_size);
    for (int i = 0; i < arguments.spec->tensor_count; ++i) {
      const mluOpTensorStruct* const desc = arguments.tensors[i].desc;
      if (desc == nullptr) continue;
      writer_.Add(", %.*s %s %s", MLUOP_SV(arguments.spec->tensors[i].name), NameOf(desc->dtype),
                  NameOf(desc->layout));
    }
  }

  void Print() {
    fprintf(stderr, "%s\n", text_);
    fflush(stderr);  // a program may have made stderr buffered
  }

 private:
  char text_[2048];
  TextWriter writer_;
};

}  // namespace

mluOpStatus_t RunLogged(const Arguments& arguments, mluOpContext& handle, size_t workspace_size) {
  using Clock = std::chrono::steady_clock;
  const OpSpec& spec = *arguments.spec;
  const bool synchronous = handle.device->is_synchronous();
  Plan plan;
  // If no implementation applies, Run fails with the message.
  const bool applies = handle.device->MakePlan(arguments, handle, &plan) == MLUOP_STATUS_SUCCESS;
  LogLine line(arguments, *handle.device);
  if (synchronous) line.writer().Add(", %d threads", handle.num_threads);
  if (applies) {
    line.writer().Add(", %.*s:%.*s", MLUOP_SV(spec.name), MLUOP_SV(plan.implementation));
  } else {
    line.writer().Add(", no implementation applies");
  }
  line.AddBuffers(arguments, workspace_size);
  line.Print();
  const auto start = Clock::now();
  const mluOpStatus_t status = handle.device->Run(arguments, handle);
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  // The kernels of an asynchronous device are still running.
  fprintf(stderr, "# %.*s: %s %s %.1f us\n", MLUOP_SV(spec.name), mluOpGetErrorString(status),
          synchronous ? "in" : "enqueued in", us);
  return status;
}

void LogEmptyCall(const Arguments& arguments, const mluOpContext& handle, const TensorSpec& empty) {
  LogLine line(arguments, *handle.device);
  line.writer().Add(", nothing to compute: %.*s is empty", MLUOP_SV(empty.name));
  line.AddBuffers(arguments, arguments.workspace.size);
  line.Print();
  // Nothing runs, so there is no time to measure.
  fprintf(stderr, "# %.*s: %s in 0.0 us\n", MLUOP_SV(arguments.spec->name),
          mluOpGetErrorString(MLUOP_STATUS_SUCCESS));
}

}  // namespace mluop
