// SPDX-License-Identifier: Apache-2.0
#include "testing/single_item.h"

#include <cstring>
#include <regex>
#include <string>

#include "core/dtype.h"

namespace mluop::testing {
namespace {

// A tensor as [outer, count, inner bytes]. `count` is the number of items; 1 if it has none.
struct ItemAxis {
  int64_t outer = 1, count = 1;
  size_t inner = 1;
};

bool IsItem(const Operator& op, const DimSpec& dim) {
  if (dim.factor_count != 1) return false;
  const Factor& factor = dim.factors[0];
  if (factor.kind == Factor::kSymbol) return op.spec.symbols[factor.value] == op.item;
  return factor.kind == Factor::kAttribute && op.spec.attributes[factor.value].name == op.item;
}

ItemAxis AxisOf(const Operator& op, int tensor, const mluOpTensorStruct& desc) {
  ItemAxis axis;
  axis.inner = SizeOf(desc.dtype);
  bool found = false;
  for (int d = 0; d < op.spec.tensors[tensor].rank; ++d) {
    if (!found && IsItem(op, op.spec.tensors[tensor].dims[d])) {
      axis.count = desc.dims[d];
      found = true;
    } else if (found) {
      axis.inner *= static_cast<size_t>(desc.dims[d]);
    } else {
      axis.outer *= desc.dims[d];
    }
  }
  if (!found) {
    axis.inner *= static_cast<size_t>(axis.outer);
    axis.outer = 1;
  }
  return axis;
}

// Copies item `index` of `from` to `to`, or the whole tensor if it has no items.
void CopyItem(const ItemAxis& axis, int64_t index, const char* from, char* to) {
  if (axis.count == 1) index = 0;
  for (int64_t o = 0; o < axis.outer; ++o) {
    std::memcpy(to + static_cast<size_t>(o) * axis.inner,
                from + static_cast<size_t>(o * axis.count + index) * axis.inner, axis.inner);
  }
}

Case OneItemCase(const Case& all) {
  Case one = all;
  const std::string item(all.op->item);
  one.values[item] = 1;
  one.line = std::regex_replace(all.line, std::regex("\\b" + item + "=[0-9]+"), item + "=1");
  return one;
}

}  // namespace

int64_t ItemCount(const Case& test_case) {
  if (test_case.op->item.empty()) return 0;
  return static_cast<int64_t>(test_case.values.find(test_case.op->item)->second);
}

SingleItem::SingleItem(const PreparedCall& all, int64_t index)
    : all_(all),
      index_(index),
      case_(OneItemCase(all.test_case())),
      call_(case_, Placement::kFront, [&](const Arguments& one) {
        const Operator& op = *case_.op;
        for (int i = 0; i < op.spec.tensor_count; ++i) {
          const TensorArgument& from = all.arguments().tensors[i];
          if (op.spec.tensors[i].direction != kIn || from.desc == nullptr) continue;
          CopyItem(AxisOf(op, i, *from.desc), index, static_cast<const char*>(from.data),
                   static_cast<char*>(one.tensors[i].data));
        }
      }) {}

std::vector<char> SingleItem::ItemOutputs(const std::vector<char>& bytes) const {
  std::vector<char> item;
  const char* from = bytes.data();
  for (const OutputRule& rule : case_.test->outputs) {
    const TensorArgument& tensor = all_.Output(rule.tensor);
    if (tensor.desc == nullptr) continue;
    const ItemAxis axis = AxisOf(*case_.op, case_.op->spec.TensorIndex(rule.tensor), *tensor.desc);
    const size_t start = item.size();
    item.resize(start + static_cast<size_t>(axis.outer) * axis.inner);
    CopyItem(axis, index_, from, item.data() + start);
    from += tensor.ByteCount();
  }
  return item;
}

}  // namespace mluop::testing
