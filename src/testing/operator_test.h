// SPDX-License-Identifier: Apache-2.0
// What a family tells the driver and the tests about its operators: how to call them, what inputs
// to make, and two independent implementations. Each family's reference.cc defines one FamilyTest.
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

// How an output is compared with the reference (contract: accuracy).
enum class Criterion {
  kExact,    // bit for bit; the reference writes the output's own type
  kDynamic,  // diff1 and diff2 within ten times the plain loops' error, diff4 without bias;
             // the reference writes double
  kFixed,    // diff1 and diff2 within `threshold`; the reference writes double
  kFamily,   // OperatorTest::accept decides; the reference writes the output's own type
};

struct OutputRule {
  std::string_view tensor;
  Criterion criterion;
  double threshold = 0;
};

// An option of a case line beside attributes, symbols and the common ones: what the inputs hold.
// The first choice is the default.
struct Option {
  std::string_view name;
  std::span<const std::string_view> choices;
};

struct OperatorTest {
  std::string_view name;  // of the operator's table
  std::span<const OutputRule> outputs;
  std::span<const Option> options;

  // The public C function, with the arguments as they are (NULL descriptors and all).
  mluOpStatus_t (*call)(mluOpHandle_t handle, const Arguments& arguments);
  // The public getter; NULL where the operator has none.
  mluOpStatus_t (*workspace_size)(mluOpHandle_t handle, const Arguments& arguments, size_t* size);
  // Fills the index inputs; inputs of type T are filled before. NULL where there are none.
  void (*generate)(const Case& test_case, const Arguments& arguments, Random& random);
  // The obvious loops: coordinates as the contract writes them, values in double. kExact outputs
  // get their own type, the others are arrays of double.
  void (*reference)(const Arguments& arguments);
  // The plain loops: the same in the operator's own types and buffers, one thread.
  void (*plain)(const Arguments& arguments);
  // What the call cannot do without.
  Work (*work)(const Arguments& arguments);
  // For kFamily outputs: "" if the call's output may differ from the baseline as it does, else a
  // sentence.
  std::string (*accept)(const Arguments& arguments, std::string_view output,
                        const void* baseline) = nullptr;
  // The C function takes a workspace, and there is no getter for it.
  bool workspace_without_getter = false;
  // The public C function under its other name; NULL where it has but one.
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

// The family's cases.txt.
std::string_view CasesOf(std::string_view family);

// By the name of the table; NULL if there is none.
const Operator* FindOperator(std::string_view name);
const OperatorTest* FindOperatorTest(std::string_view name);
const OpSpec* FindGetter(std::string_view name);

// A descriptor as the C functions take it.
inline mluOpTensorDescriptor_t Desc(const Arguments& arguments, std::string_view tensor) {
  return const_cast<mluOpTensorDescriptor_t>(arguments.Tensor(tensor).desc);
}

}  // namespace mluop::testing
