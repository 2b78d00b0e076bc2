// SPDX-License-Identifier: Apache-2.0
// GDRAM: the memory of the card. The host reaches it by Copy and Fill only; its addresses become
// accessible while a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

namespace bang {

struct Allocation {
  char* begin;  // the address that clients and kernels see
  size_t bytes;
  char* map;  // the accessible pages around it, between inaccessible ones
  size_t map_bytes;
  char* alias;  // the same memory, always accessible

  // Bytes from `pointer` to the end.
  size_t BytesFrom(const void* pointer) const {
    return static_cast<size_t>(begin + bytes - static_cast<const char*>(pointer));
  }
};

class Gdram {
 public:
  // Returns NULL if there is no memory.
  void* Allocate(size_t bytes);
  // Returns false if `pointer` is not the start of an allocation.
  bool Free(void* pointer);

  // Returns the allocation that contains `pointer`, or NULL. The end of an allocation belongs to it.
  const Allocation* Find(const void* pointer) const;
  // Copies between host and GDRAM, in any direction. Returns false outside an allocation.
  bool Copy(void* to, const void* from, size_t bytes) const;
  bool Fill(void* pointer, int value, size_t bytes) const;

  // Makes all allocations accessible while a kernel runs. Calls nest.
  void Open();
  void Close();

 private:
  // Returns the accessible address of a range: `pointer` itself for host memory, NULL if the range
  // leaves its allocation.
  char* Accessible(const void* pointer, size_t bytes) const;
  void Protect(int protection);

  mutable std::shared_mutex mutex_;
  std::map<const char*, std::unique_ptr<Allocation>> allocations_;  // by begin
  int open_ = 0;
};

Gdram& GetGdram();

}  // namespace bang
