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
 *
 * Calls on a queue of a CUDA device are asynchronous, and may be captured into a CUDA graph. Scratch
 * of the handle does not grow during a capture (ALLOC_FAILED): make the call once before it, or give
 * a workspace. What a graph uses of it lives as long as the handle; a replay counts as a use of the
 * handle, so that graphs and calls of one handle run one after the other.
 *
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
                                           const mluOpTensorDescriptor_t output_desc, void* output);

/* psamask on NCHW tensors, as PyTorch has them: mluOpPsamaskForward and mluOpPsamaskBackward with the
 * channels before the pixels.
 *   COLLECT:    y[n, r*W+s, h, w] = x[n, i*w_mask+j, h, w]
 *   DISTRIBUTE: y[n, h*W+w, r, s] = x[n, i*w_mask+j, h, w]      with r = h+i-(h_mask-1)/2 in [0, H)
 *   everything else 0; backward the other way round             and s = w+j-(w_mask-1)/2 in [0, W)
 *   x, dx  [N, h_mask*w_mask, H, W]   float, NCHW
 *   y, dy  [N, H*W, H, W]             float, NCHW
 * Checks and statuses as for mluOpPsamaskForward and mluOpPsamaskBackward. */
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskNchwForward(mluOpHandle_t handle, const int psa_type,
                                                    const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const int h_mask,
                                                    const int w_mask,
                                                    const mluOpTensorDescriptor_t y_desc, void* y);
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskNchwBackward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t dy_desc, const void* dy,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t dx_desc, void* dx);

/* torchvision_ps_roi_pool: position-sensitive pooling of regions as torchvision.ops.ps_roi_pool
 * does it on the CPU, forward bit for bit. Another function than mluOpPsRoiPoolForward: coordinates
 * are rounded after scaling, and bins are clipped at H-1 and W-1.
 *
 *   roi = [batch, x1, y1, x2, y2]; a batch is truncated to an integer
 *   x1i = round(x1*spatial_scale)             halves away from zero; y1i, x2i, y2i alike
 *   bw = max(x2i - x1i, 1) / pooled_width     bh alike
 *   ws = clamp(floor(pw*bw) + x1i, 0, W-1)
 *   we = clamp(ceil((pw+1)*bw) + x1i, 0, W-1)               hs, he alike with H-1
 *   channel = (o*pooled_height + ph)*pooled_width + pw
 *   output[r,o,ph,pw] = mean of input[batch, channel, hs:he, ws:we], 0 where the bin is empty
 *   backward: grad_input = 0, then every pixel of the bin gets grad_output/area in that channel
 *
 * The mean is a float sum row by row from 0, divided by the area. Gradients are added in the order
 * of the rois. Backward has the bins of forward; torchvision's own clips at H and W, so that its
 * gradient is not forward's at the right and lower edge.
 *
 * A roi with a value, or a scaled coordinate, that is not finite, or whose batch is no image, has
 * empty bins. A scaled coordinate beyond 2^31 counts as 2^31.
 *
 *   input, grad_input    [N, O*pooled_height*pooled_width, H, W]   float, NCHW
 *   rois                 [R, 5]                                    float, any layout
 *   output, grad_output  [R, O, pooled_height, pooled_width]       float, NCHW
 *
 * BAD_PARAM: a NULL handle, descriptor or pointer; another rank, type, layout or shape; pooled_height
 * or pooled_width below 1; spatial_scale not above 0 or not finite; an output that overlaps another
 * tensor. NOT_SUPPORTED: strides that are not packed; 2^31 elements or more in a tensor. Empty
 * tensors are SUCCESS: over an empty input the output is filled with zeros, and so is grad_input
 * without rois. A tensor that is empty may come with a NULL pointer. */
MLUOP_WIN_API mluOpStatus_t mluOpTorchvisionPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t output_desc, void* output);
MLUOP_WIN_API mluOpStatus_t mluOpTorchvisionPsRoiPoolBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const mluOpTensorDescriptor_t grad_output_desc,
    const void* grad_output, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* The gradient of masked_col2im, which keeps the last of the masks that name the same pixel:
 *
 *   grad_col[c, m] = grad_im[0, c, mask_h_idx[m], mask_w_idx[m]]
 *   0 where that is outside, or where some m' > m has the same pixel
 *
 *   grad_im [1, C, H, W] half or float, NCHW; mask_h_idx, mask_w_idx [M] int32; grad_col [C, M].
 * Bits are copied as they are. BAD_PARAM: a NULL handle, descriptor or pointer; another rank, type,
 * layout or shape; an empty grad_im; an output that overlaps another tensor. NOT_SUPPORTED: strides
 * that are not packed; 2^31 elements or more in a tensor. Without masks it is SUCCESS. */
MLUOP_WIN_API mluOpStatus_t mluOpMaskedCol2imBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_im_desc, const void* grad_im,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx,
    const mluOpTensorDescriptor_t grad_col_desc, void* grad_col);

#if defined(__cplusplus)
}
#endif

#endif /* MLUOPS_EXTENSIONS_H_ */
