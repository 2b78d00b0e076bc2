// SPDX-License-Identifier: Apache-2.0
// The list of the families' tests, from op_list.inc. Each family defines `const testing::FamilyTest
// <folder>::kFamilyTest` in its reference.cc. The build generates `<folder>::kCases` from
// cases.txt.
#include "testing/operator_test.h"

namespace mluop {

#define MLUOP_FAMILY(folder)                    \
  namespace folder {                            \
  extern const testing::FamilyTest kFamilyTest; \
  extern const std::string_view kCases;         \
  }
#include "ops/op_list.inc"
#undef MLUOP_FAMILY

namespace testing {

std::span<const FamilyTest* const> FamilyTests() {
  static const FamilyTest* const tests[] = {
#define MLUOP_FAMILY(folder) &folder::kFamilyTest,
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  };
  return tests;
}

std::string_view CasesOf(std::string_view family) {
#define MLUOP_FAMILY(folder) \
  if (family == #folder) return folder::kCases;
#include "ops/op_list.inc"
#undef MLUOP_FAMILY
  return {};
}

const Operator* FindOperator(std::string_view name) {
  for (const Family* family : Families()) {
    for (const Operator* op : family->operators) {
      if (op->spec.name == name) return op;
    }
  }
  return nullptr;
}

const OperatorTest* FindOperatorTest(std::string_view name) {
  for (const FamilyTest* family : FamilyTests()) {
    for (const OperatorTest& test : family->operators) {
      if (test.name == name) return &test;
    }
  }
  return nullptr;
}

const OpSpec* FindGetter(std::string_view name) {
  for (const Family* family : Families()) {
    for (const OpSpec* getter : family->getters) {
      if (getter->name == name) return getter;
    }
  }
  return nullptr;
}

}  // namespace testing
}  // namespace mluop
