// SPDX-License-Identifier: Apache-2.0
// Copies, fills and synchronisation. Sizes and strides of copies are bytes, counts of fills are
// elements, and every segment number is the number of segments minus one.
#pragma once

#include <array>

#include "bang/instruction.h"

// Calls X(direction, from, to) for every direction, in the order of their values.
// clang-format off
#define BANG_DIRECTIONS(X)                                                                    \
  X(GDRAM2NRAM, Gdram, Nram) X(NRAM2GDRAM, Nram, Gdram) X(LDRAM2NRAM, Ldram, Nram)            \
  X(NRAM2LDRAM, Nram, Ldram) X(GDRAM2WRAM, Gdram, Wram) X(WRAM2GDRAM, Wram, Gdram)            \
  X(LDRAM2WRAM, Ldram, Wram) X(WRAM2LDRAM, Wram, Ldram) X(NRAM2NRAM, Nram, Nram)              \
  X(NRAM2WRAM, Nram, Wram)   X(WRAM2NRAM, Wram, Nram)   X(GDRAM2SRAM, Gdram, Sram)            \
  X(SRAM2GDRAM, Sram, Gdram) X(LDRAM2SRAM, Ldram, Sram) X(SRAM2LDRAM, Sram, Ldram)            \
  X(SRAM2NRAM, Sram, Nram)   X(NRAM2SRAM, Nram, Sram)   X(SRAM2WRAM, Sram, Wram)              \
  X(WRAM2SRAM, Wram, Sram)   X(GDRAM2GDRAM, Gdram, Gdram) X(GDRAM2LDRAM, Gdram, Ldram)        \
  X(LDRAM2GDRAM, Ldram, Gdram) X(LDRAM2LDRAM, Ldram, Ldram) X(SRAM2SRAM, Sram, Sram)
#define BANG_ENUMERATOR(direction, from, to) direction,
typedef enum { BANG_DIRECTIONS(BANG_ENUMERATOR) } mluMemcpyDirection_t;
// clang-format on

namespace bang {

enum class Form : uint8_t { k1D, k2D, k3D };

// The segments of one side: segment k starts at (k % inner) * stride0 + (k / inner) * stride1.
struct Segments {
  Form form = Form::k1D;
  int64_t stride0 = 0;
  uint32_t inner = 1;
  int64_t stride1 = 0;
  uint32_t outer = 1;

  static Segments Rows(int64_t stride, uint32_t segnum) { return {Form::k2D, stride, segnum + 1}; }
  static Segments Blocks(int64_t stride0, uint32_t segnum1, int64_t stride1, uint32_t segnum2) {
    return {Form::k3D, stride0, segnum1 + 1, stride1, segnum2 + 1};
  }
  size_t count() const { return size_t{inner} * outer; }
  int64_t Offset(size_t k) const {
    return static_cast<int64_t>(k % inner) * stride0 + static_cast<int64_t>(k / inner) * stride1;
  }
};

// One side of a copy: segments of `size` bytes.
struct End {
  const void* data;
  size_t size;
  Segments segments = {};
};
// Segments of n elements.
template <class T>
End EndOf(const T* data, size_t n, const Segments& segments = {}) {
  return {data, n * sizeof(T), segments};
}

inline constexpr unsigned kOwnCluster = ~0u;
struct CopyCall {
  const char* name;
  bool async;  // false: complete before the next instruction starts
  mluMemcpyDirection_t direction;
  unsigned cluster = kOwnCluster;  // the cluster that has the destination
  bool is_move = false;            // __bang_move, which runs on Compute
};
BANG_API void Copy(const CopyCall& call, const End& to, const End& from, Where where);

// Converts n elements per segment with `one`, on Move.
BANG_API void ConvertSegments(const Instruction& instruction, const End& to, const End& from,
                              unsigned n, void (*one)(void* to, const void* from), Where where);

// Gather and scatter: `offsets` in bytes to each segment on one side. The data of `mask` may be NULL.
struct GatherCall {
  const char* name;
  bool async, scatter;
  Operand offsets, mask;
  int64_t stride;
};
// `direction` NULL: it follows from the addresses.
BANG_API void Gather(const GatherCall& call, const End& to, const End& from,
                     const mluMemcpyDirection_t* direction, Where where);

struct FillCall {
  const char* name;
  bool async;  // true on Compute, which other queues must synchronize with
  Queue queue;
  Space space;
  Rule rule;
};
// `width`: the bytes of the value.
BANG_API void Fill(const FillCall& call, const End& to, const void* value, unsigned width,
                   Where where);

using QueueSet = std::array<bool, 3>;  // by Queue
BANG_API void Synchronize(const char* name, const QueueSet& producers, const QueueSet& consumers,
                          Where where);

struct Barrier {
  const char* name;
  bool of_cluster, has_mlu_cores, has_memory_cores;
};
BANG_API void Wait(const Barrier& barrier, Where where);

namespace intrinsics {

// The 1D, 2D and 3D form. `direction` and `cluster` are further parameters.
#define BANG_COPY(name, direction, cluster, ...)                                                 \
  inline void name(void* dst, const void* src, unsigned size direction cluster, BANG_WHERE) {    \
    Copy({#name, __VA_ARGS__}, {dst, size}, {src, size}, where);                                 \
  }                                                                                              \
  inline void name(void* dst, const void* src, unsigned size direction, unsigned dst_stride,     \
                   int src_stride, unsigned segnum cluster, BANG_WHERE) {                        \
    Copy({#name, __VA_ARGS__}, {dst, size, Segments::Rows(dst_stride, segnum)},                  \
         {src, size, Segments::Rows(src_stride, segnum)}, where);                                \
  }                                                                                              \
  inline void name(void* dst, const void* src, unsigned size direction, int dst_stride0,         \
                   unsigned dst_segnum1, int dst_stride1, unsigned dst_segnum2, int src_stride0, \
                   unsigned src_segnum1, int src_stride1, unsigned src_segnum2 cluster,          \
                   BANG_WHERE) {                                                                 \
    Copy({#name, __VA_ARGS__},                                                                   \
         {dst, size, Segments::Blocks(dst_stride0, dst_segnum1, dst_stride1, dst_segnum2)},      \
         {src, size, Segments::Blocks(src_stride0, src_segnum1, src_stride1, src_segnum2)},      \
         where);                                                                                 \
  }
#define BANG_DIRECTION , mluMemcpyDirection_t dir
#define BANG_CLUSTER , unsigned id_dst_cluster = kOwnCluster  // with SRAM2SRAM, not on 5xx
BANG_COPY(__memcpy, BANG_DIRECTION, BANG_CLUSTER, false, dir, id_dst_cluster)
BANG_COPY(__memcpy_async, BANG_DIRECTION, , true, dir)
BANG_COPY(__bang_move, , , true, NRAM2NRAM, kOwnCluster, true)

// offset: bytes, in NRAM; bit k of mask skips segment k when it is 0.
#define BANG_GATHER_FORM(name, is_async, is_scatter, mask, direction, ...)             \
  template <Unsigned O>                                                                \
  void name(void* dst, const void* src, const O* offset, __VA_ARGS__, int stride,      \
            unsigned transfer_num, BANG_WHERE) {                                       \
    Gather({#name, is_async, is_scatter, In("offset", offset, transfer_num, kDecides), \
            Bits("mask", mask, transfer_num), stride},                                 \
           {dst, transfer_size}, {src, transfer_size}, direction, where);              \
  }
#define BANG_GATHER(name, ...)                                                              \
  BANG_GATHER_FORM(name, __VA_ARGS__, mask, &dir, const void* mask, unsigned transfer_size, \
                   mluMemcpyDirection_t dir)                                                \
  BANG_GATHER_FORM(name, __VA_ARGS__, nullptr, &dir, unsigned transfer_size,                \
                   mluMemcpyDirection_t dir)
BANG_GATHER(__gather, false, false)
BANG_GATHER(__gather_async, true, false)
BANG_GATHER(__scatter, false, true)
BANG_GATHER(__scatter_async, true, true)
// The newer gather takes the direction from its addresses.
BANG_GATHER_FORM(__bang_gather_async, true, false, mask, nullptr, const void* mask,
                 unsigned transfer_size)

// The width of a fill is that of the value: pass (half)0, not 0, to a half buffer.
#define BANG_FILL(name, segments, rule, is_async, queue, space, ...)                          \
  template <Element T>                                                                        \
  void name(void* dst, unsigned n, T value __VA_OPT__(, ) __VA_ARGS__, BANG_WHERE) {          \
    Fill({#name, is_async, Queue::queue, Space::space, rule}, {dst, n * sizeof(T), segments}, \
         &value, sizeof(T), where);                                                           \
  }
#define BANG_FILL_1D(name, rule, ...) BANG_FILL(name, Segments(), rule, __VA_ARGS__)
#define BANG_FILL_2D(name, ...)                                                          \
  BANG_FILL(name, Segments::Rows(stride, segnum), kNoRule, __VA_ARGS__, unsigned stride, \
            unsigned segnum)
#define BANG_FILL_3D(name, ...)                                                               \
  BANG_FILL(name, Segments::Blocks(stride0, segnum1, stride1, segnum2), kNoRule, __VA_ARGS__, \
            unsigned stride0, unsigned segnum1, unsigned stride1, unsigned segnum2)
#define BANG_FILL_STRIDED(name, ...) BANG_FILL_2D(name, __VA_ARGS__) BANG_FILL_3D(name, __VA_ARGS__)
#define BANG_FILL_ALL(name, ...) \
  BANG_FILL_1D(name, kNoRule, __VA_ARGS__) BANG_FILL_STRIDED(name, __VA_ARGS__)
BANG_FILL_1D(__bang_write_value, k2xx64, true, kCompute, kNram)
BANG_FILL_3D(__bang_write_value, true, kCompute, kNram)
BANG_FILL_1D(__memset_nram, kNoRule, false, kMove, kNram)
BANG_FILL_1D(__memset_nram_async, kNoRule, true, kMove, kNram)
BANG_FILL_1D(__nramset, kNoRule, true, kCompute, kNram)
BANG_FILL_STRIDED(__nramset, false, kMove, kNram)
BANG_FILL_STRIDED(__nramset_async, true, kMove, kNram)
BANG_FILL_ALL(__gdramset, false, kIo, kGdram)
BANG_FILL_ALL(__gdramset_async, true, kIo, kGdram)
BANG_FILL_ALL(__ldramset, false, kIo, kLdram)
BANG_FILL_ALL(__ldramset_async, true, kIo, kLdram)
BANG_FILL_ALL(__sramset, false, kMove, kSram)
BANG_FILL_ALL(__sramset_async, true, kMove, kSram)
template <Element T>
void __bang_write_zero(T* dst, unsigned n, BANG_WHERE) {
  const T zero = T(0);
  Fill({"__bang_write_zero", true, Queue::kCompute, Space::kNram, k2xx}, EndOf(dst, n), &zero,
       sizeof(T), where);
}

#define BANG_SYNC(name, io, move, compute)                              \
  inline void name(BANG_WHERE) {                                        \
    Synchronize(#name, {io, move, compute}, {true, true, true}, where); \
  }
BANG_SYNC(__sync, true, true, true)
BANG_SYNC(__sync_io, true, false, false)
BANG_SYNC(__sync_move, false, true, false)
BANG_SYNC(__sync_compute, false, false, true)
inline void __sync_io_move_compute(bool io_p = true, bool move_p = true, bool compute_p = true,
                                   bool io_c = true, bool move_c = true, bool compute_c = true,
                                   BANG_WHERE) {
  Synchronize("__sync_io_move_compute", {io_p, move_p, compute_p}, {io_c, move_c, compute_c},
              where);
}

#define BANG_BARRIER(name, of_cluster, has_mlu_cores, has_memory_cores) \
  inline void name(BANG_WHERE) {                                        \
    Wait({#name, of_cluster, has_mlu_cores, has_memory_cores}, where);  \
  }
BANG_BARRIER(__sync_cluster, true, true, true)
BANG_BARRIER(__sync_all, false, true, true)
BANG_BARRIER(__sync_all_ipu, false, true, false)
BANG_BARRIER(__sync_all_mpu, false, false, true)
BANG_BARRIER(__sync_all_ipu_within_cluster, true, true, false)

}  // namespace intrinsics
}  // namespace bang
