// SPDX-License-Identifier: Apache-2.0
#include "core/arguments.h"

#include <cinttypes>

#include "core/dtype.h"
#include "core/text.h"

namespace mluop {

size_t TensorArgument::ByteCount() const {
  return desc == nullptr ? 0 : static_cast<size_t>(desc->ElementCount()) * SizeOf(desc->dtype);
}

int FormatCase(const Arguments& arguments, char* text, size_t size) {
  const OpSpec& spec = *arguments.spec;
  TextWriter line(text, size);
  line.Add("%.*s", MLUOP_SV(spec.name));
  for (int i = 0; i < spec.symbol_count; ++i) {
    line.Add(" %.*s=%" PRId64, MLUOP_SV(spec.symbols[i]), arguments.symbols[i]);
  }
  for (int i = 0; i < spec.attribute_count; ++i) {
    const bool real = spec.attributes[i].kind == AttributeSpec::kPositiveReal;
    line.Add(real ? " %.*s=%.9g" : " %.*s=%.0f", MLUOP_SV(spec.attributes[i].name),
             arguments.attributes[i].number);
  }
  if (spec.types != kFloat || arguments.Type() == MLUOP_DTYPE_DOUBLE)
    line.Add(" dtype=%s", NameOf(arguments.Type()));
  for (int i = 0; i < spec.tensor_count; ++i) {
    if (arguments.tensors[i].desc != nullptr) continue;
    line.Add(" %.*s=absent", MLUOP_SV(spec.tensors[i].name));
  }
  return static_cast<int>(line.length());
}

}  // namespace mluop
