// SPDX-License-Identifier: Apache-2.0
// Writes an .npz file, which NumPy reads: a ZIP archive of .npy arrays, not compressed. Allocates no
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/spec.h"
#include "core/tensor.h"

namespace mluop {

// Continues the CRC-32 of ZIP, which starts with 0.
uint32_t Crc32(uint32_t crc, const void* data, size_t bytes);

// Returns the type of a .npy file, "<f4" for float; "" for a type that is not recorded.
const char* NpyType(mluOpDataType_t dtype);

// Writes arrays one after the other: Begin, Write until all bytes are written, End; then Finish. A
// function returns false and sets errno if the file cannot be written.
class NpzWriter {
 public:
  // `file` is empty and belongs to the caller. Sizes and offsets of at least `zip64_from` are
  // stored as ZIP64; tests lower the limit.
  explicit NpzWriter(int file, uint64_t zip64_from = 0xffffffff)
      : file_(file), zip64_from_(zip64_from) {}

  // At most kMaxTensors arrays. `name` must stay valid until Finish.
  bool Begin(std::string_view name, const mluOpTensorStruct& desc);
  bool Write(const void* data, size_t bytes);
  bool End();
  bool Finish();

 private:
  struct Entry {
    std::string_view name;
    uint64_t offset = 0;  // of its local header
    uint64_t size = 0;
    uint32_t crc = 0;
  };
  struct Bytes;

  bool Append(const void* data, size_t bytes);
  Bytes LocalHeader(const Entry& entry) const;
  Bytes DirectoryEntry(const Entry& entry) const;
  Bytes EndOfDirectory(uint64_t start) const;
  bool IsWide(uint64_t value) const { return value >= zip64_from_; }

  int file_;
  uint64_t zip64_from_;
  uint64_t offset_ = 0;
  int count_ = 0;
  Entry entries_[kMaxTensors];
};

}  // namespace mluop
