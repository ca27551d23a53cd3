// SPDX-License-Identifier: Apache-2.0
#include "layers/pool_kernels.hpp"
#include "tensor/chunks.hpp"

namespace quern::host {

namespace {

/// Means of the lanes of one plane.
struct PlaneMean {
  const float* x;
  float* y;
  int pixels;
  float factor;

  void operator()(std::int64_t plane) const {
    const float* pixel = x + plane * pixels * kLanes;
    float sum[kLanes] = {};
    for (int p = 0; p < pixels; ++p, pixel += kLanes) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) sum[l] += pixel[l];
    }
    for (int l = 0; l < kLanes; ++l) y[plane * kLanes + l] = sum[l] * factor;
  }
};

/// Hands each pixel of one plane its share of dy. Masked: x is a ReLU's output, whose derivative is
/// applied.
template <bool Masked>
struct PlaneShares {
  const float* x;
  const float* dy;
  float* dx;
  int pixels;
  float factor;

  void operator()(std::int64_t plane) const {
    float share[kLanes];
    for (int l = 0; l < kLanes; ++l) share[l] = dy[plane * kLanes + l] * factor;
    const std::int64_t begin = plane * pixels * kLanes;
    for (std::int64_t i = begin; i < begin + std::int64_t{pixels} * kLanes; i += kLanes) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        // Read outside the choice: a conditional load would keep the loop from vectorising.
        const float read = Masked ? x[i + l] : 1.0f;
        dx[i + l] = read <= 0 ? 0.0f : share[l];
      }
    }
  }
};

int pixels_of(const Activation& x) {
  return x.shape.height * x.shape.width;
}

void global_pool_forward(const ExecSpace& exec, const Activation& x, const Activation& y) {
  const int pixels = pixels_of(x);
  const float factor = 1 / static_cast<float>(pixels);
  Kokkos::parallel_for("quern::layers::global_avg_pool", RangePolicy(exec, 0, y.size() / kLanes),
                       PlaneMean{x.data.data(), y.data.data(), pixels, factor});
}

template <bool Masked>
void global_pool_backward(const ExecSpace& exec, const Activation& x, const Activation& dy,
                          const Activation& dx) {
  const int pixels = pixels_of(dx);
  const float factor = 1 / static_cast<float>(pixels);
  Kokkos::parallel_for(
      "quern::layers::global_avg_pool_backward", RangePolicy(exec, 0, dy.size() / kLanes),
      PlaneShares<Masked>{x.data.data(), dy.data.data(), dx.data.data(), pixels, factor});
}

void global_pool_backward(const ExecSpace& exec, const Activation& x, const Activation& dy,
                          const Activation& dx, bool masked) {
  if (masked)
    global_pool_backward<true>(exec, x, dy, dx);
  else
    global_pool_backward<false>(exec, x, dy, dx);
}

}  // namespace

const GlobalPoolKernels& global_avg_pool_kernels() {
  static constexpr GlobalPoolKernels kKernels = {global_pool_forward, global_pool_backward};
  return kKernels;
}

}  // namespace quern::host
