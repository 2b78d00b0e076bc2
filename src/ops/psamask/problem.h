// SPDX-License-Identifier: Apache-2.0
// psamask: the sizes of a call and which mask element meets which pixel, for all devices and both
// directions.
//
// Written as matrices per image n, with p = h*W+w and q = r*W+s, COLLECT fills A[p][q] and
// DISTRIBUTE its transpose. For a fixed pair of rows (h, r) the mask row i = r-h+hh is fixed, and
// A's W x W block is a band: A[w][s] = x[n,h,w, i*w_mask + s-w+hw] where s is in [SBegin(w),
// SEnd(w)), 0 elsewhere.
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
  int64_t mask() const { return int64_t{h_mask} * w_mask; }
  int half_h() const { return (h_mask - 1) / 2; }
  int half_w() const { return (w_mask - 1) / 2; }

  // The mask row that joins pixel row `from` with pixel row `to`; none if it is outside [0,
  // h_mask).
  int64_t MaskRow(int from, int to) const { return int64_t{to} - from + half_h(); }
  bool HasMaskRow(int64_t i) const { return i >= 0 && i < h_mask; }

  // The columns s that pixel column w reaches, half-open and within [0, W).
  int64_t SBegin(int64_t column) const { return Clamp(column - half_w()); }
  int64_t SEnd(int64_t column) const { return Clamp(column - half_w() + w_mask); }
  // The same the other way round: the columns w that reach s.
  int64_t WBegin(int64_t s) const { return Clamp(s + half_w() - w_mask + 1); }
  int64_t WEnd(int64_t s) const { return Clamp(s + half_w() + 1); }

 private:
  int64_t Clamp(int64_t column) const { return column < 0 ? 0 : column > w ? w : column; }
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
