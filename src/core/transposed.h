// SPDX-License-Identifier: Apache-2.0
// The implementation "transposed" of an operator on NCHW tensors. It copies the inputs to NHWC in
// scratch, runs the operator on NHWC tensors, and transposes the outputs back. Both tables have the
// same attributes, symbols and tensors. A tensor [N, C, ...] with layout kNCHW is [N, ..., C] in
// the NHWC table. So the NHWC operator runs with these arguments and other data pointers.
//
// A device provides Transpose(Context&, const Matrices&, from, to) and Context::Nested(), a context
// with its own scratch.
#pragma once

#include "core/dtype.h"
#include "core/implementation.h"

namespace mluop {

// A batch of row-major matrices, one after the other.
struct Matrices {
  int64_t count, rows, columns;
  size_t element_bytes;  // 2, 4 or 8

  int64_t elements() const { return count * rows * columns; }
  size_t bytes() const { return static_cast<size_t>(elements()) * element_bytes; }
  Matrices Transposed() const { return {count, columns, rows, element_bytes}; }
};

// An NCHW tensor of a call as matrices of C rows, and the place of its NHWC copy in scratch.
struct NchwTensor {
  int index;  // into the arguments
  bool is_input;
  Matrices matrices;
  size_t offset;  // bytes
};

// Calls visit(NchwTensor) for every NCHW tensor. Returns the bytes of all copies.
template <class Visit>
size_t ForEachNchwTensor(const Arguments& arguments, const Visit& visit) {
  constexpr size_t kCopyAlignment = 256;  // enough for every device
  size_t offset = 0;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const TensorSpec& row = arguments.spec->tensors[i];
    if (row.layout != kNCHW) continue;
    const mluOpTensorStruct& desc = *arguments.tensors[i].desc;
    const int64_t* dims = desc.dims;
    const Matrices matrices = {dims[0], dims[1], dims[2] * dims[3], SizeOf(desc.dtype)};
    visit(NchwTensor{i, row.direction == kIn, matrices, offset});
    offset += (matrices.bytes() + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
  }
  return offset;
}

template <class Call>
size_t NhwcCopyBytes(const Call& call) {
  return ForEachNchwTensor(call.arguments, [](const NchwTensor&) {});
}

template <const auto& kNhwc, class Call>
mluOpStatus_t RunOnNhwcCopies(const Call& call, void* scratch) {
  const TensorArgument* const tensors = call.arguments.tensors;
  Arguments nhwc = call.arguments;
  mluOpStatus_t status = MLUOP_STATUS_SUCCESS;
  ForEachNchwTensor(call.arguments, [&](const NchwTensor& t) {
    void* const copy = nhwc.tensors[t.index].data = static_cast<char*>(scratch) + t.offset;
    if (t.is_input && status == MLUOP_STATUS_SUCCESS) {
      status = Transpose(call.context, t.matrices, tensors[t.index].data, copy);
    }
  });
  if (status != MLUOP_STATUS_SUCCESS) return status;
  auto nested = call.context.Nested();
  status = kNhwc.run(nhwc, nested, {});
  ForEachNchwTensor(call.arguments, [&](const NchwTensor& t) {
    if (t.is_input || status != MLUOP_STATUS_SUCCESS) return;
    status = Transpose(call.context, t.matrices.Transposed(), nhwc.tensors[t.index].data,
                       tensors[t.index].data);
  });
  return status;
}

template <const auto& kNhwc, class Call>
void DescribeNhwcCopies(const Call&, Plan& plan) {
  plan.Add("operator %.*s", MLUOP_SV(kNhwc.op));
}

// The list of an operator on NCHW tensors without other implementations. kNhwc is the device's
// operator on NHWC tensors.
template <class Problem, class Context, const DeviceOperator<Context>& kNhwc>
inline constexpr Implementation<Problem, Context> kTransposed[] = {
    {"transposed", "always", Always, NhwcCopyBytes, RunOnNhwcCopies<kNhwc>,
     DescribeNhwcCopies<kNhwc>},
    Implementation<Problem, Context>::ForDouble(RunOnNhwcCopies<kNhwc>, NhwcCopyBytes)};

}  // namespace mluop
