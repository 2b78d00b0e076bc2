// SPDX-License-Identifier: Apache-2.0
// A family's operators for the driver and the tests: how to call them, how to generate inputs, the
// reference and the plain loops. Each family's reference.cc defines one FamilyTest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/arguments.h"
#include "core/operator.h"
#include "testing/random.h"
#include "testing/work.h"

namespace mluop::testing {

struct Case;

// The comparison of an output with the reference. An output of type double that is not kExact is
// compared as kFixed with 1e-13, the contract's threshold for double.
enum class Criterion {
  kExact,    // equal bits; the reference writes the output's own type
  kDynamic,  // diff1 and diff2 within ten times the error of the plain loops, diff4 without bias;
             // the reference writes double
  kFixed,    // diff1 and diff2 within `threshold`; the reference writes double
  kFamily,   // OperatorTest::accept decides; the reference writes the output's own type
};

struct OutputRule {
  std::string_view tensor;
  Criterion criterion;
  double threshold = 0;
};

// An option of a case line that selects the contents of inputs. The first choice is the default.
struct Option {
  std::string_view name;
  std::span<const std::string_view> choices;
};

struct OperatorTest {
  std::string_view name;  // of the operator's table
  std::span<const OutputRule> outputs;
  std::span<const Option> options;

  // Calls the public C function with unchanged arguments, including NULL descriptors.
  mluOpStatus_t (*call)(mluOpHandle_t handle, const Arguments& arguments);
  // Calls the public getter; NULL if the operator has none.
  mluOpStatus_t (*workspace_size)(mluOpHandle_t handle, const Arguments& arguments, size_t* size);
  // Fills the index inputs, after the inputs of type T. NULL if there are none.
  void (*generate)(const Case& test_case, const Arguments& arguments, Random& random);
  // The reference: coordinates as in the contract, values in double; in a call of type double both
  // are long double. kExact outputs have their own type, the others are arrays of double.
  void (*reference)(const Arguments& arguments);
  // The plain loops: the same computation as `reference` in the operator's own types and buffers,
  // on one thread.
  void (*plain)(const Arguments& arguments);
  // The minimum work of the call.
  Work (*work)(const Arguments& arguments);
  // For kFamily outputs: returns "" if the difference from the baseline is allowed, else an error
  // message.
  std::string (*accept)(const Arguments& arguments, std::string_view output,
                        const void* baseline) = nullptr;
  // The C function takes a workspace but has no getter.
  bool workspace_without_getter = false;
  // Calls the public C function by its other name; NULL if it has one name.
  mluOpStatus_t (*other_spelling)(mluOpHandle_t handle, const Arguments& arguments) = nullptr;

  bool has_workspace() const { return workspace_size != nullptr || workspace_without_getter; }
};

// A workspace getter, for the tests of its checks.
struct GetterTest {
  std::string_view name;  // of the getter's table
  mluOpStatus_t (*call)(mluOpHandle_t handle, const Arguments& arguments, size_t* size);
  mluOpStatus_t (*other_spelling)(mluOpHandle_t handle, const Arguments& arguments,
                                  size_t* size) = nullptr;
};

struct FamilyTest {
  std::string_view name;  // the folder
  std::span<const OperatorTest> operators;
  std::span<const GetterTest> getters;
};

std::span<const FamilyTest* const> FamilyTests();

// Returns the text of the family's cases.txt.
std::string_view CasesOf(std::string_view family);

// Finds an operator by the name of its table; NULL if there is none.
const Operator* FindOperator(std::string_view name);
const OperatorTest* FindOperatorTest(std::string_view name);
const OpSpec* FindGetter(std::string_view name);

// Returns a tensor's descriptor in the type that C functions take.
inline mluOpTensorDescriptor_t Desc(const Arguments& arguments, std::string_view tensor) {
  return const_cast<mluOpTensorDescriptor_t>(arguments.Tensor(tensor).desc);
}

}  // namespace mluop::testing
