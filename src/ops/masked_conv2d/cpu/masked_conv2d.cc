// SPDX-License-Identifier: Apache-2.0
// masked_conv2d on the CPU. The features become rows, one per pixel, and the weights become a row
// of outputs per tap and channel. Six masked positions at a time are multiplied in registers: their
// rows by vectors of weights. A sum has one order, channels inside taps, on every instruction set.
#include <algorithm>
#include <type_traits>

#include "cpu/context.h"
#include "cpu/plain_loops.h"
#include "ops/masked_conv2d/problem.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/masked_conv2d/cpu/masked_conv2d.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/simd-inl.h"

#ifndef MLUOP_MASKED_CONV2D_BLOCK_
#define MLUOP_MASKED_CONV2D_BLOCK_
namespace mluop::masked_conv2d {

// Positions of a block: 6x4 sums, four weights and one feature fill 29 of 32 AVX-512 registers.
constexpr int64_t kBlock = 6;
constexpr int64_t kOutputMultiple = 64;  // four vectors of 16 floats

// A block of masked positions.
template <typename Real>
struct Block {
  const Real* const* rows;  // [taps][kBlock]: the channels of the pixel that a position reads
  int64_t taps, channels;
  const Real* weights;  // [taps][channels][outputs]
  int64_t outputs;      // a multiple of kOutputMultiple
  Real* sums;           // [kBlock][outputs]
};

}  // namespace mluop::masked_conv2d
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::masked_conv2d {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = mluop::HWY_NAMESPACE;

template <typename Real>
HWY_INLINE void Multiply(const Block<Real>& block) {
  constexpr int kVectors = HWY_MAX_BYTES == 64 ? 4 : 2;
  const hn::CappedTag<Real, kOutputMultiple / kVectors> d;
  using D = decltype(d);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t first = 0; first < block.outputs; first += kVectors * lanes) {
    auto sums = simd::MakeVecs<D, kBlock * kVectors>([&](auto) HWY_ATTR { return hn::Zero(d); });
    const Real* weights = block.weights + first;
    for (int64_t tap = 0; tap < block.taps; ++tap) {
      const Real* const* const rows = block.rows + tap * kBlock;
      for (int64_t c = 0; c < block.channels; ++c, weights += block.outputs) {
        const auto w = simd::MakeVecs<D, kVectors>(
            [&](auto v) HWY_ATTR { return hn::LoadU(d, weights + v * lanes); });
        simd::Unroll<kBlock>([&](auto p) HWY_ATTR {
          const auto x = hn::Set(d, rows[p][c]);
          simd::Unroll<kVectors>([&](auto v) HWY_ATTR {
            auto& sum = sums.v[p * kVectors + v];
            sum = hn::Add(sum, hn::Mul(x, w.v[v]));
          });
        });
      }
    }
    simd::Unroll<kBlock>([&](auto p) HWY_ATTR {
      simd::Unroll<kVectors>([&](auto v) HWY_ATTR {
        hn::StoreU(sums.v[p * kVectors + v], d, block.sums + p * block.outputs + first + v * lanes);
      });
    });
  }
}

void MultiplyFloats(const Block<float>& block) { Multiply(block); }
void MultiplyDoubles(const Block<double>& block) { Multiply(block); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace mluop::masked_conv2d
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::masked_conv2d {
namespace {

HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyDoubles);

using ConvCall = CpuCall<Problem>;

auto MultiplyOf(float) { return HWY_DYNAMIC_DISPATCH(MultiplyFloats); }
auto MultiplyOf(double) { return HWY_DYNAMIC_DISPATCH(MultiplyDoubles); }

float Load(Half element) { return ToFloat(element); }
float Load(float element) { return element; }
double Load(double element) { return element; }

void Store(float value, Half& to) { to = ToHalf(CanonicalNan(value)); }
void Store(float value, float& to) { to = CanonicalNan(value); }
void Store(double value, double& to) { to = CanonicalNan(value); }

// T is the type of the tensors.
template <typename T>
class Convolution {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;  // of values and sums

 public:
  Convolution(const ConvCall& call, void* scratch)
      : call_(call),
        p_(call.p),
        threads_(call.context.threads()),
        outputs_((p_.outputs + kOutputMultiple - 1) / kOutputMultiple * kOutputMultiple),
        arrays_(scratch),
        weights_(arrays_.Take<Real>(p_.taps() * p_.channels * outputs_)),
        table_(arrays_.Take<Real>((p_.plane() + 1) * p_.channels)),
        sums_(arrays_.Take<Real>(threads_.num_threads() * kBlock * outputs_)),
        rows_(arrays_.Take<const Real*>(threads_.num_threads() * kBlock * p_.taps())),
        masked_(arrays_.Take<int64_t>(p_.positions())) {}

  size_t bytes() const { return arrays_.bytes(); }

  void Run() {
    ArrangeWeights();
    for (int64_t image = 0; image < p_.images; ++image) {
      ArrangeFeatures(call_.arguments.In<T>("features") + image * p_.channels * p_.plane());
      const int64_t count = FindMasked(call_.arguments.In<T>("mask") + image * p_.positions());
      T* const output = call_.arguments.Out<T>("output") + image * p_.outputs * p_.positions();
      threads_.ForEach(p_.outputs, kGrain / p_.positions() + 1, [&](int64_t o, int) {
        std::fill_n(output + o * p_.positions(), p_.positions(), T{});
      });
      const int64_t work = kBlock * p_.taps() * p_.channels * outputs_ / 16;
      threads_.ForEach((count + kBlock - 1) / kBlock, kGrain / work + 1,
                       [&](int64_t block, int worker) {
                         const int64_t first = block * kBlock;
                         RunBlock(masked_ + first, std::min(kBlock, count - first), worker, output);
                       });
    }
  }

 private:
  void ArrangeWeights() {
    const T* const from = call_.arguments.In<T>("weight");
    const int64_t taps = p_.taps(), outputs = outputs_;
    threads_.ForEach(taps * p_.channels, kGrain / outputs + 1, [&](int64_t row, int) {
      const int64_t tap = row / p_.channels, c = row % p_.channels;
      Real* const to = weights_ + row * outputs;
      for (int64_t o = 0; o < p_.outputs; ++o)
        to[o] = Load(from[(o * p_.channels + c) * taps + tap]);
      std::fill(to + p_.outputs, to + outputs, Real{0});
    });
  }

  // Writes a row of channels per pixel, and a row of zeros for taps outside the features.
  void ArrangeFeatures(const T* from) {
    constexpr int64_t kPixels = 16;  // a cache line of floats
    const int64_t plane = p_.plane(), channels = p_.channels;
    threads_.ForEach((plane + kPixels - 1) / kPixels, kGrain / (kPixels * channels) + 1,
                     [&](int64_t block, int) {
                       const int64_t first = block * kPixels,
                                     end = std::min(plane, first + kPixels);
                       for (int64_t c = 0; c < channels; ++c)
                         for (int64_t pixel = first; pixel < end; ++pixel)
                           table_[pixel * channels + c] = Load(from[c * plane + pixel]);
                     });
    std::fill_n(table_ + plane * channels, channels, Real{0});
  }

  int64_t FindMasked(const T* mask) {
    int64_t count = 0;
    for (int64_t i = 0; i < p_.positions(); ++i) {
      masked_[count] = i;
      count += Load(mask[i]) > 0 ? 1 : 0;
    }
    return count;
  }

  void RunBlock(const int64_t* positions, int64_t count, int worker, T* output) {
    const int64_t taps = p_.taps(), outputs = outputs_;
    const Real** const rows = rows_ + worker * taps * kBlock;
    Real* const sums = sums_ + worker * kBlock * outputs;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t i = 0; i < kBlock; ++i) {
        const int64_t pixel = i < count ? p_.Pixel(positions[i], tap) : -1;
        rows[tap * kBlock + i] = table_ + (pixel < 0 ? p_.plane() : pixel) * p_.channels;
      }
    MultiplyOf(Real{})({rows, taps, p_.channels, weights_, outputs, sums});
    const T* const bias = call_.arguments.In<T>("bias");
    for (int64_t o = 0; o < p_.outputs; ++o)
      for (int64_t i = 0; i < count; ++i)
        Store(sums[i * outputs + o] + Load(bias[o]), output[o * p_.positions() + positions[i]]);
  }

  const ConvCall& call_;
  const Problem& p_;
  const ThreadPool& threads_;
  const int64_t outputs_;  // rounded up
  ScratchArrays arrays_;
  Real* const weights_;
  Real* const table_;  // [plane + 1][channels]
  Real* const sums_;
  const Real** const rows_;
  int64_t* const masked_;  // the positions of the masked pixels of an image
};

mluOpStatus_t RunRows(const ConvCall& call, void* scratch) {
  return call.arguments.Type() == MLUOP_DTYPE_HALF ? RunObject<Convolution<Half>>(call, scratch)
                                                   : RunObject<Convolution<float>>(call, scratch);
}

using Entry = CpuImplementation<Problem>;
constexpr Entry kForward[] = {
    {"rows", "always", Always, ObjectBytes<Convolution<float>>, RunRows},
    Entry::ForDouble(RunObject<Convolution<double>>, ObjectBytes<Convolution<double>>),
};
constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("masked_conv2d_forward");
constexpr const CpuOperator* kOperators[] = {&kForwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::masked_conv2d
#endif  // HWY_ONCE
