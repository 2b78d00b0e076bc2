// SPDX-License-Identifier: Apache-2.0
// Addresses for a tensor of any size in little memory: the same pages appear again and again, `period`
// bytes apart. The last period, the tail, has separate pages, so that a test sees what is written
// there. A tensor whose content repeats after `period` bytes can be written and read here.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace mluop::testing {

class AliasedMemory {
 public:
  // `period` is a multiple of the page size, and less than half of `bytes`.
  AliasedMemory(size_t bytes, size_t period) : bytes_(bytes), period_(period) {
    file_ = memfd_create("aliased", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(2 * period)) != 0) return;
    void* const reserved =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return;
    data_ = static_cast<char*>(reserved);
    ok_ = true;
    for (size_t at = 0; at < bytes && ok_; at += period) {
      const size_t size = bytes - at < period ? bytes - at : period;
      Map(at, size, 0);
    }
    if (ok_) Map(TailBegin(), bytes - TailBegin(), static_cast<off_t>(period));
  }
  ~AliasedMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
    if (file_ >= 0) close(file_);
  }
  AliasedMemory(const AliasedMemory&) = delete;
  AliasedMemory& operator=(const AliasedMemory&) = delete;

  bool ok() const { return ok_; }
  float* data() const { return reinterpret_cast<float*>(data_); }
  // The first period, and the tail: the pages from the last multiple of the period on.
  float* first() const { return data(); }
  float* tail() const { return reinterpret_cast<float*>(data_ + TailBegin()); }
  size_t tail_bytes() const { return bytes_ - TailBegin(); }
  size_t period() const { return period_; }

  void Fill(int byte) {
    std::memset(first(), byte, period_);
    std::memset(tail(), byte, tail_bytes());
  }

 private:
  size_t TailBegin() const { return (bytes_ - 1) / period_ * period_; }
  void Map(size_t at, size_t size, off_t offset) {
    ok_ = mmap(data_ + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, offset) !=
          MAP_FAILED;
  }

  size_t bytes_, period_;
  int file_ = -1;
  char* data_ = nullptr;
  bool ok_ = false;
};

}  // namespace mluop::testing
