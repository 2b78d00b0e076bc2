// SPDX-License-Identifier: Apache-2.0
#include "testing/npz_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace mluop::testing {
namespace {

constexpr size_t kEndSize = 22, kLocatorSize = 20, kWideEndSize = 56;
constexpr size_t kEntrySize = 46, kLocalSize = 30, kMaxComment = 65535;
constexpr uint64_t kInZip64 = 0xffffffff;  // the value is in the ZIP64 field
constexpr size_t kMaxNpyHeader = size_t{1} << 16;
constexpr std::string_view kSuffix = ".npy";

template <typename T>
T Get(const void* from, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof(value));
  return value;
}

// Returns the text after `key` of a .npy header, "{'descr': '<f4', 'shape': (1, 2), }".
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const size_t start = header.find(key);
  if (start == std::string_view::npos) return {};
  header.remove_prefix(start + key.size());
  header.remove_prefix(std::min(header.find_first_not_of(": "), header.size()));
  return header;
}

// Parses "(1, 2)". Returns false if it has another form.
bool ParseShape(std::string_view text, std::vector<int64_t>* shape) {
  if (!text.starts_with('(')) return false;
  text = text.substr(1, text.find(')') - 1);
  while (!text.empty()) {
    const size_t start = text.find_first_not_of(" ,L");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
    if (length == 0 || length > 18) return false;
    shape->push_back(std::stoll(std::string(text.substr(0, length))));
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

// The bytes of one entry in order, inflated if necessary.
class NpzReader::Stream {
 public:
  Stream(const NpzReader& reader, const NpzArray& array) : reader_(reader), array_(array) {
    unsigned char local[kLocalSize];
    reader.ReadAt(array.offset, local, kLocalSize);
    if (Get<uint32_t>(local, 0) != 0x04034b50) Damaged("has no header");
    next_ = array.offset + kLocalSize + Get<uint16_t>(local, 26) + Get<uint16_t>(local, 28);
    stored_left_ = array.stored;
    left_ = array.size;
    if (array.is_deflated && inflateInit2(&zlib_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() {
    if (array_.is_deflated) inflateEnd(&zlib_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  uint64_t left() const { return left_; }

  void Take(void* to, size_t bytes) {
    if (bytes > left_) Damaged("is shorter than its shape");
    auto* out = static_cast<unsigned char*>(to);
    for (size_t done = 0; done < bytes;) {
      const auto part = static_cast<uInt>(std::min<size_t>(bytes - done, size_t{1} << 20));
      array_.is_deflated ? Inflate(out + done, part) : Copy(out + done, part);
      crc_ = crc32(crc_, out + done, part);
      done += part;
    }
    left_ -= bytes;
    if (left_ == 0 && crc_ != array_.crc) Damaged("does not match its checksum");
  }

  [[noreturn]] void Damaged(const std::string& reason) const {
    reader_.Fail("array " + array_.name + " " + reason + "; the file is damaged");
  }

 private:
  void Copy(unsigned char* to, size_t bytes) {
    if (bytes > stored_left_) Damaged("is truncated");
    reader_.ReadAt(next_, to, bytes);
    next_ += bytes;
    stored_left_ -= bytes;
  }

  void Inflate(unsigned char* to, uInt bytes) {
    zlib_.next_out = to;
    zlib_.avail_out = bytes;
    while (zlib_.avail_out > 0) {
      if (zlib_.avail_in == 0) {
        const size_t part = std::min<uint64_t>(stored_left_, sizeof(input_));
        Copy(input_, part);
        zlib_.next_in = input_;
        zlib_.avail_in = static_cast<uInt>(part);
      }
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      if (result == Z_STREAM_END && zlib_.avail_out == 0) return;
      if (result != Z_OK) Damaged("cannot be inflated");
    }
  }

  const NpzReader& reader_;
  const NpzArray& array_;
  uint64_t next_ = 0, stored_left_ = 0, left_ = 0;
  uLong crc_ = 0;
  z_stream zlib_ = {};
  unsigned char input_[1 << 16];
};

NpzReader::NpzReader(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rbe"), std::fclose) {
  const char* const reason = strerrordesc_np(errno);
  if (file_ == nullptr) Fail("must be a readable file, got " + std::string(reason));
  if (fseeko(file_.get(), 0, SEEK_END) != 0) Fail("must be a file");
  file_size_ = static_cast<uint64_t>(std::max<off_t>(ftello(file_.get()), 0));
  uint64_t count = 0;
  const std::string directory = ReadDirectory(&count);
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (directory.size() - at < kEntrySize) Fail("the ZIP directory is truncated");
    const auto* fixed = reinterpret_cast<const unsigned char*>(directory.data()) + at;
    const size_t name = Get<uint16_t>(fixed, 28), extra = Get<uint16_t>(fixed, 30);
    const size_t next = kEntrySize + name + extra + Get<uint16_t>(fixed, 32);
    if (Get<uint32_t>(fixed, 0) != 0x02014b50 || directory.size() - at < next) {
      Fail("the ZIP directory is damaged");
    }
    const std::string_view text(directory.data() + at + kEntrySize, name + extra);
    AddEntry(fixed, text.substr(0, name), text.substr(name, extra));
    at += next;
  }
  for (NpzArray& array : arrays_) {
    Stream stream(*this, array);
    ReadHeader(stream, &array);
  }
}

void NpzReader::Fail(const std::string& reason) const {
  throw std::invalid_argument(path_ + ": " + reason);
}

void NpzReader::ReadAt(uint64_t offset, void* to, size_t bytes) const {
  if (offset > file_size_ || bytes > file_size_ - offset) Fail("the file is truncated");
  if (fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0 ||
      std::fread(to, 1, bytes, file_.get()) != bytes) {
    Fail("cannot be read");
  }
}

std::string NpzReader::ReadDirectory(uint64_t* count) const {
  std::string tail(std::min<uint64_t>(file_size_, kEndSize + kMaxComment), '\0');
  const uint64_t tail_start = file_size_ - tail.size();
  ReadAt(tail_start, tail.data(), tail.size());
  const size_t end = tail.size() < kEndSize
                         ? std::string::npos
                         : tail.rfind(std::string_view("PK\5\6", 4), tail.size() - kEndSize);
  if (end == std::string::npos)
    Fail("is not an .npz file, or is truncated: it has no ZIP directory");
  *count = Get<uint16_t>(tail.data(), end + 10);
  uint64_t size = Get<uint32_t>(tail.data(), end + 12);
  uint64_t start = Get<uint32_t>(tail.data(), end + 16);
  if (*count == 0xffff || size == kInZip64 || start == kInZip64) {
    char wide[kWideEndSize];
    if (tail_start + end < kLocatorSize) Fail("the ZIP directory is damaged");
    ReadAt(tail_start + end - kLocatorSize, wide, kLocatorSize);
    const bool found = Get<uint32_t>(wide, 0) == 0x07064b50;
    if (found) ReadAt(Get<uint64_t>(wide, 8), wide, kWideEndSize);
    if (!found || Get<uint32_t>(wide, 0) != 0x06064b50) Fail("the ZIP64 directory is missing");
    *count = Get<uint64_t>(wide, 32);
    size = Get<uint64_t>(wide, 40);
    start = Get<uint64_t>(wide, 48);
  }
  if (start > file_size_ || size > file_size_ - start) Fail("the ZIP directory is truncated");
  std::string directory(size, '\0');
  ReadAt(start, directory.data(), directory.size());
  return directory;
}

void NpzReader::AddEntry(const unsigned char* fixed, std::string_view name,
                         std::string_view extra) {
  NpzArray array;
  if (!name.ends_with(kSuffix)) Fail("must hold .npy arrays only, got " + std::string(name));
  array.name = name.substr(0, name.size() - kSuffix.size());
  const auto method = Get<uint16_t>(fixed, 10);
  if (method != 0 && method != 8) {
    Fail("array " + array.name + " must be stored or deflated, got ZIP method " +
         std::to_string(method));
  }
  array.is_deflated = method == 8;
  array.crc = Get<uint32_t>(fixed, 16);
  array.stored = Get<uint32_t>(fixed, 20);
  array.size = Get<uint32_t>(fixed, 24);
  array.offset = Get<uint32_t>(fixed, 42);
  // The ZIP64 field holds the values that do not fit, in this order.
  uint64_t* const values[] = {&array.size, &array.stored, &array.offset};
  while (extra.size() >= 4) {
    const size_t size = Get<uint16_t>(extra.data(), 2);
    if (size > extra.size() - 4) Fail("array " + array.name + " has a damaged ZIP field");
    std::string_view field = extra.substr(4, size);
    for (uint64_t* value : values) {
      const bool is_wide = Get<uint16_t>(extra.data(), 0) == 1 && *value == kInZip64;
      if (!is_wide || field.size() < 8) continue;
      *value = Get<uint64_t>(field.data(), 0);
      field.remove_prefix(8);
    }
    extra.remove_prefix(4 + size);
  }
  arrays_.push_back(std::move(array));
}

void NpzReader::ReadHeader(Stream& stream, NpzArray* array) const {
  unsigned char start[12] = {};
  stream.Take(start, 10);
  const bool is_npy = std::memcmp(start, "\x93NUMPY", 6) == 0 && start[6] >= 1 && start[6] <= 3;
  if (!is_npy) Fail("array " + array->name + " must be a .npy file of version 1 to 3");
  size_t length = Get<uint16_t>(start, 8);
  if (start[6] > 1) {
    stream.Take(start + 10, 2);
    length = Get<uint32_t>(start, 8);
  }
  if (length > kMaxNpyHeader) Fail("array " + array->name + " has a damaged header");
  std::string header(length, '\0');
  stream.Take(header.data(), header.size());
  const std::string_view type = ValueOf(header, "'descr'");
  if (type.size() > 1) array->type = type.substr(1, type.find(type[0], 1) - 1);
  array->fortran_order = ValueOf(header, "'fortran_order'").starts_with("True");
  if (array->type.empty() || !ParseShape(ValueOf(header, "'shape'"), &array->shape)) {
    Fail("array " + array->name + " has a damaged header");
  }
}

void NpzReader::Read(const NpzArray& array, void* to, size_t bytes) const {
  Stream stream(*this, array);
  NpzArray header = array;
  ReadHeader(stream, &header);
  if (stream.left() != bytes)
    stream.Damaged("must have " + std::to_string(bytes) + " bytes, got " +
                   std::to_string(stream.left()));
  stream.Take(to, bytes);
}

}  // namespace mluop::testing
