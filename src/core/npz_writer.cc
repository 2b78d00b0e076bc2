// SPDX-License-Identifier: Apache-2.0
#include "core/npz_writer.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "core/dtype.h"
#include "core/text.h"

namespace mluop {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ZIP and .npy are little-endian, and fields are copied from memory");

constexpr uint32_t kInZip64 = 0xffffffff;  // stands for a size or offset in a ZIP64 field
constexpr uint16_t kVersion = 45;          // the first version with ZIP64
constexpr uint16_t kDate = 0x21;           // 1980-01-01: files of equal calls are equal
constexpr size_t kNpyAlignment = 64;

// Returns the CRC-32 of every byte.
constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) {
      table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0);
    }
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrc = MakeCrcTable();

bool WriteAt(int file, const void* data, size_t bytes, uint64_t offset) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    from += written;
    offset += static_cast<uint64_t>(written);
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

// Writes the header of a .npy file, version 1.0, to `text`. Returns its size, a multiple of 64.
size_t FormatNpyHeader(const mluOpTensorStruct& desc, char (&text)[320]) {
  TextWriter header(text);
  header.Add("\x93NUMPY\x01%c..{'descr': '%s', 'fortran_order': False, 'shape': (", 0,
             NpyType(desc.dtype));
  for (int i = 0; i < desc.rank; ++i) header.Add("%" PRId64 ", ", desc.dims[i]);
  header.Add("), }");
  const size_t length = header.length();
  const size_t size = (length + kNpyAlignment) / kNpyAlignment * kNpyAlignment;
  std::memset(text + length, ' ', size - length - 1);
  text[size - 1] = '\n';
  const auto rest = static_cast<uint16_t>(size - 10);  // after magic, version and this number
  std::memcpy(text + 8, &rest, sizeof(rest));
  return size;
}

}  // namespace

uint32_t Crc32(uint32_t crc, const void* data, size_t bytes) {
  const auto* from = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; bytes > 0; --bytes, ++from) crc = (crc >> 8) ^ kCrc[(crc ^ *from) & 0xff];
  return ~crc;
}

const char* NpyType(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return "<f2";
    case MLUOP_DTYPE_FLOAT: return "<f4";
    case MLUOP_DTYPE_DOUBLE: return "<f8";
    case MLUOP_DTYPE_INT32: return "<i4";
    default: return "";
  }
}

// A record of the archive, built field by field.
struct NpzWriter::Bytes {
  unsigned char data[320];
  size_t size = 0;

  Bytes& Put16(uint64_t value) { return Put(&value, 2); }
  Bytes& Put32(uint64_t value) { return Put(&value, 4); }
  Bytes& Put64(uint64_t value) { return Put(&value, 8); }
  Bytes& Put(const void* value, size_t bytes) {
    std::memcpy(data + size, value, bytes);
    size += bytes;
    return *this;
  }
  Bytes& PutName(std::string_view name) { return Put(name.data(), name.size()).Put(".npy", 4); }
  // Version, flags, method (stored), time, date, CRC, both sizes.
  Bytes& PutDescription(const Entry& entry, bool wide) {
    const uint64_t size32 = wide ? kInZip64 : entry.size;
    Put16(kVersion).Put16(0).Put16(0).Put16(0).Put16(kDate);
    return Put32(entry.crc).Put32(size32).Put32(size32);
  }
};

NpzWriter::Bytes NpzWriter::LocalHeader(const Entry& entry) const {
  Bytes header;
  const bool wide = IsWide(entry.size);
  header.Put32(0x04034b50).PutDescription(entry, wide);
  header.Put16(entry.name.size() + 4).Put16(wide ? 20 : 0).PutName(entry.name);
  if (wide) header.Put16(1).Put16(16).Put64(entry.size).Put64(entry.size);
  return header;
}

NpzWriter::Bytes NpzWriter::DirectoryEntry(const Entry& entry) const {
  Bytes header;
  const bool wide = IsWide(entry.size), far = IsWide(entry.offset);
  const int extra = (wide ? 16 : 0) + (far ? 8 : 0);
  header.Put32(0x02014b50).Put16(kVersion).PutDescription(entry, wide);
  header.Put16(entry.name.size() + 4).Put16(static_cast<uint64_t>(extra == 0 ? 0 : extra + 4));
  header.Put16(0).Put16(0).Put16(0).Put32(0).Put32(far ? kInZip64 : entry.offset);
  header.PutName(entry.name);
  if (extra > 0) header.Put16(1).Put16(static_cast<uint64_t>(extra));
  if (wide) header.Put64(entry.size).Put64(entry.size);
  if (far) header.Put64(entry.offset);
  return header;
}

NpzWriter::Bytes NpzWriter::EndOfDirectory(uint64_t start) const {
  Bytes end;
  const auto count = static_cast<uint64_t>(count_);
  const bool far = IsWide(start);
  if (far) {
    end.Put32(0x06064b50).Put64(44).Put16(kVersion).Put16(kVersion).Put32(0).Put32(0);
    end.Put64(count).Put64(count).Put64(offset_ - start).Put64(start);
    end.Put32(0x07064b50).Put32(0).Put64(offset_).Put32(1);
  }
  end.Put32(0x06054b50).Put16(0).Put16(0).Put16(count).Put16(count);
  return end.Put32(offset_ - start).Put32(far ? kInZip64 : start).Put16(0);
}

bool NpzWriter::Append(const void* data, size_t bytes) {
  if (!WriteAt(file_, data, bytes, offset_)) return false;
  offset_ += bytes;
  return true;
}

bool NpzWriter::Begin(std::string_view name, const mluOpTensorStruct& desc) {
  char npy[320];
  const size_t npy_size = FormatNpyHeader(desc, npy);
  Entry& entry = entries_[count_];
  const uint64_t data_size = static_cast<uint64_t>(desc.ElementCount()) * SizeOf(desc.dtype);
  entry = {name, offset_, npy_size + data_size, 0};
  const Bytes header = LocalHeader(entry);
  return Append(header.data, header.size) && Write(npy, npy_size);
}

bool NpzWriter::Write(const void* data, size_t bytes) {
  entries_[count_].crc = Crc32(entries_[count_].crc, data, bytes);
  return Append(data, bytes);
}

bool NpzWriter::End() {
  // The local header precedes the data and holds its CRC: write it again.
  const Entry& entry = entries_[count_++];
  const Bytes header = LocalHeader(entry);
  return WriteAt(file_, header.data, header.size, entry.offset);
}

bool NpzWriter::Finish() {
  const uint64_t start = offset_;
  for (int i = 0; i < count_; ++i) {
    const Bytes entry = DirectoryEntry(entries_[i]);
    if (!Append(entry.data, entry.size)) return false;
  }
  const Bytes end = EndOfDirectory(start);
  return Append(end.data, end.size);
}

}  // namespace mluop
