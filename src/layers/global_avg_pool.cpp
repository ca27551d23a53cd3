// SPDX-License-Identifier: Apache-2.0
#include "layers/global_avg_pool.hpp"

#include "base/assert.hpp"
#include "layers/device/pools.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// Means of the lanes of one plane.
struct PlaneMean {
  const float* x;
  float* y;
  int pixels;
  float factor;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
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

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
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

}  // namespace

void GlobalAvgPool::forward(const ExecSpace& exec, const StepContext&,
                            const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  const char* const label = "quern::layers::global_avg_pool";
  const int pixels = x.shape.height * x.shape.width;
  const float factor = 1 / static_cast<float>(pixels);
  if (runs_device_kernels()) {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size()),
                         device::PlaneMean{x.data.data(), y.data.data(), pixels, factor});
  } else if constexpr (kHostExecution) {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size() / kLanes),
                         PlaneMean{x.data.data(), y.data.data(), pixels, factor});
  }
}

void GlobalAvgPool::backward(const ExecSpace& exec, const StepContext&,
                             const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  const char* const label = "quern::layers::global_avg_pool_backward";
  const int pixels = dx.shape.height * dx.shape.width;
  const float factor = 1 / static_cast<float>(pixels);
  const float* const x = arrays.x.data.data();
  if (runs_device_kernels()) {
    Kokkos::parallel_for(
        label, RangePolicy(exec, 0, dx.size()),
        device::PlaneShares{x, dy.data.data(), dx.data.data(), pixels, factor, with_input_relu_});
  } else if constexpr (kHostExecution) {
    const RangePolicy planes(exec, 0, dy.size() / kLanes);
    if (with_input_relu_) {
      Kokkos::parallel_for(label, planes,
                           PlaneShares<true>{x, dy.data.data(), dx.data.data(), pixels, factor});
    } else {
      Kokkos::parallel_for(label, planes,
                           PlaneShares<false>{x, dy.data.data(), dx.data.data(), pixels, factor});
    }
  }
}

}  // namespace quern
