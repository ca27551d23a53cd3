// SPDX-License-Identifier: Apache-2.0
// Upsampling on a device: a thread computes one element.
#include "layers/device/plane_element.hpp"
#include "layers/upsample_kernels.hpp"

namespace quern::device {

namespace {

struct UpsampleForward {
  const float* x;
  float* y;
  int factor;
  int height;  ///< of x
  int width;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, height * factor, width * factor);
    const std::int64_t row = at.plane * height + at.row / factor;
    y[i] = x[(row * width + at.column / factor) * kLanes + at.lane];
  }
};

struct UpsampleBackward {
  const float* x;  ///< read only if masked
  const float* dy;
  float* dx;
  int factor;
  int height;  ///< of x
  int width;
  bool masked;  ///< x is a ReLU's output, whose derivative is applied

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, height, width);
    const std::int64_t line = std::int64_t{width} * factor;
    const std::int64_t row = (at.plane * height + at.row) * factor;
    const float* square = dy + (row * line + std::int64_t{at.column} * factor) * kLanes + at.lane;
    float sum = 0;
    for (int kh = 0; kh < factor; ++kh)
      for (int kw = 0; kw < factor; ++kw) sum += square[(kh * line + kw) * kLanes];
    dx[i] = masked && x[i] <= 0 ? 0.0f : sum;
  }
};

void upsample_forward(const ExecSpace& exec, int factor, const Activation& x, const Activation& y) {
  Kokkos::parallel_for(
      "quern::layers::upsample", RangePolicy(exec, 0, y.size()),
      UpsampleForward{x.data.data(), y.data.data(), factor, x.shape.height, x.shape.width});
}

void upsample_backward(const ExecSpace& exec, int factor, const Activation& x, const Activation& dy,
                       const Activation& dx, bool masked) {
  Kokkos::parallel_for("quern::layers::upsample_backward", RangePolicy(exec, 0, dx.size()),
                       UpsampleBackward{x.data.data(), dy.data.data(), dx.data.data(), factor,
                                        dx.shape.height, dx.shape.width, masked});
}

}  // namespace

const UpsampleKernels& upsample_kernels() {
  static constexpr UpsampleKernels kKernels = {upsample_forward, upsample_backward};
  return kKernels;
}

}  // namespace quern::device
