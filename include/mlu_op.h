/* SPDX-License-Identifier: Apache-2.0 */
/* mlu_op.h: the public C API of mluops. C99 and C++11. It includes the CNRT functions too, as
 * MLU-OPS's own header does, and may itself be included inside extern "C" {}. It needs no vendor
 * header.
 *
 * Region operators of five detection and segmentation networks, forward and backward:
 *   psroipool (R-FCN), border_align (BorderDet), roiaware_pool3d (PartA2), psamask (PSANet),
 *   masked_im2col / masked_col2im (masked convolution).
 * Also points_in_boxes, forward only: the inside test of roiaware_pool3d.
 *
 * Rules that hold for every function:
 * - It returns a mluOpStatus_t. Any status but SUCCESS sets the calling thread's error message,
 *   "<op>: <argument> must be <rule>, got <value>". mluOpGetLastErrorMessage() of
 *   mluops/extensions.h returns it.
 * - A violated rule is BAD_PARAM. Operators check in this order:
 *   1. handle and descriptors not NULL, ranks, data types, layouts, attributes;
 *   2. shapes, strides, sizes, empty tensors;
 *   3. workspace, data pointers, overlap, alignment of data pointers to the size of an element.
 * - A valid tensor that the library does not implement is NOT_SUPPORTED. This holds for strides
 *   that are not packed, a dim of 2^31 or more, and 2^60 elements or more (roiaware_pool3d: 2^31).
 *   The stride of a dim of size 1 is ignored, and so are all strides of an empty tensor.
 * - BAD_PARAM and NOT_SUPPORTED leave the outputs unchanged.
 * - Any operator returns ALLOC_FAILED if it cannot allocate scratch. Its outputs are then
 *   undefined. The handle stays usable.
 * - An output must not overlap an input, another output or the workspace. A workspace that overlaps
 *   an input is ignored.
 * - A workspace is optional. Size 0 (with any pointer) is legal. A workspace smaller than the
 *   getter's size is ignored. The result is the same in all cases. A size above 0 with a NULL
 *   pointer is BAD_PARAM.
 * - Getters of workspace sizes check their arguments as the operator does. A NULL workspace_size is
 *   BAD_PARAM.
 * - On the CPU, pointers are host pointers, and a call is complete when it returns.
 * - One thread at a time may use a handle. Different handles may be used concurrently.
 * - Shapes are written [N, H, W, C]. T is the data type of a call: all tensors "of T" have the same
 *   type. */
#ifndef MLU_OP_H_
#define MLU_OP_H_

#include <stddef.h>
#include <stdint.h>

#include "mluops/common_types.h"
#include "mluops/runtime.h"

#define MLUOP_MAJOR 0
#define MLUOP_MINOR 2
#define MLUOP_PATCHLEVEL 0
/* major*1000 + minor*100 + patch level. A literal, so that it does not change in a client that
 * redefines MLUOP_MINOR. */
#define MLUOP_VERSION 200

/* Maximum number of dimensions of a tensor. */
#define MLUOP_DIM_MAX 8

/* Empty, as in MLU-OPS's header on Linux: clients use it in types of function pointers. The pragma
 * below exports the functions. */
#ifndef MLUOP_WIN_API
#define MLUOP_WIN_API
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#if defined(__cplusplus)
extern "C" {
#endif

/* ------------------------------------------------------------ types */

typedef enum {
  MLUOP_STATUS_SUCCESS = 0,           /* the call succeeded */
  MLUOP_STATUS_NOT_INITIALIZED = 1,   /* no usable device: see MLUOP_VISIBLE_DEVICES */
  MLUOP_STATUS_ALLOC_FAILED = 2,      /* out of memory; the handle stays usable */
  MLUOP_STATUS_BAD_PARAM = 3,         /* an argument violates a rule */
  MLUOP_STATUS_INTERNAL_ERROR = 4,    /* a bug in mluops */
  MLUOP_STATUS_ARCH_MISMATCH = 5,     /* mluops has no code for this device architecture */
  MLUOP_STATUS_EXECUTION_FAILED = 6,  /* the device reported an error */
  MLUOP_STATUS_NOT_SUPPORTED = 7,     /* valid arguments that mluops does not implement */
  MLUOP_STATUS_NUMERICAL_OVERFLOW = 8 /* not used */
} mluOpStatus_t;

typedef enum {
  MLUOP_LAYOUT_NCHW = 0,
  MLUOP_LAYOUT_NHWC = 1,
  MLUOP_LAYOUT_HWCN = 2,
  MLUOP_LAYOUT_NDHWC = 3,
  MLUOP_LAYOUT_ARRAY = 4,
  MLUOP_LAYOUT_NCDHW = 5,
  MLUOP_LAYOUT_TNC = 6,
  MLUOP_LAYOUT_NTC = 7,
  MLUOP_LAYOUT_NC = 8,
  MLUOP_LAYOUT_NLC = 9,
  MLUOP_LAYOUT_NCL = 10
} mluOpTensorLayout_t;

typedef enum {
  MLUOP_DTYPE_INVALID = 0,
  MLUOP_DTYPE_HALF = 1,
  MLUOP_DTYPE_FLOAT = 2,
  MLUOP_DTYPE_INT8 = 3,
  MLUOP_DTYPE_INT16 = 4,
  MLUOP_DTYPE_INT31 = 5,
  MLUOP_DTYPE_INT32 = 6,
  MLUOP_DTYPE_UINT8 = 7,
  MLUOP_DTYPE_BOOL = 8,
  MLUOP_DTYPE_INT64 = 9,
  MLUOP_DTYPE_UINT32 = 11,
  MLUOP_DTYPE_UINT64 = 12,
  MLUOP_DTYPE_UINT16 = 13,
  MLUOP_DTYPE_DOUBLE = 14,
  MLUOP_DTYPE_COMPLEX_HALF = 15,
  MLUOP_DTYPE_COMPLEX_FLOAT = 16,
  MLUOP_DTYPE_BFLOAT16 = 17
} mluOpDataType_t;

/* NOT_ALLOWED: every run gives bitwise the same result. ALLOWED: may be faster on a GPU, but
 * results may differ by rounding from run to run. Results on the CPU are always bitwise
 * reproducible, at any thread count. */
typedef enum { MLUOP_ATOMICS_NOT_ALLOWED = 1, MLUOP_ATOMICS_ALLOWED = 2 } mluOpAtomicsMode_t;

typedef enum {
  MLUOP_ROUND_HALF_TO_EVEN = 0,
  MLUOP_ROUND_HALF_UP = 1,
  MLUOP_ROUND_HALF_OFF_ZERO = 2
} mluOpQuantizeRoundMode_t;

typedef enum { MLUOP_POINTER_MODE_HOST = 0, MLUOP_POINTER_MODE_DEVICE = 1 } mluOpPointerMode_t;

/* Values of the int arguments pool_method (roiaware_pool3d) and psa_type (psamask). */
enum { MLUOP_ROIAWARE_POOL_MAX = 0, MLUOP_ROIAWARE_POOL_AVG = 1 };
enum { MLUOP_PSAMASK_COLLECT = 0, MLUOP_PSAMASK_DISTRIBUTE = 1 };

typedef struct mluOpContext* mluOpHandle_t;
typedef struct mluOpTensorStruct* mluOpTensorDescriptor_t;
typedef struct mluOpTensorSetStruct* mluOpTensorSetDescriptor_t;

/* ------------------------------------------------------------ library */

/* Returns the enumerator's name, "MLUOP_STATUS_UNKNOWN" for any other value. Never NULL. */
MLUOP_WIN_API const char* mluOpGetErrorString(mluOpStatus_t status);

/* Writes the version of mluops. NULL pointers are skipped. */
MLUOP_WIN_API void mluOpGetLibVersion(int* major, int* minor, int* patch);

/* Writes the size of an element in bytes. BAD_PARAM: size is NULL; data_type is INVALID or not an
 * enumerator. */
MLUOP_WIN_API mluOpStatus_t mluOpGetSizeOfDataType(mluOpDataType_t data_type, size_t* size);

/* ------------------------------------------------------------ recording */

/* Records calls for the driver, `mluop`, which repeats them from their files. mode 0: off. 1: one
 * file per call, <directory>/<operator>/<operator>_<pid>_<n>.txt, with the shapes and attributes.
 * 2: also the input data, in a file .npz beside it, which NumPy reads. 3: the case line on stderr,
 * no file. Other values: off. Holds for all handles and threads, and replaces the environment
 * variable MLUOP_GEN_CASE. MLUOP_GEN_CASE_OP_NAME="a;b" records only these operators, "-a;-b" all
 * others. A call that fails a check or has nothing to compute is not recorded. A file that cannot
 * be written is reported on stderr; the call itself runs as usual. While a CUDA graph is captured
 * no data is written, and the .txt says so. Mode 2 waits for the queue. */
MLUOP_WIN_API void mluOpSetGenCaseMode(int mode);

/* Sets the directory of recorded calls, which recording creates. Default: MLUOP_GEN_CASE_DIR, else
 * gen_case; a relative path starts at the current directory of each call. BAD_PARAM: path is NULL,
 * empty or longer than 3840 characters. */
MLUOP_WIN_API mluOpStatus_t mluOpSetGenCaseDirectory(const char* path);

/* Writes the directory and a terminating NUL to buffer and returns buffer. If buffer is NULL,
 * returns memory from malloc, which the caller frees. pathLen (may be NULL) gets the length without
 * the NUL, also if buffer is too small. Returns NULL on failure; status (may be NULL) is then
 * BAD_PARAM (bufferSize is too small) or ALLOC_FAILED. */
MLUOP_WIN_API const char* mluOpGetGenCaseDirectory(char* buffer, size_t bufferSize, size_t* pathLen,
                                                   mluOpStatus_t* status);

/* ------------------------------------------------------------ handle */

/* Creates a handle on the thread's current device, with the default queue and
 * MLUOP_ATOMICS_NOT_ALLOWED. cnrtSetDevice sets the current device. Device 0 is the CPU unless
 * MLUOP_VISIBLE_DEVICES lists another one first.
 * BAD_PARAM: handle is NULL. NOT_INITIALIZED: MLUOP_VISIBLE_DEVICES names no usable device.
 * ALLOC_FAILED. */
MLUOP_WIN_API mluOpStatus_t mluOpCreate(mluOpHandle_t* handle);

/* Frees the handle and its scratch. BAD_PARAM: handle is NULL. */
MLUOP_WIN_API mluOpStatus_t mluOpDestroy(mluOpHandle_t handle);

/* Re-reads the state of the handle's device. On the CPU it resets the number of threads to
 * MLUOP_NUM_THREADS or OMP_NUM_THREADS, which are read once per process. Without them it counts the
 * CPUs that the affinity mask and the cgroup quota allow now. BAD_PARAM: handle is NULL. */
MLUOP_WIN_API mluOpStatus_t mluOpUpdateContextInformation(mluOpHandle_t handle);

/* Sets the queue of later calls. NULL is the device's default queue. The caller must not destroy a
 * queue while a handle uses it. On a CUDA device, work on the new queue waits for work on the old
 * queue that shares the handle's scratch.
 * BAD_PARAM: handle is NULL, or the queue belongs to another device. */
MLUOP_WIN_API mluOpStatus_t mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue);
/* Writes the handle's queue. BAD_PARAM: a NULL argument. */
MLUOP_WIN_API mluOpStatus_t mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue);

/* Set and get the atomics mode. BAD_PARAM: a NULL argument, or a mode that is not an enumerator. */
MLUOP_WIN_API mluOpStatus_t mluOpSetAtomicsMode(mluOpHandle_t handle,
                                                mluOpAtomicsMode_t atomics_mode);
MLUOP_WIN_API mluOpStatus_t mluOpGetAtomicsMode(mluOpHandle_t handle,
                                                mluOpAtomicsMode_t* atomics_mode);

/* The rounding mode is stored and returned, but has no effect: no operator quantises. Default:
 * MLUOP_ROUND_HALF_TO_EVEN. BAD_PARAM: a NULL argument, or a mode that is not an enumerator. */
MLUOP_WIN_API mluOpStatus_t mluOpSetQuantizeRoundMode(mluOpHandle_t handle,
                                                      mluOpQuantizeRoundMode_t round_mode);
MLUOP_WIN_API mluOpStatus_t mluOpGetQuantizeRoundMode(mluOpHandle_t handle,
                                                      mluOpQuantizeRoundMode_t* round_mode);

/* ------------------------------------------------------------ tensor descriptors */

/* A new descriptor has 0 dims, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY and MLUOP_POINTER_MODE_DEVICE.
 * BAD_PARAM: desc is NULL. ALLOC_FAILED. */
MLUOP_WIN_API mluOpStatus_t mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t* desc);
/* BAD_PARAM: desc is NULL. */
MLUOP_WIN_API mluOpStatus_t mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc);

/* Resets a descriptor to the state of a new one. BAD_PARAM: desc is NULL. */
MLUOP_WIN_API mluOpStatus_t mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc);

/* Sets layout, type and dims of a packed tensor. dimSize[0] is the outermost dim. dimNb = 0 (a
 * scalar) requires host pointer mode; dimSize may then be NULL.
 * BAD_PARAM: desc or dimSize is NULL; layout or dtype is not an enumerator; dimNb is outside [0,
 * MLUOP_DIM_MAX]; a dim is negative; the number of elements does not fit in 63 bits. The descriptor
 * is then unchanged. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t layout,
                                                     mluOpDataType_t dtype, int dimNb,
                                                     const int dimSize[]);
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t layout,
                                                        mluOpDataType_t dtype, int dimNb,
                                                        const int64_t dimSize[]);

/* Like mluOpSetTensorDescriptor, with strides in elements. Operators accept packed strides only.
 * BAD_PARAM also: dimStride is NULL and dimNb is not 0. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t layout,
                                                       mluOpDataType_t dtype, int dimNb,
                                                       const int dimSize[], const int dimStride[]);
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t layout,
                                                          mluOpDataType_t dtype, int dimNb,
                                                          const int64_t dimSize[],
                                                          const int64_t dimStride[]);

/* Sets the dims and packed strides; keeps layout and type. BAD_PARAM: as for
 * mluOpSetTensorDescriptor. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                                        const int* dimSize);
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                                           const int64_t* dimSize);

/* Reads a descriptor. NULL output pointers are skipped. dimSize must have an element per dim.
 * BAD_PARAM: desc is NULL, or a dim does not fit in int (use _v2). */
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t* layout,
                                                     mluOpDataType_t* dtype, int* dimNb,
                                                     int dimSize[]);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t* layout,
                                                        mluOpDataType_t* dtype, int* dimNb,
                                                        int64_t dimSize[]);

/* Like mluOpGetTensorDescriptor, with strides, which must fit in int too. Unlike there, a NULL
 * output pointer is BAD_PARAM. */
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t* layout,
                                                       mluOpDataType_t* dtype, int* dimNb,
                                                       int dimSize[], int dimStride[]);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t* layout,
                                                          mluOpDataType_t* dtype, int* dimNb,
                                                          int64_t dimSize[], int64_t dimStride[]);

/* Returns the product of the dims: 1 for a scalar in host pointer mode, 0 for NULL and for a
 * descriptor that was never set. */
MLUOP_WIN_API size_t mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc);

/* The on-chip type is stored and returned, but has no effect. BAD_PARAM: a NULL argument, or a
 * value that is not an enumerator. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t onchip_dtype);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorOnchipDataType(
    const mluOpTensorDescriptor_t desc, mluOpDataType_t* onchip_dtype);

/* HOST allows a descriptor of 0 dims. BAD_PARAM: a NULL argument, a value that is not an
 * enumerator, or DEVICE for a descriptor that holds a scalar. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t pointer_mode);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t* pointer_mode);

/* Quantisation parameters are stored and returned, but have no effect. Defaults: position 0, scale
 * 1.0f, offset 0. BAD_PARAM: a NULL argument. */
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc,
                                                             int position);
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc,
                                                                     int position, float scale);
MLUOP_WIN_API mluOpStatus_t mluOpSetTensorDescriptorPositionScaleAndOffset(
    mluOpTensorDescriptor_t desc, int position, float scale, int offset);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc,
                                                             int* position);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorPositionAndScale(
    const mluOpTensorDescriptor_t desc, int* position, float* scale);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorDescriptorPositionScaleAndOffset(
    const mluOpTensorDescriptor_t desc, int* position, float* scale, int* offset);

/* Create, set and destroy desc_num descriptors in one call. group_desc[i] points to the variable of
 * descriptor i. group_dimSize holds the dims of all tensors, one tensor after the other. On failure
 * no descriptor is created or changed. BAD_PARAM: a NULL argument or entry, desc_num < 1, and as
 * for the function that handles one descriptor. */
MLUOP_WIN_API mluOpStatus_t mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                              const int desc_num);
MLUOP_WIN_API mluOpStatus_t mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                           const mluOpTensorLayout_t group_layout[],
                                                           const mluOpDataType_t group_dtype[],
                                                           const int group_dimNb[],
                                                           const int group_dimSize[],
                                                           const int desc_num);
MLUOP_WIN_API mluOpStatus_t mluOpSetGroupTensorDescriptors_v2(
    mluOpTensorDescriptor_t* group_desc[], const mluOpTensorLayout_t group_layout[],
    const mluOpDataType_t group_dtype[], const int group_dimNb[], const int64_t group_dimSize[],
    const int desc_num);
MLUOP_WIN_API mluOpStatus_t
mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[], const int desc_num);

/* ------------------------------------------------------------ tensor sets
 *
 * A set of tensors in one buffer, one after the other in row-major order of their indices in the
 * set. setDimNb must be the set's number of dims; tensorIndex has one index per dim. A new member
 * has 0 elements.
 * BAD_PARAM, for all functions: a NULL argument, a setDimNb or an index out of range. */

/* setDimNb is in [1, MLUOP_DIM_MAX]; each setDimSize is at least 1. NOT_SUPPORTED: more than 65,536
 * members. ALLOC_FAILED. */
MLUOP_WIN_API mluOpStatus_t mluOpCreateTensorSetDescriptor(mluOpTensorSetDescriptor_t* tensorSet,
                                                           const int setDimNb,
                                                           const int setDimSize[]);
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSet,
                                                        int* setDimNb, int setDimSize[]);
/* Frees the set and the descriptors of its members. */
MLUOP_WIN_API mluOpStatus_t mluOpDestroyTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSet);

/* Sets a member. BAD_PARAM: also as for mluOpSetTensorDescriptor. The member is then unchanged. */
MLUOP_WIN_API mluOpStatus_t mluOpInitTensorSetMemberDescriptor(
    mluOpTensorSetDescriptor_t tensorSet, const int setDimNb, const int tensorIndex[],
    mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dimNb, const int dimSize[]);
MLUOP_WIN_API mluOpStatus_t mluOpInitTensorSetMemberDescriptorPositionAndScale(
    mluOpTensorSetDescriptor_t tensorSet, const int setDimNb, const int tensorIndex[],
    const int position, const float scale);

/* Writes the size of the buffer. NOT_SUPPORTED: it does not fit in int. */
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorSetDescriptorSize(mluOpTensorSetDescriptor_t tensorSet,
                                                            int* sizeInBytes);

/* Writes a member's descriptor, which belongs to the set, and its address in the buffer `data`.
 * NOT_SUPPORTED: the offset does not fit in 63 bits. */
MLUOP_WIN_API mluOpStatus_t mluOpGetTensorAndDataFromTensorSet(mluOpTensorSetDescriptor_t tensorSet,
                                                               const int setDimNb,
                                                               const int tensorIndex[], void* data,
                                                               mluOpTensorDescriptor_t* tensorDesc,
                                                               void** dataAddrInDevice);

/* ------------------------------------------------------------ psamask (PSANet)
 *
 *   hh = (h_mask-1)/2, hw = (w_mask-1)/2 (integer division; even masks are legal and asymmetric)
 *   for i, j with r = h+i-hh in [0,H) and s = w+j-hw in [0,W):
 *     psa_type COLLECT (0):     y[n,h,w, r*W+s] = x[n,h,w, i*w_mask+j]
 *     psa_type DISTRIBUTE (1):  y[n,r,s, h*W+w] = x[n,h,w, i*w_mask+j]
 *   All other elements of y are 0. Backward copies in the opposite direction: dx[...] = dy[...],
 *   and 0 for mask elements outside the map. Both directions copy bits exactly.
 *
 *   x, dx: [N, H, W, h_mask*w_mask] float NHWC     y, dy: [N, H, W, H*W] float NHWC
 *   psa_type in {0,1}; h_mask, w_mask >= 1. N*H*W = 0 is SUCCESS; nothing is written. */
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                                const mluOpTensorDescriptor_t x_desc, const void* x,
                                                const int h_mask, const int w_mask,
                                                const mluOpTensorDescriptor_t y_desc, void* y);
MLUOP_WIN_API mluOpStatus_t mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                                 const mluOpTensorDescriptor_t dy_desc,
                                                 const void* dy, const int h_mask, const int w_mask,
                                                 const mluOpTensorDescriptor_t dx_desc, void* dx);

/* ------------------------------------------------------------ masked_im2col
 *
 *   forward:   data_col[(c*kernel_h + i)*kernel_w + j, m] =
 *                feature[0, c, mask_h_idx[m]-pad_h+i, mask_w_idx[m]-pad_w+j], or 0 if the position
 *              is outside the feature. Copies bits exactly. Any int32 is a legal index or pad.
 *   backward:  grad_feature = 0, then each element of grad_col is added to the element of
 *              grad_feature that forward read.
 *   col2im:    im = 0, then im[0, c, mask_h_idx[m], mask_w_idx[m]] = col[c, m]. Indices outside
 *              the map are skipped. Of duplicate positions the last one wins. Copies bits exactly.
 *              Not the adjoint of im2col: that is backward.
 *   Backward has no getter of a workspace size. Pass NULL and 0: the handle holds its scratch.
 *
 *   feature, grad_feature, im: [1, C, H, W] of T, NCHW     mask_h_idx, mask_w_idx: [M] of int32
 *   data_col, grad_col: [C*kernel_h*kernel_w, M] of T      col: [C, M] of T
 *   T is half or float. kernel_h, kernel_w >= 1. Backward sums half values in float and rounds
 *   once. An empty feature, grad_feature or im is BAD_PARAM. M = 0 is SUCCESS: forward writes
 *   nothing, col2im and backward fill their output with zeros, the getters write 0. */
MLUOP_WIN_API mluOpStatus_t mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc,
    size_t* workspace_size);
MLUOP_WIN_API mluOpStatus_t mluOpMaskedIm2colForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void* feature,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void* data_col);
MLUOP_WIN_API mluOpStatus_t mluOpMaskedIm2colBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_col_desc, const void* grad_col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h,
    const int kernel_w, const int pad_h, const int pad_w, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_feature_desc,
    void* grad_feature);
MLUOP_WIN_API mluOpStatus_t mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const mluOpTensorDescriptor_t im_desc, size_t* workspace_size);
/* workspace_size precedes workspace here, as in MLU-OPS. */
MLUOP_WIN_API mluOpStatus_t mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void* col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx,
    const size_t workspace_size, void* workspace, const mluOpTensorDescriptor_t im_desc, void* im);

/* ------------------------------------------------------------ psroipool (R-FCN)
 *
 *   roi = [batch, x1, y1, x2, y2]; s = spatial_scale; G = group_size = pooled_height = pooled_width
 *   xs = round(x1)*s, xe = (round(x2)+1)*s     (halves away from zero; ys, ye likewise)
 *   bw = max(xe-xs, 0.1f)/pooled_width         (bh likewise)
 *   ws = clamp(floor(pw*bw + xs), 0, W), we = clamp(ceil((pw+1)*bw + xs), 0, W)
 *                                              (hs, he likewise)
 *   ch = (c*G + ph)*G + pw
 *   forward:   output[r,ph,pw,c] = mean of input[batch, hs:he, ws:we, ch], 0 for an empty bin;
 *              mapping_channel[r,ph,pw,c] = ch, also for empty bins and RoIs
 *   backward:  bottom_grad = 0, then top_grad/area is added to each pixel of the bin, in channel
 *              mapping_channel
 *   A RoI is empty if one of its values, or one of xs, xe, ys, ye, bw, bh, is not finite. It is
 *   also empty if its batch, truncated to an integer, is outside [0,N). Backward skips a
 *   mapping_channel outside [0, channels).
 *
 *   input, bottom_grad: [N, H, W, pooled_height*pooled_width*output_dim] float NHWC
 *   output, top_grad: [R, pooled_height, pooled_width, output_dim] float NHWC
 *   mapping_channel: the shape of output, int32    rois: [R, 5] float
 *   pooled_*, group_size, output_dim >= 1 (backward: pooled_* >= 0); spatial_scale > 0 and finite.
 *   Empty tensors. Forward: an empty input is SUCCESS; else empty rois are BAD_PARAM. Backward:
 *   empty rois are BAD_PARAM; else any other empty tensor is SUCCESS. */
MLUOP_WIN_API mluOpStatus_t mluOpGetPsRoiPoolForwardWorkspaceSize(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width, const int output_dim,
    const mluOpTensorDescriptor_t input_desc, const mluOpTensorDescriptor_t rois_desc,
    size_t* workspace_size);
MLUOP_WIN_API mluOpStatus_t mluOpPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int group_size, const int output_dim,
    const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel);
MLUOP_WIN_API mluOpStatus_t mluOpPsRoiPoolBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int output_dim, const mluOpTensorDescriptor_t top_grad_desc,
    const void* top_grad, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t mapping_channel_desc, const void* mapping_channel,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad);

/* ------------------------------------------------------------ border_align (BorderDet)
 *
 *   box = [x1, y1, x2, y2], P = pool_size. Channels b*C to b*C + C-1 belong to border b, which is
 *   sampled at P+1 points:
 *     0 top:     from (x1,y1), steps (+(x2-x1)/P, 0)
 *     1 left:    from (x1,y1), steps (0, +(y2-y1)/P)
 *     2 bottom:  from (x2,y2), steps (-(x2-x1)/P, 0)
 *     3 right:   from (x2,y2), steps (0, -(y2-y1)/P)
 *   forward:   output[n,k,b,c] = the maximum of the bilinear samples; argmax_idx = its index 0..P.
 *              The first of equal maxima wins. A NaN in sample 0 is the result; a NaN in a later
 *              sample is ignored.
 *   backward:  grad_input = 0, then each gradient, times the bilinear weights, is added to the four
 *              neighbours of the chosen sample
 *   bilinear(y,x): 0 unless -1 <= y <= H and -1 <= x <= W (NaN is outside). Otherwise:
 *     y = max(y, 0); low = int(y); if low >= H-1 then low = high = H-1 and y = low, else
 *     high = low+1. The same for x. With l = y - low (fraction) and m likewise for x, the weights
 *     are (1-l)*(1-m), (1-l)*m, l*(1-m), l*m of (low,low), (low,high), (high,low), (high,high).
 *   A sample outside the map has value 0 and takes part in the maximum. Backward skips an
 *   argmax_idx outside [0,P].
 *
 *   input, grad_input: [N, H, W, 4*C] of T, NHWC     boxes: [N, K, 4] of T
 *   output, grad_output: [N, K, 4, C] of T, NHWC     argmax_idx: [N, K, 4, C] int32, NHWC
 *   T is half or float. pool_size >= 1; above 65,536 is NOT_SUPPORTED. Any empty tensor is
 *   BAD_PARAM. */
MLUOP_WIN_API mluOpStatus_t mluOpBorderAlignForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes, const int32_t pool_size,
    const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t argmax_idx_desc, void* argmax_idx);
MLUOP_WIN_API mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void* argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* ------------------------------------------------------------ roiaware_pool3d (PartA2)
 *
 *   roi = [cx, cy, cz, dx, dy, dz, rz]; cz is the z of the bottom face
 *   (lx, ly) = (x-cx, y-cy) rotated by -rz
 *   inside: |z - (cz+dz/2)| <= dz/2 and |lx| < dx/2 and |ly| < dy/2
 *   voxel: ix = clamp(int((lx+dx/2)/(dx/out_x)), 0, out_x-1), iy likewise,
 *          iz = clamp(int((z-cz)/(dz/out_z)), 0, out_z-1)
 *   forward:   pts_idx_of_voxels[...,0] = count, at most max_pts_each_voxel-1, then the points'
 *              indices in ascending order, then zeros.
 *              pool_method MAX (0): pooled_features = the maximum, argmax = the index of its point;
 *              0 and -1 in an empty voxel. AVG (1): pooled_features = the mean, 0 in an empty
 *              voxel; argmax = 0.
 *   backward:  grad_in = 0, then MAX: grad_in[argmax, c] += grad_out;
 *              AVG: grad_in[each point of the voxel, c] += grad_out / count.
 *   cos and sin are computed in double and rounded to float. A NaN coordinate is outside. dz = 0
 *   gives iz = 0. Backward skips indices outside [0, pts_num), clamps counts to
 *   [0, max_pts_each_voxel-1], and divides the gradient of the mean by the clamped count. In AVG
 *   argmax may be absent: descriptor and pointer are NULL. In forward one NULL is enough.
 *
 *   rois: [boxes_num, 7], pts: [pts_num, 3], pts_feature, grad_in: [pts_num, channels], all of T
 *   argmax: [boxes_num, out_x, out_y, out_z, channels] int32
 *   pooled_features, grad_out: the shape of argmax, of T
 *   pts_idx_of_voxels: [boxes_num, out_x, out_y, out_z, max_pts_each_voxel] int32
 *   T is half or float; any layout. Every attribute is at least 1 and equal to its dim in the
 *   shapes. Any empty tensor is BAD_PARAM. Each function has two spellings, Roiaware and
 *   RoiAware. The getter also accepts NULL for rois_desc (the size is then for one box) and
 *   pts_desc, and 0 points (size 0). */
MLUOP_WIN_API mluOpStatus_t mluOpGetRoiawarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc,
    const mluOpTensorDescriptor_t pts_desc, const mluOpTensorDescriptor_t pts_feature_desc,
    size_t* workspace_size);
MLUOP_WIN_API mluOpStatus_t mluOpRoiawarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num,
    const int channels, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t pts_desc, const void* pts,
    const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y,
    const int out_z, const mluOpTensorDescriptor_t argmax_desc, void* argmax,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features);
MLUOP_WIN_API mluOpStatus_t mluOpRoiawarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x,
    const int out_y, const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax,
    const mluOpTensorDescriptor_t grad_out_desc, const void* grad_out,
    const mluOpTensorDescriptor_t grad_in_desc, void* grad_in);
MLUOP_WIN_API mluOpStatus_t mluOpGetRoiAwarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc,
    const mluOpTensorDescriptor_t pts_desc, const mluOpTensorDescriptor_t pts_feature_desc,
    size_t* workspace_size);
MLUOP_WIN_API mluOpStatus_t mluOpRoiAwarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num,
    const int channels, const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t pts_desc, const void* pts,
    const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y,
    const int out_z, const mluOpTensorDescriptor_t argmax_desc, void* argmax,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features);
MLUOP_WIN_API mluOpStatus_t mluOpRoiAwarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x,
    const int out_y, const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax,
    const mluOpTensorDescriptor_t grad_out_desc, const void* grad_out,
    const mluOpTensorDescriptor_t grad_in_desc, void* grad_in);

/* ------------------------------------------------------------ points_in_boxes
 *
 *   box = [cx, cy, cz, dx, dy, dz, rz]; cz is the bottom. The test is that of roiaware_pool3d:
 *     lx = (x-cx)*cos(-rz) - (y-cy)*sin(-rz), ly = (x-cx)*sin(-rz) + (y-cy)*cos(-rz)
 *     inside: |z - (cz+dz/2)| <= dz/2 and |lx| < dx/2 and |ly| < dy/2; NaN is outside
 *   points_indices[b, m] = the first box of scene b that holds point m, or -1
 *
 *   points [B, M, 3] float, boxes [B, T, 7] float, points_indices [B, M] int32; any layout.
 *   Empty boxes are BAD_PARAM. Empty points are SUCCESS; nothing is written. */
MLUOP_WIN_API mluOpStatus_t
mluOpPointsInBoxes(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                   const void* points, const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                   const mluOpTensorDescriptor_t points_indices_desc, void* points_indices);

#if defined(__cplusplus)
} /* extern "C" */
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/* mluOpPsRoiPoolForward without the two workspace arguments, as in current MLU-OPS: 14 arguments.
 * In C++ it is an overload. To take the address of the function, cast it to the type of either
 * form; without a cast it is ambiguous. In C it is a macro that counts its arguments; the name
 * without parentheses is the function with 16 arguments, the only one that the library exports. */
#if defined(__cplusplus)
extern "C++" {
inline mluOpStatus_t mluOpPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int group_size, const int output_dim,
    const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel) {
  return mluOpPsRoiPoolForward(handle, pooled_height, pooled_width, spatial_scale, group_size,
                               output_dim, input_desc, input, rois_desc, rois, nullptr, 0,
                               output_desc, output, mapping_channel_desc, mapping_channel);
}
} /* extern "C++" */
#else
static inline mluOpStatus_t mluops_ps_roi_pool_forward_14(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int group_size, const int output_dim,
    const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois,
    const mluOpTensorDescriptor_t output_desc, void* output,
    const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel) {
  return mluOpPsRoiPoolForward(handle, pooled_height, pooled_width, spatial_scale, group_size,
                               output_dim, input_desc, input, rois_desc, rois, NULL, 0, output_desc,
                               output, mapping_channel_desc, mapping_channel);
}
/* Selects the 17th argument: the function for the number of arguments of a call. Any number but 14
 * selects the function with 16 arguments, so that a wrong number is the usual compile error. */
#define MLUOPS_SELECT_17TH(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, \
                           function, ...)                                                         \
  function
#define mluOpPsRoiPoolForward(...)                                                                \
  MLUOPS_SELECT_17TH(__VA_ARGS__, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward,                   \
                     mluops_ps_roi_pool_forward_14, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward, \
                     mluOpPsRoiPoolForward, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward,         \
                     mluOpPsRoiPoolForward, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward,         \
                     mluOpPsRoiPoolForward, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward,         \
                     mluOpPsRoiPoolForward, mluOpPsRoiPoolForward, mluOpPsRoiPoolForward)         \
  (__VA_ARGS__)
#endif

#endif /* MLU_OP_H_ */
