// SPDX-License-Identifier: Apache-2.0
// Fills the inputs of a case: from its .npz file, or else with random values and the family's
// generator.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "testing/case.h"
#include "testing/npz_inputs.h"

namespace mluop::testing {
namespace {

uint32_t SpecialFloat(Random& random) {
  static constexpr uint32_t kSpecial[] = {0x7fc00000, 0x7f800000, 0xff800000,
                                          0x80000000, 0x00000001, 0x807fffff,
                                          0x7f7fffff, 0x7f812345, 0xffc54321};
  return kSpecial[random.Below(std::size(kSpecial))];
}

uint16_t SpecialHalf(Random& random) {
  static constexpr uint16_t kSpecial[] = {0x7e00, 0x7c00, 0xfc00, 0x8000, 0x0001,
                                          0x83ff, 0x7bff, 0x7d12, 0xfe34};
  return kSpecial[random.Below(std::size(kSpecial))];
}

uint64_t SpecialDouble(Random& random) {
  static constexpr uint64_t kSpecial[] = {
      0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000,
      0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
      0x7fefffffffffffff, 0x7ff0000012345678, 0xfff8000087654321};
  return kSpecial[random.Below(std::size(kSpecial))];
}

void FillValues(const Case& c, const TensorArgument& tensor, Random& random) {
  const std::string& data = c.Option("data");
  const int64_t count = tensor.desc->ElementCount();
  for (int64_t i = 0; i < count; ++i) {
    const bool special = data == "special" && random.Below(20) == 0;
    const double wide = random.Uniform(-1, 1);
    const auto value = static_cast<float>(wide);
    if (tensor.desc->dtype == MLUOP_DTYPE_DOUBLE) {
      uint64_t bits = special ? SpecialDouble(random) : std::bit_cast<uint64_t>(wide);
      if (data == "bits") bits = random.Bits();
      static_cast<uint64_t*>(tensor.data)[i] = bits;
    } else if (tensor.desc->dtype == MLUOP_DTYPE_FLOAT) {
      uint32_t bits = special ? SpecialFloat(random) : std::bit_cast<uint32_t>(value);
      if (data == "bits") bits = static_cast<uint32_t>(random.Bits());
      static_cast<uint32_t*>(tensor.data)[i] = bits;
    } else {
      uint16_t bits = special ? SpecialHalf(random) : ToHalf(value).bits;
      if (data == "bits") bits = static_cast<uint16_t>(random.Bits());
      static_cast<uint16_t*>(tensor.data)[i] = bits;
    }
  }
}

}  // namespace

void FillInputs(const Case& test_case, const Arguments& arguments) {
  if (!test_case.npz.empty()) {
    LoadInputs(test_case.npz, arguments);
    return;
  }
  Random random(test_case.seed);
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    const TensorSpec& row = arguments.spec->tensors[i];
    if (row.direction == kIn && row.type == kT) FillValues(test_case, arguments.tensors[i], random);
  }
  // The generators choose positions inside the tensors. A call with an empty tensor reads no input.
  const bool is_empty =
      std::any_of(arguments.tensors, arguments.tensors + arguments.spec->tensor_count,
                  [](const TensorArgument& tensor) {
                    return tensor.desc != nullptr && tensor.ByteCount() == 0;
                  });
  if (is_empty || test_case.test->generate == nullptr) return;
  test_case.test->generate(test_case, arguments, random);
}

}  // namespace mluop::testing
