// SPDX-License-Identifier: Apache-2.0
// The .npz writer of the library and the reader of the driver. tests/python/test_record.py exchanges
// files with NumPy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "core/dtype.h"
#include "core/npz_writer.h"
#include "testing/case.h"
#include "testing/npz_inputs.h"
#include "testing/npz_reader.h"
#include "tests/support/folder.h"

namespace mluop::testing {
namespace {

struct Array {
  std::string name;
  mluOpTensorStruct desc;
  std::string bytes;

  Array(std::string array_name, mluOpDataType_t dtype, const std::vector<int64_t>& dims)
      : name(std::move(array_name)) {
    EXPECT_EQ(mluOpSetTensorDescriptor_v2(&desc, MLUOP_LAYOUT_ARRAY, dtype,
                                          static_cast<int>(dims.size()), dims.data()),
              MLUOP_STATUS_SUCCESS);
    bytes.resize(static_cast<size_t>(desc.ElementCount()) * SizeOf(dtype));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37 + name[0]);
  }
};

std::vector<Array> ArraysOfEachType() {
  std::vector<Array> arrays;
  arrays.emplace_back("half", MLUOP_DTYPE_HALF, std::vector<int64_t>{3, 1, 5});
  arrays.emplace_back("float", MLUOP_DTYPE_FLOAT, std::vector<int64_t>{2, 3, 4, 5, 1, 2, 1, 2});
  arrays.emplace_back("double", MLUOP_DTYPE_DOUBLE, std::vector<int64_t>{7});
  arrays.emplace_back("empty", MLUOP_DTYPE_INT32, std::vector<int64_t>{4, 0});
  arrays.emplace_back("indices", MLUOP_DTYPE_INT32, std::vector<int64_t>{1000});
  return arrays;
}

// Writes the data of each array in two parts.
void WriteFile(const std::string& path, const std::vector<Array>& arrays,
               uint64_t zip64_from = 0xffffffff) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  ASSERT_GE(file, 0);
  NpzWriter writer(file, zip64_from);
  for (const Array& array : arrays) {
    const size_t half = array.bytes.size() / 2;
    EXPECT_TRUE(writer.Begin(array.name, array.desc));
    EXPECT_TRUE(writer.Write(array.bytes.data(), half));
    EXPECT_TRUE(writer.Write(array.bytes.data() + half, array.bytes.size() - half));
    EXPECT_TRUE(writer.End());
  }
  EXPECT_TRUE(writer.Finish());
  EXPECT_EQ(close(file), 0);
}

void ExpectArrays(const std::string& path, const std::vector<Array>& arrays) {
  const NpzReader file(path);
  ASSERT_EQ(file.arrays().size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    const NpzArray& read = file.arrays()[i];
    const mluOpTensorStruct& desc = arrays[i].desc;
    EXPECT_EQ(read.name, arrays[i].name);
    EXPECT_EQ(read.type, NpyType(desc.dtype));
    EXPECT_FALSE(read.fortran_order);
    EXPECT_EQ(read.shape, std::vector<int64_t>(desc.dims, desc.dims + desc.rank));
    std::string bytes(arrays[i].bytes.size(), '\0');
    file.Read(read, bytes.data(), bytes.size());
    EXPECT_EQ(bytes, arrays[i].bytes) << read.name;
  }
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Returns the message of a refusal; "" if all arrays can be read.
std::string Refusal(const std::string& path) {
  try {
    const NpzReader file(path);
    for (const NpzArray& array : file.arrays()) {
      size_t bytes = static_cast<size_t>(array.type[2] - '0');
      for (const int64_t dim : array.shape) bytes *= static_cast<size_t>(dim);
      if (bytes > 1 << 20) throw std::invalid_argument(path + ": shape is damaged");
      std::string data(bytes, '\0');
      file.Read(array, data.data(), data.size());
    }
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(Crc32, EqualsThePublishedCheckValueInAnyParts) {
  const std::string digits = "123456789";
  EXPECT_EQ(Crc32(0, digits.data(), digits.size()), 0xcbf43926u);
  for (size_t cut = 0; cut <= digits.size(); ++cut) {
    const uint32_t start = Crc32(0, digits.data(), cut);
    EXPECT_EQ(Crc32(start, digits.data() + cut, digits.size() - cut), 0xcbf43926u) << cut;
  }
}

TEST(NpzWriter, ReaderReadsEveryType) {
  const Folder folder;
  const std::vector<Array> arrays = ArraysOfEachType();
  WriteFile(folder / "a.npz", arrays);
  ExpectArrays(folder / "a.npz", arrays);
}

TEST(NpzWriter, Zip64FilesHaveTheSameArrays) {
  const Folder folder;
  const std::vector<Array> arrays = ArraysOfEachType();
  for (const uint64_t limit : {0, 300, 2000}) {  // all values, some sizes and offsets, offsets only
    WriteFile(folder / "a.npz", arrays, limit);
    ExpectArrays(folder / "a.npz", arrays);
  }
}

TEST(NpzWriter, FailedWriteReturnsFalseWithErrno) {
  const int file = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Array array("x", MLUOP_DTYPE_FLOAT, {3});
  NpzWriter writer(file);
  errno = 0;
  EXPECT_FALSE(writer.Begin(array.name, array.desc));
  EXPECT_EQ(errno, ENOSPC);
  close(file);
}

TEST(NpzReader, EveryTruncatedFileIsRefused) {
  const Folder folder;
  const std::vector<Array> arrays = {Array("x", MLUOP_DTYPE_FLOAT, {5})};
  for (const uint64_t limit : {uint64_t{0xffffffff}, uint64_t{0}}) {
    WriteFile(folder / "whole.npz", arrays, limit);
    ASSERT_EQ(Refusal(folder / "whole.npz"), "");
    const std::string bytes = ReadBytes(folder / "whole.npz");
    for (size_t size = 0; size < bytes.size(); ++size) {
      WriteBytes(folder / "cut.npz", bytes.substr(0, size));
      EXPECT_EQ(Refusal(folder / "cut.npz").find((folder / "cut.npz") + ": "), 0u) << size;
    }
  }
}

// A changed name, or a changed shape of the same size, is readable; CheckInputFile detects it.
TEST(NpzReader, EveryChangedDataByteIsRefused) {
  const Folder folder;
  const Array array("x", MLUOP_DTYPE_FLOAT, {5});
  WriteFile(folder / "whole.npz", {array});
  const std::string bytes = ReadBytes(folder / "whole.npz");
  const size_t data = bytes.find(array.bytes);
  ASSERT_NE(data, std::string::npos);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    WriteBytes(folder / "changed.npz", changed);
    const std::string refusal = Refusal(folder / "changed.npz");  // any byte: no crash
    if (i < data || i >= data + array.bytes.size()) continue;
    EXPECT_NE(refusal.find("array x does not match its checksum"), std::string::npos) << refusal;
  }
}

// Returns the error of CheckInputFile for a file with these arrays; "" if there is none.
std::string RefusalOfInputs(const std::vector<Array>& arrays) {
  const Folder folder;
  WriteFile(folder / "a.npz", arrays);
  const Case c = ParseCase("transpose N=1 A=2 B=3 data=file", folder / "a.npz");
  const CaseCall call(c);
  try {
    CheckInputFile(folder / "a.npz", call.arguments);
    return "";
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).substr((folder / "a.npz").size() + 2);
  }
}

TEST(CheckInputFile, NamesTypesAndShapesMustMatchTheInputs) {
  const Array input("input", MLUOP_DTYPE_FLOAT, {1, 2, 3});
  EXPECT_EQ(RefusalOfInputs({input}), "");
  EXPECT_EQ(RefusalOfInputs({Array("x", MLUOP_DTYPE_FLOAT, {1, 2, 3})}),
            "must hold the inputs of transpose: input, got x");
  EXPECT_EQ(RefusalOfInputs({}), "must hold the inputs of transpose: input, got no arrays");
  EXPECT_EQ(RefusalOfInputs({input, Array("output", MLUOP_DTYPE_FLOAT, {1, 3, 2})}),
            "must hold only the inputs of transpose: input, got output");
  EXPECT_EQ(RefusalOfInputs({input, input}), "must hold each input once");
  EXPECT_EQ(RefusalOfInputs({Array("input", MLUOP_DTYPE_HALF, {1, 2, 3})}),
            "input must have the type <f4, got <f2");
  EXPECT_EQ(RefusalOfInputs({Array("input", MLUOP_DTYPE_FLOAT, {1, 3, 2})}),
            "input.shape must be [1, 2, 3], got [1, 3, 2]");
  EXPECT_EQ(RefusalOfInputs({Array("input", MLUOP_DTYPE_FLOAT, {2, 3})}),
            "input.shape must be [1, 2, 3], got [2, 3]");
}

TEST(FillInputs, CopiesTheArraysOfTheFile) {
  const Folder folder;
  const Array input("input", MLUOP_DTYPE_FLOAT, {1, 2, 3});
  WriteFile(folder / "a.npz", {input});
  const Case c = ParseCase("transpose N=1 A=2 B=3 data=file", folder / "a.npz");
  CaseCall call(c);
  std::string data(input.bytes.size(), '\0');
  call.arguments.tensors[0].data = data.data();
  FillInputs(c, call.arguments);
  EXPECT_EQ(data, input.bytes);
}

TEST(ParseCase, DataFileNeedsAnNpzFile) {
  try {
    ParseCase("transpose N=1 A=2 B=3 data=file");
    FAIL() << "must be refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "transpose: data must be uniform, special or bits without an .npz file, got file");
  }
  EXPECT_EQ(ParseCase("transpose N=1 A=2 B=3", "a.npz").npz, "");
}

}  // namespace
}  // namespace mluop::testing
