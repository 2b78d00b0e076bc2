// SPDX-License-Identifier: Apache-2.0
// masked_conv2d on CUDA devices: the choice between "products" and the fallback "direct", in which a
// thread adds the terms of one element of the output.
#include <algorithm>
#include <type_traits>

#include "cuda/for_each.h"
#include "cuda/words.h"
#include "ops/masked_conv2d/cuda/kernels.h"

namespace mluop::masked_conv2d {
namespace {

using ConvCall = CudaCall<Problem>;

constexpr int64_t kMaxCoordinate = int64_t{1} << 30;
constexpr int64_t kMaxPadding = 4096;  // what the kernels add to a size when they round it up

// Whether every coordinate of a window fits 32 bits.
bool HasSmallCoordinates(const Axis& axis) {
  return axis.size < kMaxCoordinate && axis.positions * axis.stride < kMaxCoordinate &&
         axis.pad < kMaxCoordinate && int64_t{axis.kernel} * axis.dilation < kMaxCoordinate;
}

// Whether a size fits 32 bits after it is rounded up.
bool IsPaddable(int64_t size) { return size < (int64_t{1} << 31) - kMaxPadding; }

int SplitsOf(const Problem& p) {
  const int64_t by_terms = p.taps() * p.channels / kMinTerms;
  const int64_t by_sums = kManySums / (p.positions() * p.outputs);
  return static_cast<int>(std::clamp<int64_t>(std::min(by_terms, by_sums), 1, kMaxSplits));
}

template <typename T>
Sizes SizesOf(const Problem& p, int64_t images) {
  Sizes sizes = {};
  sizes.images = static_cast<int>(images);
  sizes.height = static_cast<int>(p.y.size);
  sizes.width = static_cast<int>(p.x.size);
  sizes.plane = static_cast<int>(p.plane());
  sizes.rows = static_cast<int>(p.y.positions);
  sizes.columns = static_cast<int>(p.x.positions);
  sizes.positions = static_cast<int>(images * p.positions());
  sizes.channels = static_cast<int>(p.channels);
  sizes.outputs = static_cast<int>(p.outputs);
  sizes.taps = static_cast<int>(p.taps());
  sizes.kernel_w = p.x.kernel;
  sizes.padded_channels = static_cast<int>(RoundUp(p.channels, kDepth<T>));
  sizes.padded_outputs = static_cast<int>(RoundUp(p.outputs, kTile));
  sizes.splits = SplitsOf(p);
  return sizes;
}

template <typename T>
int64_t BatchOf(const Problem& p) {
  const int64_t by_features =
      kBatchFeatures / std::max<int64_t>(p.plane() * RoundUp(p.channels, kDepth<T>), 1);
  const int64_t by_sums = kBatchSums / (SplitsOf(p) * p.positions() * RoundUp(p.outputs, kTile));
  return std::clamp<int64_t>(std::min({kBatchPositions / p.positions(), by_features, by_sums}), 1,
                             p.images);
}

// Assigns scratch from `base` on and returns its size. A NULL base gives the size alone.
template <typename T>
size_t Assign(const Sizes& s, char* base, Arranged<T>* to) {
  size_t size = 0;
  const auto take = [&](auto*& pointer, int64_t count) {
    if (base != nullptr) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(base + size);
    }
    size += AlignedBytes(static_cast<size_t>(count) * sizeof(*pointer));
  };
  take(to->features, int64_t{s.images} * s.plane * s.padded_channels);
  take(to->weight, s.padded_outputs * s.terms());
  take(to->masked, s.positions);
  take(to->rank, s.positions);
  take(to->count, 1);
  take(to->sums, s.splits * RoundUp(s.positions, kTile) * s.padded_outputs);
  return size;
}

template <typename T>
size_t BytesOf(const Problem& p, int64_t most_images) {
  Arranged<T> unused;
  return Assign(SizesOf<T>(p, std::min(BatchOf<T>(p), most_images)), nullptr, &unused);
}

bool IsHalf(const ConvCall& call) { return call.arguments.Type() == MLUOP_DTYPE_HALF; }

size_t ProductBytes(const ConvCall& call, int64_t most_images) {
  return IsHalf(call) ? BytesOf<half>(call.p, most_images) : BytesOf<float>(call.p, most_images);
}

// Whether "products" computes a call. The sizes of one image decide, because the two implementations
// round differently: the other images of a call must not change a result.
bool CanMultiply(const ConvCall& call) {
  const Problem& p = call.p;
  return p.channels * p.plane() < kSmallLimit && p.outputs * p.positions() < kSmallLimit &&
         HasSmallCoordinates(p.y) && HasSmallCoordinates(p.x) && IsPaddable(p.plane()) &&
         IsPaddable(p.positions()) && IsPaddable(p.outputs) &&
         IsPaddable(p.taps() * (p.channels + kMaxPadding)) &&
         p.outputs * p.channels * p.taps() < kSmallLimit && ProductBytes(call, 1) <= kMaxScratch;
}

template <typename T>
mluOpStatus_t RunBatches(const ConvCall& call, void* scratch) {
  const Problem& p = call.p;
  const Arguments& a = call.arguments;
  const Geometry geometry = {p.y.stride, p.x.stride, p.y.pad, p.x.pad, p.y.dilation, p.x.dilation};
  const int64_t batch = BatchOf<T>(p);
  Arranged<T> arranged;
  Assign(SizesOf<T>(p, batch), static_cast<char*>(scratch), &arranged);
  for (int64_t first = 0; first < p.images; first += batch) {
    const Sizes sizes = SizesOf<T>(p, std::min(batch, p.images - first));
    const Tensors<T> tensors = {a.In<T>("features") + first * p.channels * p.plane(),
                                a.In<T>("mask") + first * p.positions(), a.In<T>("weight"),
                                a.In<T>("bias"),
                                a.Out<T>("output") + first * p.outputs * p.positions()};
    Arrange(call.context, sizes, tensors, arranged, /*with_weight=*/first == 0);
    Multiply(call.context, sizes, geometry, arranged);
    Finish(call.context, sizes, tensors, arranged);
  }
  return call.context.status();
}

mluOpStatus_t RunProducts(const ConvCall& call, void* scratch) {
  return IsHalf(call) ? RunBatches<half>(call, scratch) : RunBatches<float>(call, scratch);
}

template <typename T>
mluOpStatus_t AddTerms(const ConvCall& call, void*) {
  using Real = RealOf<T>;
  const Problem p = call.p;
  const Arguments& a = call.arguments;
  const T *features = a.In<T>("features"), *mask = a.In<T>("mask"), *weight = a.In<T>("weight");
  const T* bias = a.In<T>("bias");
  T* const output = a.Out<T>("output");
  ForEach(call.context, p.images * p.outputs * p.positions(), [=] __device__(int64_t i) {
    const int64_t position = i % p.positions(), o = i / p.positions() % p.outputs;
    const int64_t image = i / p.positions() / p.outputs;
    if (!(static_cast<Real>(mask[image * p.positions() + position]) > 0)) {
      output[i] = T{0};
      return;
    }
    Real sum = 0;
    for (int64_t tap = 0; tap < p.taps(); ++tap) {
      const int64_t pixel = p.Pixel(position, tap);
      for (int64_t c = 0; c < p.channels; ++c) {
        const int64_t channel = image * p.channels + c;
        const Real x =
            pixel < 0 ? Real{0} : static_cast<Real>(features[channel * p.plane() + pixel]);
        sum = fma(x, static_cast<Real>(weight[(o * p.channels + c) * p.taps() + tap]), sum);
      }
    }
    output[i] = static_cast<T>(sum + static_cast<Real>(bias[o]));
  });
  return call.context.status();
}

mluOpStatus_t RunDirect(const ConvCall& call, void* scratch) {
  return IsHalf(call) ? AddTerms<half>(call, scratch) : AddTerms<float>(call, scratch);
}

using Entry = CudaImplementation<Problem>;
constexpr Entry kForward[] = {
    {"products", "an image below 2^31 elements and 4 GiB of scratch, coordinates below 2^30",
     CanMultiply, [](const ConvCall& call) { return ProductBytes(call, call.p.images); },
     RunProducts},
    Entry::Exclusive({"direct", "always", Always, nullptr, RunDirect}),
    Entry::ForDouble(AddTerms<double>),
};
constexpr CudaOperator kForwardCuda = Bind<MakeProblem, kForward>("masked_conv2d_forward");
constexpr const CudaOperator* kOperators[] = {&kForwardCuda};

}  // namespace

extern const CudaFamily kCudaFamily;
constexpr CudaFamily kCudaFamily = {kOperators, {}};

}  // namespace mluop::masked_conv2d
