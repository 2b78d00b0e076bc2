/* SPDX-License-Identifier: Apache-2.0 */
/* Enums of the common part of MLU-OPS's header that no operator of mluops reads. mlu_op.h includes
 * this file, so that clients that mention these types compile. C99 and C++11. */
#ifndef MLUOPS_COMMON_TYPES_H_
#define MLUOPS_COMMON_TYPES_H_

typedef enum {
  MLUOP_REDUCE_DSUM = 0,
  MLUOP_REDUCE_DMEAN = 1,
  MLUOP_REDUCE_DMAX = 2
} mluOpReduceMode_t;

typedef enum {
  MLUOP_POOLING_MAX = 0,
  MLUOP_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
  MLUOP_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
  MLUOP_POOLING_FIXED = 3
} mluOpPoolingMode_t;

typedef enum {
  MLUOP_NMS_OUTPUT_TARGET_INDICES = 0,
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 = 1,
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2 = 2,
  MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS = 3
} mluOpNmsOutputMode_t;

typedef enum { MLUOP_NMS_BOX_DIAGONAL = 0, MLUOP_NMS_BOX_CENTER = 1 } mluOpNmsBoxPointMode_t;

typedef enum {
  MLUOP_NMS_HARD_NMS = 0,
  MLUOP_NMS_SOFT_NMS_LINEAR = 1,
  MLUOP_NMS_SOFT_NMS_GAUSSIAN = 2
} mluOpNmsMethodMode_t;

typedef enum {
  MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY = 0,
  MLUOP_NMS_ALGO_INCLUDE_BOUNDARY = 1
} mluOpNmsAlgo_t;

typedef enum {
  MLUOP_COMPUTATION_FAST = 0,
  MLUOP_COMPUTATION_HIGH_PRECISION = 1,
  MLUOP_COMPUTATION_ULTRAHIGH_PRECISION = 2
} mluOpComputationPreference_t;

typedef enum { MLUOP_NOT_PROPAGATE_NAN = 0, MLUOP_PROPAGATE_NAN = 1 } mluOpNanPropagation_t;

typedef enum {
  MLUOP_QUANTIZE_POSITION = 0,
  MLUOP_QUANTIZE_POSITION_SCALE = 1,
  MLUOP_QUANTIZE_POSITION_SCALE_OFFSET = 2
} mluOpQuantizeMode_t;

typedef enum { MLUOP_LOG_E = 0, MLUOP_LOG_2 = 1, MLUOP_LOG_10 = 2 } mluOpLogBase_t;

typedef enum {
  MLUOP_LOSS_REDUCTION_NONE = 0,
  MLUOP_LOSS_REDUCTION_SUM = 1,
  MLUOP_LOSS_REDUCTION_MEAN = 2
} mluOpLossReduction_t;

typedef enum { MLUOP_32BIT_INDICES = 0, MLUOP_16BIT_INDICES = 1 } mluOpIndicesType_t;

typedef enum {
  MLUOP_SEQDATA_TNC = 0,
  MLUOP_SEQDATA_TNC_PACKED = 1,
  MLUOP_SEQDATA_NTC = 2,
  MLUOP_SEQDATA_NC = 3,
  MLUOP_SEQDATA_TNBC = 4,
  MLUOP_SEQDATA_TBNC = 5,
  MLUOP_SEQDATA_NBTC = 6,
  MLUOP_SEQDATA_NTBC = 7,
  MLUOP_SEQDATA_BNTC = 8,
  MLUOP_SEQDATA_BTNC = 9,
  MLUOP_SEQDATA_TN = 10,
  MLUOP_SEQDATA_NT = 11
} mluOpSeqDataLayout_t;

typedef enum {
  MLUOP_ADAMW_WEIGHT_DECAY = 0,
  MLUOP_ADAMW_GRAD_SCALE = 1,
  MLUOP_ADAMW_USE_NESTEROV = 2,
  MLUOP_ADAMW_NEED_REMOVE_NAN = 3
} mluOpAdamWDescAttribute_t;

#endif /* MLUOPS_COMMON_TYPES_H_ */
