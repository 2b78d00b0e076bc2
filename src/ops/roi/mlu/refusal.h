// SPDX-License-Identifier: Apache-2.0
// Binds a list of implementations with a check of the card's limits, such as the size of NRAM. The
// check runs before an implementation is chosen. A refused call returns the status of the check,
// which sets the error message, and has no plan.
#pragma once

#include "mlu/context.h"

namespace mluop::roi {

// kRefuse: mluOpStatus_t(const MluCall<Problem>&). SUCCESS: the call can run.
template <auto kMakeProblem, const auto& kList, auto kRefuse>
class RefusingOperator {
  using Bound = Binding<kMakeProblem, kList>;

  static mluOpStatus_t Refuse(const Arguments& arguments, MluContext& context) {
    const auto problem = kMakeProblem(arguments);
    return kRefuse({problem, arguments, context});
  }

 public:
  static mluOpStatus_t Run(const Arguments& arguments, MluContext& context,
                           std::string_view forced) {
    const mluOpStatus_t status = Refuse(arguments, context);
    return status == MLUOP_STATUS_SUCCESS ? Bound::Run(arguments, context, forced) : status;
  }
  static mluOpStatus_t MakePlan(const Arguments& arguments, MluContext& context,
                                std::string_view forced, Plan* plan) {
    const mluOpStatus_t status = Refuse(arguments, context);
    return status == MLUOP_STATUS_SUCCESS ? Bound::MakePlan(arguments, context, forced, plan)
                                          : status;
  }
};

template <auto kMakeProblem, const auto& kList, auto kRefuse>
constexpr MluOperator BindRefusing(std::string_view op) {
  using Operator = RefusingOperator<kMakeProblem, kList, kRefuse>;
  return {op, Binding<kMakeProblem, kList>::kInfos, Operator::Run, Operator::MakePlan};
}

}  // namespace mluop::roi
