/* SPDX-License-Identifier: Apache-2.0 */
/* The subset of CNRT, Cambricon's runtime, that callers of the operators need: memory, copies,
 * devices, queues, notifiers. With it a program written for MLU-OPS builds and runs unchanged. On
 * the CPU, device memory is host memory, and every call is complete when it returns. C99 and C++11.
 *
 * Any result but cnrtSuccess sets the thread's error message: see mluOpGetLastErrorMessage() in
 * extensions.h. */
#ifndef MLUOPS_RUNTIME_H_
#define MLUOPS_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
  cnrtSuccess = 0,
  cnrtErrorArgsInvalid = 100001, /* a NULL pointer, a bad ordinal, a bad direction */
  cnrtErrorNoDevice = 100004,    /* MLUOP_VISIBLE_DEVICES names no usable device */
  cnrtErrorNoMem = 100100,       /* out of memory */
  cnrtErrorUnknown = 999999      /* any other error */
} cnrtRet_t;
#define CNRT_RET_SUCCESS cnrtSuccess

typedef enum {
  cnrtMemcpyHostToDev = 0,
  cnrtMemcpyDevToDev,
  cnrtMemcpyDevToHost,
  cnrtMemcpyHostToHost,
  cnrtMemcpyPeerToPeer,
  cnrtMemcpyNoDirection
} cnrtMemTransDir_t;
#define CNRT_MEM_TRANS_DIR_HOST2DEV cnrtMemcpyHostToDev
#define CNRT_MEM_TRANS_DIR_DEV2DEV cnrtMemcpyDevToDev
#define CNRT_MEM_TRANS_DIR_DEV2HOST cnrtMemcpyDevToHost
#define CNRT_MEM_TRANS_DIR_HOST2HOST cnrtMemcpyHostToHost
#define CNRT_MEM_TRANS_DIR_PEER2PEER cnrtMemcpyPeerToPeer
#define CNRT_MEM_TRANS_DIR_NODIR cnrtMemcpyNoDirection

typedef struct cnrtQueue* cnrtQueue_t; /* a queue of work on a device */
typedef struct cnrtNotifier* cnrtNotifier_t;

/* GetErrorStr returns the enumerator's name and its meaning, "unknown error" for any other value.
 * GetErrorName returns the name alone, "cnrtErrorUnknown" for any other value. Never NULL. */
const char* cnrtGetErrorStr(cnrtRet_t error);
const char* cnrtGetErrorName(cnrtRet_t error);

/* MLUOP_VISIBLE_DEVICES lists the visible devices. By default these are the CPU, then all CUDA
 * devices. Each thread has its own current device, initially 0. */
cnrtRet_t cnrtGetDeviceCount(unsigned int* count);
cnrtRet_t cnrtGetDevice(int* ordinal);
cnrtRet_t cnrtSetDevice(int ordinal);
/* Waits for all work on the current device. */
cnrtRet_t cnrtSyncDevice(void);

/* Allocate and free memory of the current device, aligned to at least 64 bytes. An allocation of 0
 * bytes succeeds, and its pointer may be freed. */
cnrtRet_t cnrtMalloc(void** ptr, size_t bytes);
cnrtRet_t cnrtFree(void* ptr);
/* Allocate and free host memory. On a CUDA device it is pinned, which makes copies faster. */
cnrtRet_t cnrtHostMalloc(void** ptr, size_t bytes);
cnrtRet_t cnrtFreeHost(void* ptr);
cnrtRet_t cnrtHostFree(void* ptr);

/* src and dst must not overlap. Copying 0 bytes succeeds with any pointers. Otherwise a NULL
 * pointer or a dir that is not an enumerator is cnrtErrorArgsInvalid. The Async functions run in
 * the order of the queue. */
cnrtRet_t cnrtMemcpy(void* dst, void* src, size_t bytes, cnrtMemTransDir_t dir);
cnrtRet_t cnrtMemcpyAsync(void* dst, void* src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t dir);
cnrtRet_t cnrtMemset(void* ptr, int value, size_t bytes);
cnrtRet_t cnrtMemsetAsync(void* ptr, int value, size_t bytes, cnrtQueue_t queue);

/* Queues of the current device. A NULL argument means the device's default queue. */
cnrtRet_t cnrtQueueCreate(cnrtQueue_t* queue);
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue);
cnrtRet_t cnrtQueueSync(cnrtQueue_t queue);

/* A notifier marks a point in a queue, as a CUDA event marks one in a stream. */
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t* notifier);
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier);
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);
cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier);
/* The time between two placed notifiers: in microseconds (Duration) or milliseconds
 * (ElapsedTime). */
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float* us);
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float* ms);

/* Prints the failed call and exits the program. For examples and tests. */
#ifndef CNRT_CHECK
#define CNRT_CHECK(call)                                            \
  do {                                                              \
    cnrtRet_t mluops_cnrt_check_ = (call);                          \
    if (mluops_cnrt_check_ != cnrtSuccess) {                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
              cnrtGetErrorStr(mluops_cnrt_check_));                 \
      exit(EXIT_FAILURE);                                           \
    }                                                               \
  } while (0)
#endif

#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* MLUOPS_RUNTIME_H_ */
