/* SPDX-License-Identifier: Apache-2.0 */
/* A C99 program for MLU-OPS that knows nothing of mluops. It includes mlu_op.h alone, has the usual
 * macros, mentions types of other operators, and calls psroipool with 14 arguments. */
#include "mlu_op.h"

#include <stdio.h>
#include <stdlib.h>

#define MLUOP_CHECK(expr)                                                              \
  do {                                                                                 \
    mluOpStatus_t status_ = (expr);                                                    \
    if (status_ != MLUOP_STATUS_SUCCESS) {                                             \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, mluOpGetErrorString(status_)); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

#if MLUOP_VERSION < 100
#error "needs MLU-OPS 0.1"
#endif

/* Wrappers that load the library with dlopen write such types. */
typedef mluOpStatus_t(MLUOP_WIN_API* PsRoiPool16)(mluOpHandle_t, const int, const int, const float,
                                                  const int, const int,
                                                  const mluOpTensorDescriptor_t, const void*,
                                                  const mluOpTensorDescriptor_t, const void*, void*,
                                                  const size_t, const mluOpTensorDescriptor_t,
                                                  void*, const mluOpTensorDescriptor_t, void*);
typedef mluOpStatus_t MLUOP_WIN_API CreateFunction(mluOpHandle_t*);

struct OtherOperators {
  mluOpReduceMode_t reduce;
  mluOpPoolingMode_t pooling;
  mluOpNmsOutputMode_t nms_output;
  mluOpNmsBoxPointMode_t nms_box;
  mluOpNmsMethodMode_t nms_method;
  mluOpNmsAlgo_t nms_algo;
  mluOpComputationPreference_t preference;
  mluOpNanPropagation_t nan;
  mluOpQuantizeMode_t quantize;
  mluOpLogBase_t log_base;
  mluOpLossReduction_t loss;
  mluOpIndicesType_t indices;
  mluOpSeqDataLayout_t seq_layout;
  mluOpAdamWDescAttribute_t adamw;
};
static const struct OtherOperators kLast = {MLUOP_REDUCE_DMAX,
                                            MLUOP_POOLING_FIXED,
                                            MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS,
                                            MLUOP_NMS_BOX_CENTER,
                                            MLUOP_NMS_SOFT_NMS_GAUSSIAN,
                                            MLUOP_NMS_ALGO_INCLUDE_BOUNDARY,
                                            MLUOP_COMPUTATION_ULTRAHIGH_PRECISION,
                                            MLUOP_PROPAGATE_NAN,
                                            MLUOP_QUANTIZE_POSITION_SCALE_OFFSET,
                                            MLUOP_LOG_10,
                                            MLUOP_LOSS_REDUCTION_MEAN,
                                            MLUOP_16BIT_INDICES,
                                            MLUOP_SEQDATA_NT,
                                            MLUOP_ADAMW_NEED_REMOVE_NAN};

static void* ToDevice(void* host, size_t bytes) {
  void* device = NULL;
  CNRT_CHECK(cnrtMalloc(&device, bytes));
  CNRT_CHECK(cnrtMemcpy(device, host, bytes, CNRT_MEM_TRANS_DIR_HOST2DEV));
  return device;
}

static mluOpTensorDescriptor_t MakeDesc(mluOpDataType_t dtype, int n, const int* dims) {
  mluOpTensorDescriptor_t desc;
  MLUOP_CHECK(mluOpCreateTensorDescriptor(&desc));
  MLUOP_CHECK(mluOpSetTensorDescriptor(desc, n == 4 ? MLUOP_LAYOUT_NHWC : MLUOP_LAYOUT_ARRAY, dtype,
                                       n, dims));
  return desc;
}

static int PsRoiPool(mluOpHandle_t handle) {
  float input[] = {1, 3}, rois[] = {0, 0, 0, 1, 0}, output = -1;
  const int input_dims[] = {1, 1, 2, 1}, rois_dims[] = {1, 5}, output_dims[] = {1, 1, 1, 1};
  PsRoiPool16 forward = mluOpPsRoiPoolForward; /* the name without parentheses: 16 arguments */
  mluOpTensorDescriptor_t input_desc = MakeDesc(MLUOP_DTYPE_FLOAT, 4, input_dims);
  mluOpTensorDescriptor_t rois_desc = MakeDesc(MLUOP_DTYPE_FLOAT, 2, rois_dims);
  mluOpTensorDescriptor_t output_desc = MakeDesc(MLUOP_DTYPE_FLOAT, 4, output_dims);
  mluOpTensorDescriptor_t mapping_desc = MakeDesc(MLUOP_DTYPE_INT32, 4, output_dims);
  void* input_dev = ToDevice(input, sizeof(input));
  void* rois_dev = ToDevice(rois, sizeof(rois));
  void* output_dev = ToDevice(&output, sizeof(output));
  void* mapping_dev = ToDevice(&output, sizeof(output));
  MLUOP_CHECK(mluOpPsRoiPoolForward(handle, 1, 1, 1.0f, 1, 1, input_desc, input_dev, rois_desc,
                                    rois_dev, output_desc, output_dev, mapping_desc, mapping_dev));
  CNRT_CHECK(cnrtMemcpy(&output, output_dev, sizeof(output), CNRT_MEM_TRANS_DIR_DEV2HOST));
  if (output != 2) return 3;
  MLUOP_CHECK(forward(handle, 1, 1, 1.0f, 1, 1, input_desc, input_dev, rois_desc, rois_dev, NULL, 0,
                      output_desc, output_dev, mapping_desc, mapping_dev));
  CNRT_CHECK(cnrtFree(mapping_dev));
  CNRT_CHECK(cnrtFree(output_dev));
  CNRT_CHECK(cnrtFree(rois_dev));
  CNRT_CHECK(cnrtFree(input_dev));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(mapping_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(output_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(rois_desc));
  MLUOP_CHECK(mluOpDestroyTensorDescriptor(input_desc));
  return 0;
}

int main(void) {
  CreateFunction* create = mluOpCreate;
  mluOpHandle_t handle;
  if (kLast.reduce != 2 || kLast.pooling != 3 || kLast.nms_output != 3 || kLast.nms_box != 1 ||
      kLast.nms_method != 2 || kLast.nms_algo != 1 || kLast.preference != 2 || kLast.nan != 1 ||
      kLast.quantize != 2 || kLast.log_base != 2 || kLast.loss != 2 || kLast.indices != 1 ||
      kLast.seq_layout != 11 || kLast.adamw != 3) {
    return 2;
  }
  CNRT_CHECK(cnrtSetDevice(0));
  MLUOP_CHECK(create(&handle));
  const int failed = PsRoiPool(handle);
  MLUOP_CHECK(mluOpDestroy(handle));
  return failed;
}
