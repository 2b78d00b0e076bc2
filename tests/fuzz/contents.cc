// SPDX-License-Identifier: Apache-2.0
// Generates the contents of inputs (contents.h).
#include "tests/fuzz/contents.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/dtype.h"
#include "testing/case.h"

namespace mluop::fuzz {
namespace {

using testing::Case;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// No denormals: the weights of a denormal coordinate are 0 in float but not in double, so infinity
// becomes NaN in one of them. The generators of the cases produce denormal values.
constexpr float kSpecialValues[] = {kNan,  -kNan,    kInf,   -kInf,  0.0f, -0.0f, 1.0f,  -1.0f,
                                    0.5f,  -0.5f,    2.5f,   1e9f,   3e9f, -3e9f, 1e30f, -1e30f,
                                    3e38f, 65504.0f, 2.0e9f, 1e-10f, 7.0f, 16.0f};
constexpr int32_t kInvalidIndices[] = {INT32_MIN, INT32_MAX,     -1, 0,  1,
                                       1 << 16,   INT32_MIN + 1, 7,  64, -4};

int64_t ElementCount(const TensorArgument& tensor) { return tensor.desc->ElementCount(); }

void Store(const TensorArgument& tensor, int64_t i, float value) {
  if (tensor.desc->dtype == MLUOP_DTYPE_HALF) {
    static_cast<Half*>(tensor.data)[i] = ToHalf(value);
  } else {
    static_cast<float*>(tensor.data)[i] = value;
  }
}

bool IsReal(const TensorArgument& tensor) {
  return tensor.desc->dtype == MLUOP_DTYPE_HALF || tensor.desc->dtype == MLUOP_DTYPE_FLOAT;
}

// Fills with indices and coordinates that are usually inside the small shapes.
void FillSmall(const TensorArgument& tensor, testing::Random& random) {
  for (int64_t i = 0; i < ElementCount(tensor); ++i) {
    if (tensor.desc->dtype == MLUOP_DTYPE_INT32) {
      static_cast<int32_t*>(tensor.data)[i] = static_cast<int32_t>(random.Below(12)) - 3;
    } else {
      Store(tensor, i, static_cast<float>(random.Uniform(0, 12)));
    }
  }
}

void FillBits(const TensorArgument& tensor, testing::Random& random) {
  auto* data = static_cast<unsigned char*>(tensor.data);
  for (size_t i = 0; i < tensor.ByteCount(); ++i)
    data[i] = static_cast<unsigned char>(random.Bits());
}

// Runs the operator's own generator with random options. Returns whether all values are in [-1, 1).
bool FillAsCase(const testing::OperatorTest& test, const Arguments& arguments, Bytes& bytes) {
  static constexpr const char* kData[] = {"uniform", "uniform", "special", "bits"};
  static std::map<const testing::OperatorTest*, Case> cases;
  Case& c = cases[&test];
  c.test = &test;
  c.seed = bytes.Raw<uint64_t>();
  const int data = bytes.Below(4);
  c.options["data"] = kData[data];
  for (const testing::Option& option : test.options) {
    c.options[std::string(option.name)] =
        option.choices[static_cast<size_t>(bytes.Below(static_cast<int>(option.choices.size())))];
  }
  testing::FillInputs(c, arguments);
  return data < 2;
}

// Replaces a few elements by special numbers or wrong indices.
void InsertSpecialValues(const Arguments& arguments, Bytes& bytes) {
  const int count = bytes.Below(5);
  for (int k = 0; k < count; ++k) {
    const int i = bytes.Below(arguments.spec->tensor_count);
    const TensorArgument& tensor = arguments.tensors[i];
    if (arguments.spec->tensors[i].direction != kIn || tensor.desc == nullptr) continue;
    const int64_t elements = ElementCount(tensor);
    if (elements == 0) continue;
    const int64_t at = bytes.Raw<uint16_t>() % elements;
    if (IsReal(tensor)) {
      Store(tensor, at, kSpecialValues[bytes.Below(std::size(kSpecialValues))]);
    } else if (tensor.desc->dtype == MLUOP_DTYPE_INT32) {
      const int32_t strange = kInvalidIndices[bytes.Below(std::size(kInvalidIndices))];
      static_cast<int32_t*>(tensor.data)[at] = bytes.OneIn(4) ? bytes.Raw<int32_t>() : strange;
    }
  }
}

}  // namespace

bool FillInputs(const EntryPoint& entry, const Arguments& arguments, bool valid, Bytes& bytes) {
  const int kind = bytes.Below(8);
  if (valid && entry.test != nullptr && kind < 4) {
    const bool small_range = FillAsCase(*entry.test, arguments, bytes);
    const bool has_special_values = bytes.OneIn(2);
    if (has_special_values) InsertSpecialValues(arguments, bytes);
    return small_range && !has_special_values;
  }
  testing::Random random(bytes.Raw<uint64_t>());
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const TensorArgument& tensor = arguments.tensors[i];
    if (arguments.spec->tensors[i].direction != kIn || tensor.desc == nullptr) continue;
    const bool numbers = IsReal(tensor) || tensor.desc->dtype == MLUOP_DTYPE_INT32;
    numbers&& kind < 7 ? FillSmall(tensor, random) : FillBits(tensor, random);
  }
  if (kind == 6) InsertSpecialValues(arguments, bytes);
  return kind < 6;
}

}  // namespace mluop::fuzz
