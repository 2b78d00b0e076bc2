// SPDX-License-Identifier: Apache-2.0
// psamask: the sizes of a call, for all devices and both directions. Mask element (i, j) of pixel
// (h, w) meets pixel (h + i - half_h, w + j - half_w), where the map has one.
#pragma once

#include <cstdint>

#include "core/arguments.h"

namespace mluop::psamask {

enum PsaType { kCollect = 0, kDistribute = 1 };

struct Problem {
  int n, h, w;
  int h_mask, w_mask;
  PsaType type;

  int64_t pixels() const { return int64_t{h} * w; }
  int half_h() const { return (h_mask - 1) / 2; }
  int half_w() const { return (w_mask - 1) / 2; }
};

inline Problem MakeProblem(const Arguments& a) {
  return {static_cast<int>(a.Symbol("N")),
          static_cast<int>(a.Symbol("H")),
          static_cast<int>(a.Symbol("W")),
          a.Int("h_mask"),
          a.Int("w_mask"),
          static_cast<PsaType>(a.Int("psa_type"))};
}

}  // namespace mluop::psamask
