// SPDX-License-Identifier: Apache-2.0
// Reads the .npz files of NumPy and of the library: ZIP archives, also ZIP64, of stored or deflated
// .npy arrays. Any file is either read or refused with a message: nothing in it is trusted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace mluop::testing {

struct NpzArray {
  std::string name;  // without ".npy"
  std::string type;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;

  // The entry of the archive.
  uint64_t offset = 0;  // of its local header
  uint64_t stored = 0;  // bytes in the archive
  uint64_t size = 0;    // bytes of the .npy file
  uint32_t crc = 0;
  bool is_deflated = false;
};

// Functions throw std::invalid_argument; the message starts with the path.
class NpzReader {
 public:
  // Reads the directory and the headers of all arrays.
  explicit NpzReader(const std::string& path);

  const std::vector<NpzArray>& arrays() const { return arrays_; }

  // Copies the elements, `bytes` bytes, which must be all of the array.
  void Read(const NpzArray& array, void* to, size_t bytes) const;

 private:
  class Stream;

  [[noreturn]] void Fail(const std::string& reason) const;
  void ReadAt(uint64_t offset, void* to, size_t bytes) const;
  std::string ReadDirectory(uint64_t* count) const;
  void AddEntry(const unsigned char* fixed, std::string_view name, std::string_view extra);
  void ReadHeader(Stream& stream, NpzArray* array) const;

  std::string path_;
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
  uint64_t file_size_ = 0;
  std::vector<NpzArray> arrays_;
};

}  // namespace mluop::testing
