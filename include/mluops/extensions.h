/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that mluops adds to the API of MLU-OPS. C99 and C++11. */
#ifndef MLUOPS_EXTENSIONS_H_
#define MLUOPS_EXTENSIONS_H_

#include "mlu_op.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#if defined(__cplusplus)
extern "C" {
#endif

/* Returns the error message of the last failure on this thread, "" if there was none. It names the
 * operator, the argument, the rule and the value. The pointer is valid until the next failure on
 * this thread; a success does not change the message. Never NULL. */
MLUOP_WIN_API const char* mluOpGetLastErrorMessage(void);

/* Writes the ordinal of a visible device, for cnrtSetDevice. The name is as in
 * MLUOP_VISIBLE_DEVICES: "cpu", "cuda:0". BAD_PARAM: a NULL argument, or MLUOP_VISIBLE_DEVICES is
 * set and does not list the device. NOT_SUPPORTED: the device is not present. NOT_INITIALIZED:
 * MLUOP_VISIBLE_DEVICES names no usable device. */
MLUOP_WIN_API mluOpStatus_t mluOpGetDeviceOrdinal(const char* name, int* ordinal);

/* The parts of the last error message on this thread, for programs that write their own text. A
 * violated rule of a call reads "<op>: <argument><.property[index]> must <rule>, got <value>". The
 * strings are valid until the next failure on this thread. They are "" if the last failure was of
 * another kind, and if there was none. */
typedef struct {
  const char* op;       /* "border_align_forward" */
  const char* argument; /* a tensor or an attribute: "input" */
  const char* property; /* "shape", "dtype", "layout" or "stride" of a tensor, or "" */
  int index;            /* the dim of shape or stride; -1: none */
  const char* rule;     /* "be a multiple of 4" */
  const char* value;    /* "7" */
} mluOpErrorInfo_t;

/* BAD_PARAM: info is NULL. */
MLUOP_WIN_API mluOpStatus_t mluOpGetLastErrorInfo(mluOpErrorInfo_t* info);

/* Operators by name, for bindings of other languages: the table that the library checks a call
 * against, and a call by this table. `mluop list` and error messages have the names, such as
 * "psamask_forward"; workspace getters have tables too: "psroipool_forward_workspace". */
typedef const struct mluOpOperatorStruct* mluOpOperator_t;

#define MLUOP_ATTRIBUTE_MAX 10
#define MLUOP_TENSOR_MAX 6

typedef struct {
  const char* name;
  int is_real; /* 1: a float > 0, 0: an integer in [min, max] */
  int64_t min;
  int64_t max;
} mluOpAttributeInfo_t;

typedef struct {
  const char* name;
  const char* shape; /* dims as products of literals, attributes and symbols: "N H W 4*C" */
  int is_output;
  mluOpDataType_t dtype;      /* MLUOP_DTYPE_INVALID: T, the same type for all such tensors */
  mluOpTensorLayout_t layout; /* MLUOP_LAYOUT_ARRAY: any layout */
} mluOpTensorInfo_t;

typedef struct {
  const char* name;
  int takes_half; /* 1: T may be half or float, 0: T is float */
  int attribute_count;
  int tensor_count;
  mluOpAttributeInfo_t attributes[MLUOP_ATTRIBUTE_MAX]; /* in the order of the C function */
  mluOpTensorInfo_t tensors[MLUOP_TENSOR_MAX];          /* likewise */
} mluOpOperatorInfo_t;

/* BAD_PARAM: a pointer is NULL, or no operator or getter has this name. */
MLUOP_WIN_API mluOpStatus_t mluOpFindOperator(const char* name, mluOpOperator_t* op);
MLUOP_WIN_API mluOpStatus_t mluOpDescribeOperator(mluOpOperator_t op, mluOpOperatorInfo_t* info);

/* Calls the operator. Attributes, descriptors and data pointers are in the order of its table; an
 * absent tensor is NULL in both arrays. Checks, statuses and results are as in the operator's C
 * function. Attributes of C type float are rounded to float; others must be integers.
 * BAD_PARAM: op is NULL, or an array is NULL although the table has rows for it. */
MLUOP_WIN_API mluOpStatus_t mluOpRunOperator(mluOpHandle_t handle, mluOpOperator_t op,
                                             const double attributes[],
                                             const mluOpTensorDescriptor_t descs[],
                                             void* const data[], void* workspace,
                                             size_t workspace_size);

/* Makes only the checks of mluOpRunOperator on descriptors and attributes (1 and 2 of mlu_op.h). An
 * empty tensor passes, and an attribute may be 0 if it is the size of an empty tensor. Bindings
 * return empty results or zeros there. */
MLUOP_WIN_API mluOpStatus_t mluOpCheckOperator(mluOpHandle_t handle, mluOpOperator_t op,
                                               const double attributes[],
                                               const mluOpTensorDescriptor_t descs[]);

/* Calls the workspace getter `op`. */
MLUOP_WIN_API mluOpStatus_t mluOpGetOperatorWorkspaceSize(mluOpHandle_t handle, mluOpOperator_t op,
                                                          const double attributes[],
                                                          const mluOpTensorDescriptor_t descs[],
                                                          size_t* workspace_size);

/* Set and get the maximum number of threads that a call on this handle uses on the CPU, including
 * the calling thread. The initial value is MLUOP_NUM_THREADS, else OMP_NUM_THREADS, else the number
 * of CPUs that the affinity mask and the cgroup quota allow. Results are bitwise the same for any
 * number. BAD_PARAM: handle or num_threads is NULL, or the number is outside [1, 1024]. */
MLUOP_WIN_API mluOpStatus_t mluOpSetNumThreads(mluOpHandle_t handle, int num_threads);
MLUOP_WIN_API mluOpStatus_t mluOpGetNumThreads(mluOpHandle_t handle, int* num_threads);

/* Set and get whether the operators of this handle accept double: 0 (the default) or 1. If 1, the
 * tensors of type half or float may all be double instead. Coordinates, values and sums of such a
 * call are computed in double; indices stay int32. Attributes such as spatial_scale stay float. If
 * 0, double is BAD_PARAM, as in MLU-OPS. A device without kernels for double returns NOT_SUPPORTED.
 * BAD_PARAM: handle or the out-pointer is NULL, or the value is not 0 or 1. */
MLUOP_WIN_API mluOpStatus_t mluOpSetDoubleAllowed(mluOpHandle_t handle, int allowed);
MLUOP_WIN_API mluOpStatus_t mluOpGetDoubleAllowed(mluOpHandle_t handle, int* allowed);

/* Wraps an existing CUDA stream (a cudaStream_t) of CUDA device number cuda_device as a queue. The
 * queue does not own the stream: cnrtQueueDestroy frees the queue only.
 *
 * Calls on a queue of a CUDA device are asynchronous and can be captured into a CUDA graph. The
 * handle's scratch cannot grow during a capture (ALLOC_FAILED): make the call once before the
 * capture, or pass a workspace. Scratch that a graph uses stays allocated until the handle is
 * destroyed. Do not run graphs and calls of one handle concurrently: they share its scratch.
 *
 * BAD_PARAM: queue is NULL. NOT_SUPPORTED: no CUDA device of that number is visible. */
MLUOP_WIN_API mluOpStatus_t mluOpCreateQueueFromCudaStream(cnrtQueue_t* queue, int cuda_device,
                                                           void* stream);

/* Transposes N matrices and copies bits exactly: output[n, b, a] = input[n, a, b]. A = C and B =
 * H*W converts NCHW to NHWC; A = H*W and B = C converts NHWC to NCHW.
 *   input   [N, A, B]   half or float, any layout
 *   output  [N, B, A]   as input
 * Empty tensors are SUCCESS. Checks and statuses are the same as in mlu_op.h. */
MLUOP_WIN_API mluOpStatus_t mluOpTranspose(mluOpHandle_t handle,
                                           const mluOpTensorDescriptor_t input_desc,
                                           const void* input,
                                           const mluOpTensorDescriptor_t output_desc, void* output);

/* psamask on NCHW tensors, PyTorch's layout. Otherwise as mluOpPsamaskForward and
 * mluOpPsamaskBackward.
 *   COLLECT:    y[n, r*W+s, h, w] = x[n, i*w_mask+j, h, w]
 *   DISTRIBUTE: y[n, h*W+w, r, s] = x[n, i*w_mask+j, h, w]      with r = h+i-(h_mask-1)/2 in [0, H)
 *   All other elements of y are 0.                              and s = w+j-(w_mask-1)/2 in [0, W)
 *   Backward copies in the opposite direction.
 *   x, dx  [N, h_mask*w_mask, H, W]   float, NCHW
 *   y, dy  [N, H*W, H, W]             float, NCHW
 * Checks and statuses are the same as for mluOpPsamaskForward and mluOpPsamaskBackward. */
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskNchwForward(mluOpHandle_t handle, const int psa_type,
                                                    const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const int h_mask,
                                                    const int w_mask,
                                                    const mluOpTensorDescriptor_t y_desc, void* y);
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskNchwBackward(
    mluOpHandle_t handle, const int psa_type, const mluOpTensorDescriptor_t dy_desc, const void* dy,
    const int h_mask, const int w_mask, const mluOpTensorDescriptor_t dx_desc, void* dx);

/* psroipool on NCHW tensors, PyTorch's layout. Otherwise as mluOpPsRoiPoolForward and
 * mluOpPsRoiPoolBackward; the results are bitwise the same. The bins [hs, he) x [ws, we) are as in
 * mlu_op.h, and channel = (o*G + ph)*G + pw:
 *   output[r,o,ph,pw] = mean of input[batch, channel, hs:he, ws:we], 0 for an empty bin
 *   mapping_channel[r,o,ph,pw] = channel
 *   backward: bottom_grad = 0, then top_grad/area is added to each pixel of the bin in channel
 *             mapping_channel
 *
 *   input, bottom_grad  [N, output_dim*G*G, H, W]                          float, NCHW
 *   rois                [R, 5]                                             float, any layout
 *   output, top_grad    [R, output_dim, pooled_height, pooled_width]       float, NCHW
 *   mapping_channel     as output                                          int32, NCHW
 *
 * The workspace is optional, as everywhere, and has no getter. Checks and statuses are the same as
 * for mluOpPsRoiPoolForward and mluOpPsRoiPoolBackward. */
MLUOP_WIN_API mluOpStatus_t mluOpPsRoiPoolNchwForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int group_size, const int output_dim,
    const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel);
MLUOP_WIN_API mluOpStatus_t mluOpPsRoiPoolNchwBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int output_dim, const mluOpTensorDescriptor_t top_grad_desc,
    const void* top_grad, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t mapping_channel_desc, const void* mapping_channel,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad);

/* border_align on NCHW tensors, the layouts of mmcv. Otherwise as mluOpBorderAlignForward and
 * mluOpBorderAlignBackward; the results are bitwise the same. Channel b*C + c of the map belongs to
 * border b:
 *   output[n,c,k,b] = max of the samples of input[n, b*C + c] along border b of boxes[n,k]
 *   argmax_idx[n,k,b,c] = the index of that sample, 0..pool_size
 * argmax_idx is NHWC: only backward reads it, so it is not transposed.
 *
 *   input, grad_input    [N, 4*C, H, W]   half or float, NCHW
 *   boxes                [N, K, 4]        as input, any layout
 *   output, grad_output  [N, C, K, 4]     as input, NCHW
 *   argmax_idx           [N, K, 4, C]     int32, NHWC
 * Checks and statuses are the same as for mluOpBorderAlignForward and mluOpBorderAlignBackward. */
MLUOP_WIN_API mluOpStatus_t mluOpBorderAlignNchwForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes, const int32_t pool_size,
    const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t argmax_idx_desc, void* argmax_idx);
MLUOP_WIN_API mluOpStatus_t mluOpBorderAlignNchwBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void* argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* torchvision_ps_roi_pool: position-sensitive RoI pooling with the bins of
 * torchvision.ops.ps_roi_pool. Forward is bit-exact with torchvision's CPU kernel. It differs from
 * mluOpPsRoiPoolForward: coordinates are rounded after scaling, and bins are clipped at H-1 and
 * W-1.
 *
 *   roi = [batch, x1, y1, x2, y2]; batch is truncated to an integer
 *   x1i = round(x1*spatial_scale)             halves away from zero; y1i, x2i, y2i likewise
 *   bw = max(x2i - x1i, 1) / pooled_width     bh likewise
 *   ws = clamp(floor(pw*bw) + x1i, 0, W-1)
 *   we = clamp(ceil((pw+1)*bw) + x1i, 0, W-1)               hs, he likewise with H-1
 *   channel = (o*pooled_height + ph)*pooled_width + pw
 *   output[r,o,ph,pw] = mean of input[batch, channel, hs:he, ws:we], 0 for an empty bin
 *   backward: grad_input = 0, then grad_output/area is added to each pixel of the bin in that
 *             channel
 *
 * The mean is a float sum in row-major order, starting from 0, divided by the area. Gradients are
 * added in the order of the RoIs. Backward uses the bins of forward. torchvision's backward clips
 * at H and W instead, so its gradient does not match its forward at the right and lower edge.
 *
 * A RoI has empty bins if one of its values or scaled coordinates is not finite, or if its batch is
 * outside [0, N). Scaled coordinates are clamped to [-2^31, 2^31].
 *
 *   input, grad_input    [N, O*pooled_height*pooled_width, H, W]   float, NCHW
 *   rois                 [R, 5]                                    float, any layout
 *   output, grad_output  [R, O, pooled_height, pooled_width]       float, NCHW
 *
 * BAD_PARAM: a NULL handle, descriptor or pointer; another rank, type, layout or shape;
 * pooled_height or pooled_width below 1; spatial_scale not above 0 or not finite; an output that
 * overlaps another tensor. NOT_SUPPORTED: strides that are not packed; a dim of 2^31 or
 * more. Empty tensors are SUCCESS: an empty input fills the output with zeros, and empty rois
 * fill grad_input with zeros. The pointer of an empty tensor may be NULL. */
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

/* Computes the gradient of masked_col2im. If several masks name one pixel, forward keeps the last;
 * the others get gradient 0:
 *
 *   grad_col[c, m] = grad_im[0, c, mask_h_idx[m], mask_w_idx[m]],
 *   or 0 if that pixel is outside the map or if some m' > m names the same pixel
 *
 *   grad_im [1, C, H, W] half or float, NCHW; mask_h_idx, mask_w_idx [M] int32; grad_col [C, M].
 * Copies bits exactly. BAD_PARAM: a NULL handle, descriptor or pointer; another rank, type, layout
 * or shape; an empty grad_im; an output that overlaps another tensor. NOT_SUPPORTED: strides that
 * are not packed; a dim of 2^31 or more. M = 0 is SUCCESS. */
MLUOP_WIN_API mluOpStatus_t mluOpMaskedCol2imBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_im_desc, const void* grad_im,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx,
    const mluOpTensorDescriptor_t grad_col_desc, void* grad_col);

/* masked_conv2d: a convolution that is computed only where a mask is positive.
 *
 *   output[n, o, p, q] = bias[o] + sum over c, i, j of weight[o, c, i, j] *
 *                        features[n, c, p*stride_h - pad_h + i*dilation_h,
 *                                       q*stride_w - pad_w + j*dilation_w]
 *   where mask[n, p, q] > 0, else 0; features outside the map are 0
 *
 *   features [N, C, H, W], weight [O, C, kernel_h, kernel_w], output [N, O, P, Q]   NCHW
 *   mask [N, P, Q], bias [O]                                                   any layout
 *   all half or all float
 *
 * P and Q are free: positions whose window lies outside the map give the bias. On CUDA the number of
 * masked positions stays on the device, so the call does not synchronise and can be captured in a
 * graph. Half uses tensor cores, float does not use TF32. Sums of half are float sums, rounded once.
 *
 * BAD_PARAM: a NULL handle, descriptor or pointer; another rank, type, layout or shape; kernel_*,
 * stride_*, dilation_* below 1, pad_* below 0; an empty weight or bias; empty features unless N is 0;
 * an output that overlaps another tensor. NOT_SUPPORTED: strides that are not packed; a dim of 2^31
 * or more. An empty output is SUCCESS. */
MLUOP_WIN_API mluOpStatus_t mluOpMaskedConv2dForward(
    mluOpHandle_t handle, const int kernel_h, const int kernel_w, const int stride_h,
    const int stride_w, const int pad_h, const int pad_w, const int dilation_h,
    const int dilation_w, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t mask_desc, const void* mask,
    const mluOpTensorDescriptor_t weight_desc, const void* weight,
    const mluOpTensorDescriptor_t bias_desc, const void* bias,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* mluOpPointsInBoxes for all pairs: inside[b, m, t] = 1 if box t of scene b holds point m, else 0.
 *   points [B, M, 3] float, boxes [B, T, 7] float, inside [B, M, T] int32; any layout.
 * Checks and statuses are the same as for mluOpPointsInBoxes. */
MLUOP_WIN_API mluOpStatus_t
mluOpPointsInBoxesAll(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                      const void* points, const mluOpTensorDescriptor_t boxes_desc,
                      const void* boxes, const mluOpTensorDescriptor_t inside_desc, void* inside);

#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MLUOPS_EXTENSIONS_H_ */
