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

// NaN, infinities, denormals, -0 and the largest number, as bits.
constexpr uint16_t kSpecialHalfs[] = {0x7e00, 0x7c00, 0xfc00, 0x8000, 0x0001,
                                      0x83ff, 0x7bff, 0x7d12, 0xfe34};
constexpr uint32_t kSpecialFloats[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 0x00000001,
                                       0x807fffff, 0x7f7fffff, 0x7f812345, 0xffc54321};
constexpr uint64_t kSpecialDoubles[] = {0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000,
                                        0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
                                        0x7fefffffffffffff, 0x7ff0000012345678, 0xfff8000087654321};

// Fills a tensor whose elements have the type Bits. `to_bits` converts a number in [-1, 1).
template <class Bits, size_t kCount, class ToBits>
void FillValues(const std::string& data, const Bits (&specials)[kCount], ToBits to_bits,
                const TensorArgument& tensor, Random& random) {
  for (int64_t i = 0; i < tensor.desc->ElementCount(); ++i) {
    const bool special = data == "special" && random.Below(20) == 0;
    Bits bits = to_bits(random.Uniform(-1, 1));
    if (special) bits = specials[random.Below(kCount)];
    if (data == "bits") bits = static_cast<Bits>(random.Bits());
    static_cast<Bits*>(tensor.data)[i] = bits;
  }
}

void FillValues(const Case& c, const TensorArgument& tensor, Random& random) {
  const auto fill = [&](const auto& specials, auto to_bits) {
    FillValues(c.Option("data"), specials, to_bits, tensor, random);
  };
  switch (tensor.desc->dtype) {
    case MLUOP_DTYPE_HALF:
      return fill(kSpecialHalfs, [](double x) { return ToHalf(static_cast<float>(x)).bits; });
    case MLUOP_DTYPE_FLOAT:
      return fill(kSpecialFloats,
                  [](double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); });
    default: return fill(kSpecialDoubles, [](double x) { return std::bit_cast<uint64_t>(x); });
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
