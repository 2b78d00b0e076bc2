/* SPDX-License-Identifier: Apache-2.0 */
/* Our additions to the API of mlu_op.h. C99 and C++11. */
#ifndef MLUOPS_EXTENSIONS_H_
#define MLUOPS_EXTENSIONS_H_

#include "mlu_op.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* The sentence that the last failure on this thread left; "" if there was none. It names the
 * operator, the argument, the rule and the value. Valid until the next failure on this thread; a
 * success does not change it. Never NULL. */
MLUOP_WIN_API const char* mluOpGetLastErrorMessage(void);

/* How many threads a call on this handle may use on the CPU, the calling thread included. The start
 * value is MLUOP_NUM_THREADS, else OMP_NUM_THREADS, else what affinity and the control group's
 * quota leave. Results are bitwise the same for any number. BAD_PARAM: handle or num_threads is
 * NULL, or the number is outside [1, 1024]. */
MLUOP_WIN_API mluOpStatus_t mluOpSetNumThreads(mluOpHandle_t handle, int num_threads);
MLUOP_WIN_API mluOpStatus_t mluOpGetNumThreads(mluOpHandle_t handle, int* num_threads);

/* Wraps an existing CUDA stream (a cudaStream_t) of CUDA device number cuda_device as a queue,
 * without owning it: cnrtQueueDestroy frees the queue and leaves the stream alone.
 * BAD_PARAM: queue is NULL. NOT_SUPPORTED: no CUDA device of that number is visible. */
MLUOP_WIN_API mluOpStatus_t mluOpCreateQueueFromCudaStream(cnrtQueue_t* queue, int cuda_device,
                                                           void* stream);

/* N matrices transposed, bit for bit: output[n, b, a] = input[n, a, b]. With A = C and B = H*W it
 * turns NCHW into NHWC, and with A = H*W and B = C NHWC into NCHW.
 *   input   [N, A, B]   half or float, any layout
 *   output  [N, B, A]   as input
 * Empty tensors: SUCCESS. Checks and statuses as for the operators of mlu_op.h. */
MLUOP_WIN_API mluOpStatus_t mluOpTranspose(mluOpHandle_t handle,
                                           const mluOpTensorDescriptor_t input_desc,
                                           const void* input,
                                           const mluOpTensorDescriptor_t output_desc,
                                           void* output);

#if defined(__cplusplus)
}
#endif

#endif /* MLUOPS_EXTENSIONS_H_ */
