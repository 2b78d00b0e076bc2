// SPDX-License-Identifier: Apache-2.0
// masked_conv2d on the CPU. The features become rows, one per pixel, and the weights become a row
// of outputs per tap and channel. Six masked positions at a time are multiplied in registers: their
// rows by vectors of weights. A sum has one order, channels inside taps, on every instruction set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/context.h"
#include "cpu/tuning.h"
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

// The element types of a call: its tensors', and that of values and sums.
struct HalfTypes {
  using T = Half;
  using Real = float;
};
template <typename Element>
struct EqualTypes {
  using T = Element;
  using Real = Element;
};

auto MultiplyOf(float) { return HWY_DYNAMIC_DISPATCH(MultiplyFloats); }
auto MultiplyOf(double) { return HWY_DYNAMIC_DISPATCH(MultiplyDoubles); }

float Load(Half element) { return ToFloat(element); }
float Load(float element) { return element; }
double Load(double element) { return element; }

template <typename Real>
Real WithQuietNan(Real value) {
  return std::isnan(value) ? std::numeric_limits<Real>::quiet_NaN() : value;
}
void Store(float value, Half& to) { to = ToHalf(WithQuietNan(value)); }
void Store(float value, float& to) { to = WithQuietNan(value); }
void Store(double value, double& to) { to = WithQuietNan(value); }

// Scratch of a call, in elements of Real, and the positions of the masked pixels.
struct Layout {
  int64_t outputs;  // rounded up
  int64_t weights, features, worker;

  Layout(const Problem& p, int num_threads)
      : outputs(CeilTo(p.outputs, kOutputMultiple)),
        weights(p.taps() * p.channels * outputs),
        features(CeilTo((p.plane() + 1) * p.channels, kOutputMultiple)),
        worker(kBlock * outputs),
        threads(num_threads) {}

  template <typename Real>
  size_t Bytes(const Problem& p) const {
    const size_t reals = static_cast<size_t>(weights + features + threads * worker) * sizeof(Real);
    const int64_t pointers = threads * p.taps() * kBlock + p.positions();
    return reals + static_cast<size_t>(pointers) * sizeof(int64_t);
  }

  static int64_t CeilTo(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }

  int64_t threads;
};

template <class Types>
class Convolution {
  using T = typename Types::T;
  using Real = typename Types::Real;

 public:
  Convolution(const ConvCall& call, void* scratch)
      : call_(call),
        p_(call.p),
        threads_(call.context.threads()),
        layout_(p_, threads_.num_threads()),
        weights_(static_cast<Real*>(scratch)),
        table_(weights_ + layout_.weights),
        sums_(table_ + layout_.features),
        rows_(reinterpret_cast<const Real**>(sums_ + layout_.threads * layout_.worker)),
        masked_(reinterpret_cast<int64_t*>(rows_ + layout_.threads * p_.taps() * kBlock)) {}

  void Run() {
    ArrangeWeights();
    for (int64_t image = 0; image < p_.images; ++image) {
      ArrangeFeatures(call_.arguments.In<T>("features") + image * p_.channels * p_.plane());
      const int64_t count = FindMasked(call_.arguments.In<T>("mask") + image * p_.positions());
      T* const output = call_.arguments.Out<T>("output") + image * p_.outputs * p_.positions();
      threads_.ForEach(p_.outputs, kGrain / p_.positions() + 1, [&](int64_t o, int) {
        std::fill_n(output + o * p_.positions(), p_.positions(), T{});
      });
      const int64_t work = kBlock * p_.taps() * p_.channels * layout_.outputs / 16;
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
    const int64_t taps = p_.taps(), outputs = layout_.outputs;
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
    const int64_t taps = p_.taps(), outputs = layout_.outputs;
    const Real** const rows = rows_ + worker * taps * kBlock;
    Real* const sums = sums_ + worker * layout_.worker;
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
  const Layout layout_;
  Real* const weights_;
  Real* const table_;
  Real* const sums_;
  const Real** const rows_;
  int64_t* const masked_;
};

template <class Types>
mluOpStatus_t Run(const ConvCall& call, void* scratch) {
  Convolution<Types>(call, scratch).Run();
  return MLUOP_STATUS_SUCCESS;
}

template <typename Real>
size_t Bytes(const ConvCall& call) {
  return Layout(call.p, call.context.threads().num_threads()).Bytes<Real>(call.p);
}

mluOpStatus_t RunRows(const ConvCall& call, void* scratch) {
  const bool is_half = call.arguments.Type() == MLUOP_DTYPE_HALF;
  return (is_half ? Run<HalfTypes> : Run<EqualTypes<float>>)(call, scratch);
}

using Entry = CpuImplementation<Problem>;
constexpr Entry kForward[] = {
    {"rows", "always", Always, Bytes<float>, RunRows},
    Entry::ForDouble(Run<EqualTypes<double>>, Bytes<double>),
};
constexpr CpuOperator kForwardCpu = Bind<MakeProblem, kForward>("masked_conv2d_forward");
constexpr const CpuOperator* kOperators[] = {&kForwardCpu};

}  // namespace

extern constexpr CpuFamily kCpuFamily = {kOperators, {}};

}  // namespace mluop::masked_conv2d
#endif  // HWY_ONCE
