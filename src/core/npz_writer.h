// SPDX-License-Identifier: Apache-2.0
// Writes an .npz file, which NumPy reads: a ZIP archive of .npy arrays, not compressed. All sizes and
// offsets are ZIP64: one form for arrays of any size. Allocates no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/spec.h"
#include "core/tensor.h"

namespace mluop {

// Writes all bytes at an offset of a file. Returns false and sets errno on failure.
bool WriteAt(int file, const void* data, size_t bytes, uint64_t offset);

// Continues the CRC-32 of ZIP, which starts with 0.
uint32_t Crc32(uint32_t crc, const void* data, size_t bytes);

// Returns the type of a .npy file, "<f4" for float; "" for a type that is not recorded.
const char* NpyType(mluOpDataType_t dtype);

// Writes arrays one after the other: Begin, Write until all bytes are written, End; then Finish. A
// function returns false and sets errno if the file cannot be written.
class NpzWriter {
 public:
  explicit NpzWriter(int file) : file_(file) {}  // `file` is empty and belongs to the caller

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
  static Bytes LocalHeader(const Entry& entry);
  static Bytes DirectoryEntry(const Entry& entry);
  Bytes EndOfDirectory(uint64_t start) const;

  int file_;
  uint64_t offset_ = 0;
  int count_ = 0;
  Entry entries_[kMaxTensors];
};

}  // namespace mluop
