// SPDX-License-Identifier: Apache-2.0
#include "testing/npz_inputs.h"

#include <algorithm>
#include <stdexcept>

#include "core/npz_writer.h"
#include "testing/npz_reader.h"

namespace mluop::testing {
namespace {

bool IsInput(const Arguments& arguments, int i) {
  return arguments.spec->tensors[i].direction == kIn && arguments.tensors[i].desc != nullptr;
}

std::string InputNames(const Arguments& arguments) {
  std::string names;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    if (!IsInput(arguments, i)) continue;
    names += (names.empty() ? "" : ", ") + std::string(arguments.spec->tensors[i].name);
  }
  return names;
}

std::string ShapeText(const int64_t* dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

// Returns the array of that name, after checking its type and shape.
const NpzArray& FindArray(const NpzReader& file, const std::string& path,
                          const Arguments& arguments, int i) {
  const std::string name(arguments.spec->tensors[i].name);
  const mluOpTensorStruct& desc = *arguments.tensors[i].desc;
  const auto fail = [&](const std::string& rule, const std::string& got) {
    throw std::invalid_argument(path + ": " + rule + ", got " + got);
  };
  const auto found = std::find_if(file.arrays().begin(), file.arrays().end(),
                                  [&](const NpzArray& array) { return array.name == name; });
  if (found == file.arrays().end()) {
    std::string names;
    for (const NpzArray& array : file.arrays()) names += (names.empty() ? "" : ", ") + array.name;
    fail("must hold the inputs of " + std::string(arguments.spec->name) + ": " +
             InputNames(arguments),
         names.empty() ? "no arrays" : names);
  }
  const std::string type = NpyType(desc.dtype);
  if (found->type != type) fail(name + " must have the type " + type, found->type);
  const auto rank = static_cast<size_t>(desc.rank);
  if (!std::equal(found->shape.begin(), found->shape.end(), desc.dims, desc.dims + rank)) {
    fail(name + ".shape must be " + ShapeText(desc.dims, rank),
         ShapeText(found->shape.data(), found->shape.size()));
  }
  if (found->fortran_order && rank > 1) {
    fail(name + " must be in C order (numpy.ascontiguousarray)", "Fortran order");
  }
  return *found;
}

void Check(const NpzReader& file, const std::string& path, const Arguments& arguments) {
  size_t inputs = 0;
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    if (!IsInput(arguments, i)) continue;
    FindArray(file, path, arguments, i);
    ++inputs;
  }
  if (file.arrays().size() == inputs) return;
  for (const NpzArray& array : file.arrays()) {
    const int i = arguments.spec->TensorIndex(array.name);
    if (i >= 0 && IsInput(arguments, i)) continue;
    throw std::invalid_argument(path + ": must hold only the inputs of " +
                                std::string(arguments.spec->name) + ": " + InputNames(arguments) +
                                ", got " + array.name);
  }
  throw std::invalid_argument(path + ": must hold each input once");
}

}  // namespace

void CheckInputFile(const std::string& path, const Arguments& arguments) {
  Check(NpzReader(path), path, arguments);
}

void LoadInputs(const std::string& path, const Arguments& arguments) {
  const NpzReader file(path);
  Check(file, path, arguments);
  for (int i = 0; i < arguments.spec->tensor_count; ++i) {
    if (!IsInput(arguments, i)) continue;
    file.Read(FindArray(file, path, arguments, i), arguments.tensors[i].data,
              arguments.tensors[i].ByteCount());
  }
}

}  // namespace mluop::testing
