// SPDX-License-Identifier: Apache-2.0
// The reference and the plain loops of transpose.
#include "mluops/extensions.h"
#include "testing/element.h"
#include "testing/operator_test.h"

namespace mluop::transpose {
namespace {

using namespace mluop::testing;

template <class Copy>
void ForEach(const Arguments& arguments, Copy copy) {
  const int64_t N = arguments.Symbol("N"), A = arguments.Symbol("A"), B = arguments.Symbol("B");
  for (int64_t n = 0; n < N; ++n)
    for (int64_t a = 0; a < A; ++a)
      for (int64_t b = 0; b < B; ++b) copy((n * A + a) * B + b, (n * B + b) * A + a);
}

void Reference(const Arguments& a) {
  ForEach(a, [&](int64_t from, int64_t to) {
    CopyElement(a.In<void>("input"), from, a.Out<void>("output"), to, a.Type());
  });
}

template <typename T>
void PlainOf(const Arguments& a) {
  const T* input = a.In<T>("input");
  T* output = a.Out<T>("output");
  ForEach(a, [=](int64_t from, int64_t to) { output[to] = input[from]; });
}

void Plain(const Arguments& a) {
  switch (a.Type()) {
    case MLUOP_DTYPE_HALF: return PlainOf<uint16_t>(a);
    case MLUOP_DTYPE_FLOAT: return PlainOf<float>(a);
    default: return PlainOf<double>(a);
  }
}

Work TransposeWork(const Arguments& a) { return {AllBytes(a)}; }

mluOpStatus_t Call(mluOpHandle_t handle, const Arguments& a) {
  return mluOpTranspose(handle, Desc(a, "input"), a.In<void>("input"), Desc(a, "output"),
                        a.Out<void>("output"));
}

constexpr OutputRule kOutputs[] = {{"output", Criterion::kExact}};

constexpr OperatorTest kOperators[] = {{.name = "transpose",
                                        .outputs = kOutputs,
                                        .options = {},
                                        .call = Call,
                                        .workspace_size = nullptr,
                                        .generate = nullptr,
                                        .reference = Reference,
                                        .plain = Plain,
                                        .work = TransposeWork}};

}  // namespace

extern constexpr FamilyTest kFamilyTest = {"transpose", kOperators, {}};

}  // namespace mluop::transpose
