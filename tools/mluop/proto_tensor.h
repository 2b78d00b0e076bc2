// SPDX-License-Identifier: Apache-2.0
// A tensor of a test case of MLU-OPS: its descriptor and its contents.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"
#include "prototxt.h"

namespace mluop::tool {

struct ProtoTensor {
  int line = 0;
  mluOpTensorStruct desc;
  bool has_data = false;   // values or random_data
  std::vector<char> data;  // of an input that has data
};

// Reads an `input` or `output` block. Contents of outputs are ignored. Throws std::invalid_argument,
// "path:line: ...".
ProtoTensor ReadProtoTensor(const std::string& path, const ProtoField& block);

// Parses a number. Throws std::invalid_argument, "path:line: ...".
double ProtoNumber(const std::string& path, const ProtoField& field, bool is_integer);

}  // namespace mluop::tool
