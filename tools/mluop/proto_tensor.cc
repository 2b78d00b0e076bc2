// SPDX-License-Identifier: Apache-2.0
#include "proto_tensor.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/dtype.h"
#include "mluops/extensions.h"
#include "testing/random.h"

namespace mluop::tool {
namespace {

// The fields from onchip_dtype on have no effect on our operators, which do not quantise.
const std::vector<std::string> kTensorFields = {"id",           "shape",    "layout",  "dtype",
                                                "random_data",  "value_f",  "value_i", "value_h",
                                                "onchip_dtype", "position", "scale",   "offset"};
const std::vector<std::string> kRandomFields = {
    "seed",        "lower_bound", "upper_bound", "lower_bound_double", "upper_bound_double",
    "distribution"};

constexpr mluOpDataType_t kTypes[] = {MLUOP_DTYPE_HALF, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_DOUBLE,
                                      MLUOP_DTYPE_INT32};

template <typename T>
void Store(const T& value, int64_t index, std::vector<char>* data) {
  std::memcpy(data->data() + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

void StoreNumber(double value, mluOpDataType_t dtype, int64_t index, std::vector<char>* data) {
  switch (dtype) {
    case MLUOP_DTYPE_HALF: return Store(ToHalf(static_cast<float>(value)), index, data);
    case MLUOP_DTYPE_FLOAT: return Store(static_cast<float>(value), index, data);
    case MLUOP_DTYPE_DOUBLE: return Store(value, index, data);
    default: return Store(static_cast<int32_t>(value), index, data);
  }
}

class Reader {
 public:
  Reader(const std::string& path, const ProtoField& block) : path_(path), block_(block) {
    tensor_.line = block.line;
  }

  ProtoTensor Read() {
    mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
    mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
    std::vector<int64_t> dims;
    for (const ProtoField& field : block_.fields) {
      CheckName(path_, field.line, "a field of a tensor", kTensorFields, field.name);
      if (field.name == "shape") {
        dims = ReadDims(field);
      } else if (field.name == "layout") {
        layout = ReadLayout(field);
      } else if (field.name == "dtype") {
        dtype = ReadType(field);
      } else if (field.name == "random_data") {
        random_ = &field;
        for (const ProtoField& part : field.fields)
          CheckName(path_, part.line, "a field of random_data", kRandomFields, part.name);
      } else if (field.name.starts_with("value_")) {
        values_.push_back(&field);
      }
    }
    if (dtype == MLUOP_DTYPE_INVALID) FailAt(path_, block_.line, "a tensor must have a dtype");
    const auto rank = static_cast<int>(dims.size());
    if (mluOpSetTensorDescriptor_v2(&tensor_.desc, layout, dtype, rank, dims.data()) != 0) {
      FailAt(path_, block_.line, mluOpGetLastErrorMessage());
    }
    tensor_.has_data = random_ != nullptr || !values_.empty();
    if (block_.name == "input") ReadData();
    return std::move(tensor_);
  }

 private:
  std::vector<int64_t> ReadDims(const ProtoField& shape) const {
    std::vector<int64_t> dims;
    for (const ProtoField& field : shape.fields) {
      CheckName(path_, field.line, "a field of shape", {"dims"}, field.name);
      dims.push_back(static_cast<int64_t>(ProtoNumber(path_, field, true)));
    }
    return dims;
  }

  mluOpTensorLayout_t ReadLayout(const ProtoField& field) const {
    for (int i = MLUOP_LAYOUT_NCHW; i <= MLUOP_LAYOUT_NCL; ++i) {
      const auto layout = static_cast<mluOpTensorLayout_t>(i);
      if (field.value == std::string("LAYOUT_") + NameOf(layout)) return layout;
    }
    FailAt(path_, field.line,
           "layout must be LAYOUT_NHWC or another of mlu_op.h, got " + field.value);
  }

  mluOpDataType_t ReadType(const ProtoField& field) const {
    for (const mluOpDataType_t dtype : kTypes) {
      std::string name = NameOf(dtype);
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (field.value == "DTYPE_" + name) return dtype;
    }
    FailAt(
        path_, field.line,
        "dtype must be DTYPE_HALF, DTYPE_FLOAT, DTYPE_DOUBLE or DTYPE_INT32, got " + field.value);
  }

  void ReadData() {
    const int64_t count = tensor_.desc.ElementCount();
    if (!tensor_.has_data) return;
    if (!values_.empty() && std::ssize(values_) != count) {
      FailAt(path_, values_.front()->line,
             "the tensor must have " + std::to_string(count) + " values, got " +
                 std::to_string(values_.size()));
    }
    tensor_.data.resize(static_cast<size_t>(count) * SizeOf(tensor_.desc.dtype));
    if (values_.empty()) return FillRandomly(count);
    for (int64_t i = 0; i < count; ++i) StoreField(*values_[static_cast<size_t>(i)], i);
  }

  void StoreField(const ProtoField& field, int64_t index) {
    const mluOpDataType_t dtype = tensor_.desc.dtype;
    if (field.name == "value_h") {  // the bits, in hexadecimal
      const bool has_digits =
          field.value.find_first_not_of("0123456789abcdefABCDEF") == field.value.npos;
      if (field.is_block || !has_digits || field.value.size() != 2 * SizeOf(dtype)) {
        FailAt(path_, field.line,
               "value_h must have " + std::to_string(2 * SizeOf(dtype)) +
                   " hexadecimal digits, got " + field.value);
      }
      const uint64_t bits = std::strtoull(field.value.c_str(), nullptr, 16);
      std::memcpy(tensor_.data.data() + static_cast<size_t>(index) * SizeOf(dtype), &bits,
                  SizeOf(dtype));
    } else {
      const double number = ProtoNumber(path_, field, dtype == MLUOP_DTYPE_INT32);
      if (dtype == MLUOP_DTYPE_INT32 && (number < INT32_MIN || number > INT32_MAX)) {
        FailAt(path_, field.line, field.name + " must fit in int32, got " + field.value);
      }
      StoreNumber(number, dtype, index, &tensor_.data);
    }
  }

  // Uniform in [lower_bound, upper_bound). The numbers differ from MLU-OPS's, which has another
  // generator.
  void FillRandomly(int64_t count) {
    double seed = 0, low = 0, high = 1;
    for (const ProtoField& field : random_->fields) {
      if (field.name == "seed") {
        seed = ProtoNumber(path_, field, true);
      } else if (field.name == "lower_bound" || field.name == "lower_bound_double") {
        low = ProtoNumber(path_, field, false);
      } else if (field.name == "upper_bound" || field.name == "upper_bound_double") {
        high = ProtoNumber(path_, field, false);
      } else if (field.value != "UNIFORM") {
        FailAt(path_, field.line, "distribution must be UNIFORM, got " + field.value);
      }
    }
    const bool is_integer = tensor_.desc.dtype == MLUOP_DTYPE_INT32;
    if (!(low <= high) || (is_integer && (low < INT32_MIN || high > INT32_MAX))) {
      FailAt(path_, random_->line, "the bounds of random_data must be in order and fit the type");
    }
    testing::Random random(static_cast<uint64_t>(static_cast<int64_t>(seed)));
    for (int64_t i = 0; i < count; ++i) {
      const double value = random.Uniform(low, high);
      StoreNumber(is_integer ? std::floor(value) : value, tensor_.desc.dtype, i, &tensor_.data);
    }
  }

  const std::string& path_;
  const ProtoField& block_;
  ProtoTensor tensor_;
  const ProtoField* random_ = nullptr;
  std::vector<const ProtoField*> values_;
};

}  // namespace

double ProtoNumber(const std::string& path, const ProtoField& field, bool is_integer) {
  char* end = nullptr;
  const double number = std::strtod(field.value.c_str(), &end);
  const bool fits = !is_integer || (number == std::floor(number) && std::abs(number) <= 0x1p53);
  if (field.is_block || field.value.empty() || *end != '\0' || !fits) {
    FailAt(path, field.line,
           field.name + " must be " + (is_integer ? "an integer" : "a number") + ", got " +
               (field.is_block ? "a block" : field.value));
  }
  return number;
}

ProtoTensor ReadProtoTensor(const std::string& path, const ProtoField& block) {
  return Reader(path, block).Read();
}

}  // namespace mluop::tool
