// SPDX-License-Identifier: Apache-2.0
// Computes the values of a table's symbols from the tensors of a call, then checks every dim.
#include <cinttypes>

#include "core/checks.h"
#include "core/error.h"

namespace mluop {
namespace {

// Multiplies with saturation at INT64_MAX, which no dim reaches.
int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t FactorValue(const Arguments& call, const Factor& factor) {
  switch (factor.kind) {
    case Factor::kLiteral: return factor.value;
    case Factor::kAttribute: return static_cast<int64_t>(call.attributes[factor.value].number);
    case Factor::kSymbol: return call.symbols[factor.value];
  }
  return 0;
}

// Computes the value of a dim. Returns false on overflow.
bool EvaluateDim(const Arguments& call, const DimSpec& dim, int64_t* product) {
  bool fits = true, zero = false;
  *product = 1;
  for (int f = 0; f < dim.factor_count; ++f) {
    const int64_t factor = FactorValue(call, dim.factors[f]);
    fits &= !__builtin_mul_overflow(*product, factor, product);  // an overflow wraps around
    zero |= factor == 0;
  }
  return fits || zero;
}

// Writes "H*W = 24", or "5" for a literal.
void FormatDim(const OpSpec& spec, const DimSpec& dim, const int64_t* value, TextWriter rule) {
  for (int f = 0; f < dim.factor_count; ++f) {
    const Factor& factor = dim.factors[f];
    if (f > 0) rule.Add("*");
    switch (factor.kind) {
      case Factor::kLiteral: rule.Add("%d", factor.value); break;
      case Factor::kAttribute:
        rule.Add("%.*s", MLUOP_SV(spec.attributes[factor.value].name));
        break;
      case Factor::kSymbol: rule.Add("%.*s", MLUOP_SV(spec.symbols[factor.value])); break;
    }
  }
  const bool literal = dim.factor_count == 1 && dim.factors[0].kind == Factor::kLiteral;
  if (literal) return;
  if (value == nullptr) {
    rule.Add(", which overflows int64");
  } else {
    rule.Add(" = %" PRId64, *value);
  }
}

class Solver {
 public:
  explicit Solver(Arguments& call) : call_(call), spec_(*call.spec) {}

  // Assigns values to symbols: from dims that are a symbol alone (`bare`), or from all other dims.
  mluOpStatus_t BindAll(bool bare) {
    return ForEachDim([&, this](const TensorSpec& row, int index, int64_t dim) {
      if (row.dims[index].IsBareSymbol() != bare) return MLUOP_STATUS_SUCCESS;
      return Bind(row, index, dim);
    });
  }

  mluOpStatus_t CompareAll() {
    return ForEachDim([this](const TensorSpec& row, int index, int64_t dim) {
      int64_t wanted = 0;
      const bool fits = EvaluateDim(call_, row.dims[index], &wanted);
      if (fits && wanted == dim) return MLUOP_STATUS_SUCCESS;
      char rule[96];
      FormatDim(spec_, row.dims[index], fits ? &wanted : nullptr, TextWriter(rule));
      return BrokenRule(spec_.name, row.name, "shape", index)
          .Must("be %s", rule)
          .Got("%" PRId64, dim);
    });
  }

 private:
  template <typename Check>
  mluOpStatus_t ForEachDim(Check check) {
    for (int t = 0; t < spec_.tensor_count; ++t) {
      const mluOpTensorStruct* desc = call_.tensors[t].desc;
      if (desc == nullptr) continue;
      for (int d = 0; d < spec_.tensors[t].rank; ++d) {
        if (mluOpStatus_t status = check(spec_.tensors[t], d, desc->dims[d])) return status;
      }
    }
    return MLUOP_STATUS_SUCCESS;
  }

  mluOpStatus_t Bind(const TensorSpec& row, int index, int64_t dim) {
    int unbound = -1;
    int64_t known = 1;
    const DimSpec& product = row.dims[index];
    for (int f = 0; f < product.factor_count; ++f) {
      const Factor& factor = product.factors[f];
      if (factor.kind == Factor::kSymbol && !bound_[factor.value]) {
        unbound = factor.value;
      } else {
        known = SaturatingMultiply(known, FactorValue(call_, factor));
      }
    }
    if (unbound < 0) return MLUOP_STATUS_SUCCESS;
    if (known == 0 || dim % known != 0) {
      return BrokenRule(spec_.name, row.name, "shape", index)
          .Must("be a multiple of %" PRId64, known)
          .Got("%" PRId64, dim);
    }
    bound_[unbound] = true;
    call_.symbols[unbound] = dim / known;
    return MLUOP_STATUS_SUCCESS;
  }

  Arguments& call_;
  const OpSpec& spec_;
  bool bound_[kMaxSymbols] = {};
};

}  // namespace

int64_t Evaluate(const Arguments& call, const DimSpec& dim) {
  int64_t product = 0;
  return EvaluateDim(call, dim, &product) ? product : INT64_MAX;
}

mluOpStatus_t CheckShapes(Arguments& call) {
  Solver solver(call);
  if (mluOpStatus_t status = solver.BindAll(/*bare=*/true)) return status;
  if (mluOpStatus_t status = solver.BindAll(/*bare=*/false)) return status;
  return solver.CompareAll();
}

}  // namespace mluop
