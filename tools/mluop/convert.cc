// SPDX-License-Identifier: Apache-2.0
// mluop convert: test cases of MLU-OPS (.prototxt) as case files, x.txt with its inputs in x.npz.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "commands.h"
#include "core/checks.h"
#include "core/npz_writer.h"
#include "mluops/extensions.h"
#include "proto_tensor.h"
#include "testing/operator_test.h"

namespace mluop::tool {
namespace {

using std::string;

class Conversion {
 public:
  explicit Conversion(const string& path) : path_(path) {
    errno = 0;
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
      throw std::invalid_argument(path + ": must be a readable file with text, got " +
                                  (errno == 0 ? "no text" : strerrordesc_np(errno)));
    }
    root_ = ParsePrototxt(path, text.str());
    op_ = FindOperator();
    ReadFields();
  }

  // Writes the files into `folder` and returns the file of cases. Existing files are not replaced.
  string Write(const std::filesystem::path& folder) const {
    Arguments call = MakeArguments();
    char line[1024];
    FormatCase(call, line, sizeof(line));
    std::filesystem::path file = folder / std::filesystem::path(path_).filename();
    const string npz = file.replace_extension(".npz").string();
    string txt = file.replace_extension(".txt").string();
    if (std::filesystem::exists(txt)) throw std::invalid_argument(txt + ": must not exist yet");
    const bool has_data = HasData();
    if (has_data) WriteNpz(npz);
    errno = 0;
    std::ofstream out(txt);
    out << "# Converted from " << std::filesystem::path(path_).filename().string() << ".\n"
        << line << (has_data ? " data=file\n" : "\n");
    if (!out.flush()) {
      const int error = errno;
      // A second attempt must not find a part of the first.
      if (out.is_open()) unlink(txt.c_str());
      if (has_data) unlink(npz.c_str());
      throw std::invalid_argument(txt + ": must be a writable file, got " + strerrordesc_np(error));
    }
    std::printf("%s\n", txt.c_str());
    return txt;
  }

 private:
  const OpSpec& spec() const { return op_->spec; }

  const Operator* FindOperator() const {
    for (const ProtoField& field : root_.fields) {
      if (field.name != "op_name") continue;
      const Operator* const op = testing::FindOperator(field.value);
      if (op == nullptr)
        FailAt(path_, field.line, "op_name must be a name of `mluop list`, got " + field.value);
      return op;
    }
    FailAt(path_, 1, "the file must have an op_name");
  }

  void ReadFields() {
    const string op(spec().name);
    // The attributes are in <operator>_param or, for both directions, in <family>_param.
    const string parameters = op + "_param", shared = op.substr(0, op.rfind('_')) + "_param";
    for (const ProtoField& field : root_.fields) {
      CheckName(path_, field.line, "a field",
                {"op_name", "op_type", "input", "output", parameters, shared, "handle_param",
                 "test_param"},
                field.name);
      if (field.name == "input") {
        inputs_.push_back(ReadProtoTensor(path_, field));
      } else if (field.name == "output") {
        outputs_.push_back(ReadProtoTensor(path_, field));
      } else if (field.name == parameters || field.name == shared) {
        ReadAttributes(field);
      }
    }
  }

  void ReadAttributes(const ProtoField& block) {
    std::vector<string> names;
    for (int i = 0; i < spec().attribute_count; ++i) names.emplace_back(spec().attributes[i].name);
    for (const ProtoField& field : block.fields) {
      CheckName(path_, field.line, "an attribute", names, field.name);
      const int index = spec().AttributeIndex(field.name);
      const bool is_integer = spec().attributes[index].kind == AttributeSpec::kInteger;
      const double value = ProtoNumber(path_, field, is_integer);
      if (is_integer && (value < INT32_MIN || value > INT32_MAX)) {
        FailAt(path_, field.line, field.name + " must fit in int, got " + field.value);
      }
      attributes_[index] = value;
      is_set_[index] = true;
    }
  }

  // Tensors have the order of the table; a file may leave out the tensors that may be absent.
  void Assign(const std::vector<ProtoTensor>& tensors, Direction direction, Arguments* call) const {
    size_t all = 0, required = 0;
    for (int i = 0; i < spec().tensor_count; ++i) {
      if (spec().tensors[i].direction != direction) continue;
      ++all;
      required += spec().tensors[i].optional_attribute < 0 ? 1 : 0;
    }
    if (tensors.size() != all && tensors.size() != required) {
      FailAt(path_, 1,
             string(spec().name) + " must have " + std::to_string(all) +
                 (direction == kIn ? " input" : " output") + (all == 1 ? "" : "s") + ", got " +
                 std::to_string(tensors.size()));
    }
    size_t next = 0;
    for (int i = 0; i < spec().tensor_count; ++i) {
      const TensorSpec& row = spec().tensors[i];
      const bool is_absent = tensors.size() != all && row.optional_attribute >= 0;
      if (row.direction == direction && !is_absent) call->tensors[i].desc = &tensors[next++].desc;
    }
  }

  // MLU-OPS takes some attributes from shapes: an attribute that is not given is the dim that the
  // table names after it.
  double AttributeFromShapes(const Arguments& call, int index) const {
    for (int i = 0; i < spec().tensor_count; ++i) {
      const mluOpTensorStruct* const desc = call.tensors[i].desc;
      for (int d = 0; desc != nullptr && d < std::min(desc->rank, spec().tensors[i].rank); ++d) {
        const DimSpec& dim = spec().tensors[i].dims[d];
        const bool is_attribute = dim.factor_count == 1 &&
                                  dim.factors[0].kind == Factor::kAttribute &&
                                  dim.factors[0].value == index;
        if (is_attribute && desc->dims[d] <= INT32_MAX) return static_cast<double>(desc->dims[d]);
      }
    }
    FailAt(
        path_, 1,
        "the attribute " + string(spec().attributes[index].name) + " must have a value, got none");
  }

  // Returns the call without data, after the library's checks of shapes.
  Arguments MakeArguments() const {
    Arguments call(spec());
    Assign(inputs_, kIn, &call);
    Assign(outputs_, kOut, &call);
    for (int i = 0; i < spec().attribute_count; ++i) {
      call.attributes[i].number = is_set_[i] ? attributes_[i] : AttributeFromShapes(call, i);
    }
    const size_t unused = 0;
    const TensorSpec* empty = nullptr;
    if (ValidateGetter(call, &unused, &empty) != MLUOP_STATUS_SUCCESS) {
      FailAt(path_, 1, mluOpGetLastErrorMessage());
    }
    return call;
  }

  // Returns false if no input has contents: the driver then generates them.
  bool HasData() const {
    const ProtoTensor* without = nullptr;
    bool has_data = false;
    for (const ProtoTensor& tensor : inputs_) {
      has_data |= tensor.has_data;
      if (!tensor.has_data && tensor.desc.ElementCount() > 0) without = &tensor;
    }
    if (has_data && without != nullptr) {
      FailAt(path_, without->line, "the input must have values or random_data, as others have");
    }
    return has_data;
  }

  void WriteNpz(const string& path) const {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = file >= 0;
    NpzWriter writer(file);
    const Arguments call = MakeArguments();
    size_t next = 0;
    for (int i = 0; i < spec().tensor_count && written; ++i) {
      if (spec().tensors[i].direction != kIn || call.tensors[i].desc == nullptr) continue;
      const ProtoTensor& tensor = inputs_[next++];
      written = writer.Begin(spec().tensors[i].name, tensor.desc) &&
                writer.Write(tensor.data.data(), tensor.data.size()) && writer.End();
    }
    written = written && writer.Finish();
    const int error = errno;
    if (file >= 0) close(file);
    if (written) return;
    if (file >= 0) unlink(path.c_str());
    throw std::invalid_argument(path + ": must be a writable file, got " + strerrordesc_np(error));
  }

  const string& path_;
  ProtoField root_;
  const Operator* op_ = nullptr;
  std::vector<ProtoTensor> inputs_, outputs_;
  double attributes_[kMaxAttributes] = {};
  bool is_set_[kMaxAttributes] = {};
};

}  // namespace

int Convert(const std::vector<string>& files, const string& folder, Row* document) {
  Row rows = Row::array();
  int failed = 0;
  for (const string& file : files) {
    string message;
    try {
      const string written =
          Conversion(file).Write(folder.empty() ? std::filesystem::path(file).parent_path()
                                                : std::filesystem::path(folder));
      rows.push_back({{"file", file}, {"cases", written}});
      continue;
    } catch (const std::invalid_argument& error) {
      message = error.what();
    } catch (const std::filesystem::filesystem_error& error) {
      message = file + ": " + error.what();
    } catch (const std::exception& error) {  // bad_alloc, length_error
      message = file + ": must fit in memory, got " + error.what();
    }
    std::fprintf(stderr, "mluop: %s\n", message.c_str());
    ++failed;
    rows.push_back({{"file", file}, {"error", message}});
  }
  *document = {{"failed", failed}, {"files", rows}};
  return failed == 0 ? 0 : 2;
}

}  // namespace mluop::tool
