// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "streams.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mluop::tool {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLine = 64;
constexpr size_t kPrefetchBytes = 1024;  // prefetch distance

// Reads all bytes in whole vectors, the last ones one by one. Returns their XOR.
uint64_t Read(const char* from, size_t bytes, bool prefetch) {
  const hn::ScalableTag<uint64_t> d;
  const size_t step = hn::Lanes(d) * sizeof(uint64_t);
  auto sum0 = hn::Zero(d), sum1 = sum0;
  size_t i = 0;
  for (; i + 2 * step <= bytes; i += 2 * step) {
    if (prefetch) hwy::Prefetch(from + i + kPrefetchBytes);
    sum0 = hn::Xor(sum0, hn::LoadU(d, reinterpret_cast<const uint64_t*>(from + i)));
    sum1 = hn::Xor(sum1, hn::LoadU(d, reinterpret_cast<const uint64_t*>(from + i + step)));
  }
  uint64_t rest = 0;
  for (; i < bytes; ++i) rest ^= static_cast<unsigned char>(from[i]);
  return rest ^ hn::GetLane(hn::Xor(sum0, sum1));
}

// Writes every byte. `zeros` of 2^32 lines are 0; they are spread evenly.
void Fill(char* to, size_t bytes, uint64_t zeros, bool non_temporal) {
  const hn::ScalableTag<uint64_t> d;
  const size_t step = hn::Lanes(d) * sizeof(uint64_t);
  const auto zero = hn::Zero(d), one = hn::Set(d, 0x3f8000003f800000u);
  uint64_t phase = 0;  // of 2^32; a carry makes a line of zeros
  size_t i = 0;
  for (; i < bytes && reinterpret_cast<uintptr_t>(to + i) % kLine != 0; ++i) to[i] = 0;
  for (; i + kLine <= bytes; i += kLine) {
    phase = (phase & 0xffffffff) + zeros;
    const auto value = (phase >> 32) != 0 ? zero : one;
    for (size_t j = 0; j < kLine; j += step) {
      auto* const place = reinterpret_cast<uint64_t*>(to + i + j);
      if (non_temporal) {
        hn::Stream(value, d, place);
      } else {
        hn::Store(value, d, place);
      }
    }
  }
  for (; i < bytes; ++i) to[i] = 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::tool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#if HWY_ARCH_X86
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace mluop::tool {
namespace {

HWY_EXPORT(Read);
HWY_EXPORT(Fill);

#if HWY_ARCH_X86
// clflushopt flushes lines in parallel; clflush waits for each line.
__attribute__((target("clflushopt"))) void FlushLinesUnordered(char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) _mm_clflushopt(data + i);
  if (bytes != 0) _mm_clflushopt(data + bytes - 1);
}

bool HasUnorderedFlush() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}
#endif

void FlushLines(const char* data, size_t bytes) {
#if HWY_ARCH_X86
  static const bool unordered = HasUnorderedFlush();
  if (unordered) return FlushLinesUnordered(const_cast<char*>(data), bytes);
#endif
  for (size_t i = 0; i < bytes; i += 64) hwy::FlushCacheline(data + i);
  if (bytes != 0) hwy::FlushCacheline(data + bytes - 1);
}

constexpr size_t kGrainBytes = 48 << 10;  // per thread; less is not worth a wake-up

// The bytes of a tensor in chunk `index` of `chunks`: whole cache lines, except in the last chunk.
struct ByteRange {
  size_t begin, bytes;
};

ByteRange ChunkOf(size_t bytes, int64_t index, int64_t chunks) {
  const auto at = [&](int64_t i) {
    if (i == chunks) return bytes;
    return static_cast<size_t>(static_cast<double>(bytes) * static_cast<double>(i) /
                               static_cast<double>(chunks)) /
           64 * 64;
  };
  return {at(index), at(index + 1) - at(index)};
}

std::atomic<uint64_t> sink;  // prevents the compiler from removing the reads

}  // namespace

size_t Traffic::Bytes() const {
  size_t bytes = 0;
  for (const Read& read : reads) bytes += read.bytes;
  for (const Write& write : writes) bytes += write.bytes;
  return bytes;
}

void Move(const Traffic& traffic, AccessMode mode, ThreadPool& threads) {
  const auto read = HWY_DYNAMIC_DISPATCH(Read);
  const auto fill = HWY_DYNAMIC_DISPATCH(Fill);
  const auto grain = static_cast<int64_t>(kGrainBytes / mode.chunk_bytes) + 1;
  const auto chunks = static_cast<int64_t>(traffic.Bytes() / mode.chunk_bytes) + 1;
  threads.For(chunks, grain, [&](int64_t begin, int64_t end, int) {
    uint64_t seen = 0;
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      for (const Traffic::Read& block : traffic.reads) {
        const ByteRange range = ChunkOf(block.bytes, chunk, chunks);
        seen ^= read(block.data + range.begin, range.bytes, mode.prefetch);
      }
      for (const Traffic::Write& block : traffic.writes) {
        const ByteRange range = ChunkOf(block.bytes, chunk, chunks);
        fill(block.data + range.begin, range.bytes, static_cast<uint64_t>(block.zeros * 0x1p32),
             mode.non_temporal);
      }
    }
    if (mode.non_temporal) hwy::FlushStream();
    sink.fetch_xor(seen, std::memory_order_relaxed);
  });
}

void Flush(const Traffic& traffic) {
  for (const Traffic::Read& read : traffic.reads) FlushLines(read.data, read.bytes);
  for (const Traffic::Write& write : traffic.writes) FlushLines(write.data, write.bytes);
  hwy::FlushStream();
}

}  // namespace mluop::tool
#endif  // HWY_ONCE
