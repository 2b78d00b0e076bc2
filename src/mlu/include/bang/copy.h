// SPDX-License-Identifier: Apache-2.0
// Copies, fills and synchronisation. Sizes and strides of copies are bytes, counts of fills are
// elements, and every segment number is the number of segments minus one.
#pragma once

#include "bang/instruction.h"

typedef enum {
  GDRAM2NRAM,
  NRAM2GDRAM,
  LDRAM2NRAM,
  NRAM2LDRAM,
  GDRAM2WRAM,
  WRAM2GDRAM,
  LDRAM2WRAM,
  WRAM2LDRAM,
  NRAM2NRAM,
  NRAM2WRAM,
  WRAM2NRAM,
  GDRAM2SRAM,
  SRAM2GDRAM,
  LDRAM2SRAM,
  SRAM2LDRAM,
  SRAM2NRAM,
  NRAM2SRAM,
  SRAM2WRAM,
  WRAM2SRAM,
  GDRAM2GDRAM,
  GDRAM2LDRAM,
  LDRAM2GDRAM,
  LDRAM2LDRAM,
  SRAM2SRAM
} mluMemcpyDirection_t;

namespace bang {

// The segments of one side: segment k starts at (k % inner) * stride0 + (k / inner) * stride1.
struct Segments {
  int64_t stride0 = 0;
  uint32_t inner = 1;
  int64_t stride1 = 0;
  uint32_t outer = 1;

  size_t count() const { return size_t{inner} * outer; }
  int64_t Offset(size_t k) const {
    return static_cast<int64_t>(k % inner) * stride0 + static_cast<int64_t>(k / inner) * stride1;
  }
};

enum class Form : uint8_t { k1D, k2D, k3D };

struct CopyCall {
  const char* name;
  bool async;
  Form form;
  void* dst;
  const void* src;
  size_t size;
  mluMemcpyDirection_t direction;
  Segments to = {};
  Segments from = {};
};
BANG_API void Copy(const CopyCall& call, Where where);

// Gather: one address per segment on one side. `mask` may be NULL.
struct GatherCall {
  const char* name;
  bool async;
  bool scatter;
  void* dst;
  const void* src;
  const void* offsets;
  unsigned offset_width;
  const void* mask;
  size_t size;
  mluMemcpyDirection_t direction;
  int64_t stride;
  unsigned count;
};
BANG_API void Gather(const GatherCall& call, Where where);

struct FillCall {
  const char* name;
  bool async;
  Queue queue;
  Space space;
  void* dst;
  size_t count;  // elements per segment
  const void* value;
  unsigned width;
  Segments to = {};
  Rule rule = Rule::kNone;
  Form form = Form::k1D;
};
BANG_API void Fill(const FillCall& call, Where where);

struct SyncSet {
  bool io, move, compute;
};
BANG_API void Synchronize(const char* name, SyncSet producers, SyncSet consumers, Where where);

enum class Barrier : uint8_t { kCluster, kClusterIpu, kAll, kAllIpu, kAllMpu };
BANG_API void Wait(Barrier barrier, Where where);

BANG_API bool IsMemoryCore();
BANG_API Space SpaceOf(const void* pointer);

}  // namespace bang

#define BANG_COPY(name, is_async)                                                                \
  inline void name(void* dst, const void* src, unsigned size, mluMemcpyDirection_t dir,          \
                   ::bang::Where where = ::bang::Where()) {                                      \
    ::bang::Copy({#name, is_async, ::bang::Form::k1D, dst, src, size, dir}, where);              \
  }                                                                                              \
  inline void name(void* dst, const void* src, unsigned size, mluMemcpyDirection_t dir,          \
                   unsigned dst_stride, int src_stride, unsigned segnum,                         \
                   ::bang::Where where = ::bang::Where()) {                                      \
    ::bang::Copy({#name,                                                                         \
                  is_async,                                                                      \
                  ::bang::Form::k2D,                                                             \
                  dst,                                                                           \
                  src,                                                                           \
                  size,                                                                          \
                  dir,                                                                           \
                  {dst_stride, segnum + 1},                                                      \
                  {src_stride, segnum + 1}},                                                     \
                 where);                                                                         \
  }                                                                                              \
  inline void name(void* dst, const void* src, unsigned size, mluMemcpyDirection_t dir,          \
                   int dst_stride0, unsigned dst_segnum1, int dst_stride1, unsigned dst_segnum2, \
                   int src_stride0, unsigned src_segnum1, int src_stride1, unsigned src_segnum2, \
                   ::bang::Where where = ::bang::Where()) {                                      \
    ::bang::Copy({#name,                                                                         \
                  is_async,                                                                      \
                  ::bang::Form::k3D,                                                             \
                  dst,                                                                           \
                  src,                                                                           \
                  size,                                                                          \
                  dir,                                                                           \
                  {dst_stride0, dst_segnum1 + 1, dst_stride1, dst_segnum2 + 1},                  \
                  {src_stride0, src_segnum1 + 1, src_stride1, src_segnum2 + 1}},                 \
                 where);                                                                         \
  }
BANG_COPY(__memcpy, false)
BANG_COPY(__memcpy_async, true)
#undef BANG_COPY

// offset: bytes, in NRAM; bit k of mask skips segment k when it is 0.
#define BANG_GATHER(name, is_async, is_scatter)                                                    \
  template <::bang::Unsigned O>                                                                    \
  void name(void* dst, const void* src, const O* offset, const void* mask, unsigned transfer_size, \
            mluMemcpyDirection_t dir, int stride, unsigned transfer_num,                           \
            ::bang::Where where = ::bang::Where()) {                                               \
    ::bang::Gather({#name, is_async, is_scatter, dst, src, offset, sizeof(O), mask, transfer_size, \
                    dir, stride, transfer_num},                                                    \
                   where);                                                                         \
  }                                                                                                \
  template <::bang::Unsigned O>                                                                    \
  void name(void* dst, const void* src, const O* offset, unsigned transfer_size,                   \
            mluMemcpyDirection_t dir, int stride, unsigned transfer_num,                           \
            ::bang::Where where = ::bang::Where()) {                                               \
    ::bang::Gather({#name, is_async, is_scatter, dst, src, offset, sizeof(O), nullptr,             \
                    transfer_size, dir, stride, transfer_num},                                     \
                   where);                                                                         \
  }
BANG_GATHER(__gather, false, false)
BANG_GATHER(__gather_async, true, false)
BANG_GATHER(__scatter, false, true)
BANG_GATHER(__scatter_async, true, true)
#undef BANG_GATHER

// The width of a fill is that of the value: pass (half)0, not 0, to a half buffer.
#define BANG_FILL(name, is_async, queue, space, rule)                                \
  template <::bang::Element T>                                                       \
  void name(void* dst, unsigned n, T value, ::bang::Where where = ::bang::Where()) { \
    ::bang::Fill({#name,                                                             \
                  is_async,                                                          \
                  ::bang::Queue::queue,                                              \
                  ::bang::Space::space,                                              \
                  dst,                                                               \
                  n,                                                                 \
                  &value,                                                            \
                  sizeof(T),                                                         \
                  {},                                                                \
                  ::bang::Rule::rule},                                               \
                 where);                                                             \
  }
#define BANG_FILL_2D(name, is_async, queue, space)                            \
  template <::bang::Element T>                                                \
  void name(void* dst, unsigned n, T value, unsigned stride, unsigned segnum, \
            ::bang::Where where = ::bang::Where()) {                          \
    ::bang::Fill({#name,                                                      \
                  is_async,                                                   \
                  ::bang::Queue::queue,                                       \
                  ::bang::Space::space,                                       \
                  dst,                                                        \
                  n,                                                          \
                  &value,                                                     \
                  sizeof(T),                                                  \
                  {stride, segnum + 1},                                       \
                  ::bang::Rule::kNone,                                        \
                  ::bang::Form::k2D},                                         \
                 where);                                                      \
  }
#define BANG_FILL_3D(name, is_async, queue, space)                                                \
  template <::bang::Element T>                                                                    \
  void name(void* dst, unsigned n, T value, unsigned stride0, unsigned segnum1, unsigned stride1, \
            unsigned segnum2, ::bang::Where where = ::bang::Where()) {                            \
    ::bang::Fill({#name,                                                                          \
                  is_async,                                                                       \
                  ::bang::Queue::queue,                                                           \
                  ::bang::Space::space,                                                           \
                  dst,                                                                            \
                  n,                                                                              \
                  &value,                                                                         \
                  sizeof(T),                                                                      \
                  {stride0, segnum1 + 1, stride1, segnum2 + 1},                                   \
                  ::bang::Rule::kNone,                                                            \
                  ::bang::Form::k3D},                                                             \
                 where);                                                                          \
  }
BANG_FILL(__bang_write_value, false, kCompute, kNram, k2xx64)
BANG_FILL_3D(__bang_write_value, false, kCompute, kNram)
BANG_FILL(__memset_nram, false, kMove, kNram, kNone)
BANG_FILL(__memset_nram_async, true, kMove, kNram, kNone)
BANG_FILL(__nramset, false, kCompute, kNram, kNone)
BANG_FILL_2D(__nramset, false, kMove, kNram)
BANG_FILL_3D(__nramset, false, kMove, kNram)
BANG_FILL_2D(__nramset_async, true, kMove, kNram)
BANG_FILL_3D(__nramset_async, true, kMove, kNram)
BANG_FILL(__gdramset, false, kIo, kGdram, kNone)
BANG_FILL_2D(__gdramset, false, kIo, kGdram)
BANG_FILL_3D(__gdramset, false, kIo, kGdram)
BANG_FILL(__gdramset_async, true, kIo, kGdram, kNone)
BANG_FILL(__ldramset, false, kIo, kLdram, kNone)
BANG_FILL(__ldramset_async, true, kIo, kLdram, kNone)
BANG_FILL(__sramset, false, kMove, kSram, kNone)
BANG_FILL(__sramset_async, true, kMove, kSram, kNone)
#undef BANG_FILL
#undef BANG_FILL_2D
#undef BANG_FILL_3D

template <::bang::Element T>
void __bang_write_zero(T* dst, unsigned n, ::bang::Where where = ::bang::Where()) {
  const T zero = T(0);
  ::bang::Fill({"__bang_write_zero",
                false,
                ::bang::Queue::kCompute,
                ::bang::Space::kNram,
                dst,
                n,
                &zero,
                sizeof(T),
                {},
                ::bang::Rule::k2xx},
               where);
}

#define BANG_SYNC(name, io, move, compute)                                      \
  inline void name(::bang::Where where = ::bang::Where()) {                     \
    ::bang::Synchronize(#name, {io, move, compute}, {true, true, true}, where); \
  }
BANG_SYNC(__sync, true, true, true)
BANG_SYNC(__sync_io, true, false, false)
BANG_SYNC(__sync_move, false, true, false)
BANG_SYNC(__sync_compute, false, false, true)
#undef BANG_SYNC

inline void __sync_io_move_compute(bool io_p = true, bool move_p = true, bool compute_p = true,
                                   bool io_c = true, bool move_c = true, bool compute_c = true,
                                   ::bang::Where where = ::bang::Where()) {
  ::bang::Synchronize("__sync_io_move_compute", {io_p, move_p, compute_p},
                      {io_c, move_c, compute_c}, where);
}

#define BANG_BARRIER(name, barrier)                         \
  inline void name(::bang::Where where = ::bang::Where()) { \
    ::bang::Wait(::bang::Barrier::barrier, where);          \
  }
BANG_BARRIER(__sync_cluster, kCluster)
BANG_BARRIER(__sync_all, kAll)
BANG_BARRIER(__sync_all_ipu, kAllIpu)
BANG_BARRIER(__sync_all_mpu, kAllMpu)
BANG_BARRIER(__sync_all_ipu_within_cluster, kClusterIpu)
#undef BANG_BARRIER

inline bool __is_mpu() { return ::bang::IsMemoryCore(); }
inline bool __is_ipu() { return !::bang::IsMemoryCore(); }
inline bool __is_nram(const void* p) { return ::bang::SpaceOf(p) == ::bang::Space::kNram; }
inline bool __is_wram(const void* p) { return ::bang::SpaceOf(p) == ::bang::Space::kWram; }
inline bool __is_sram(const void* p) { return ::bang::SpaceOf(p) == ::bang::Space::kSram; }
inline bool __is_dram(const void* p) {
  return ::bang::SpaceOf(p) == ::bang::Space::kGdram || ::bang::SpaceOf(p) == ::bang::Space::kLdram;
}
