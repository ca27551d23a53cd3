// SPDX-License-Identifier: Apache-2.0
#include "layers/max_pool2d.hpp"

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

/// The comparison that both directions scan a window with: ties keep the first, NaN replaces.
KOKKOS_INLINE_FUNCTION bool replaces(float value, float best) {
  return value > best || value != value;
}

struct MaxPoolForward {
  PoolWindow window;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    float* out = y + plane * window.out_plane();
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, out += kLanes)
        maximum(in + window.begin(oh, ow), out);
  }

  KOKKOS_INLINE_FUNCTION void maximum(const float* in, float* out) const {
    float best[kLanes];
    for (int l = 0; l < kLanes; ++l) best[l] = in[l];
    for (int kh = 0; kh < window.size; ++kh)
      for (int kw = 0; kw < window.size; ++kw) {
        const float* cell = in + (kh * window.width + kw) * kLanes;
        for (int l = 0; l < kLanes; ++l) best[l] = replaces(cell[l], best[l]) ? cell[l] : best[l];
      }
    for (int l = 0; l < kLanes; ++l) out[l] = best[l];
  }
};

/// Finds the maxima of one plane again and hands each its dy.
struct MaxPoolBackward {
  PoolWindow window;
  const float* x;
  const float* dy;
  float* dx;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    const float* slope = dy + plane * window.out_plane();
    float* out = dx + plane * window.plane();
    for (std::int64_t i = 0; i < window.plane(); ++i) out[i] = 0;
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, slope += kLanes) {
        const std::int64_t begin = window.begin(oh, ow);
        int winner[kLanes];
        find(in + begin, winner);
        add(winner, slope, out + begin);
      }
  }

  /// Position of the maximum of each lane, counted in scan order.
  KOKKOS_INLINE_FUNCTION void find(const float* in, int* winner) const {
    float best[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      best[l] = in[l];
      winner[l] = 0;
    }
    for (int kh = 0; kh < window.size; ++kh)
      for (int kw = 0; kw < window.size; ++kw) {
        const float* cell = in + (kh * window.width + kw) * kLanes;
        const int position = kh * window.size + kw;
        for (int l = 0; l < kLanes; ++l) {
          const bool better = replaces(cell[l], best[l]);
          winner[l] = better ? position : winner[l];
          best[l] = better ? cell[l] : best[l];
        }
      }
  }

  KOKKOS_INLINE_FUNCTION void add(const int* winner, const float* slope, float* out) const {
    for (int kh = 0; kh < window.size; ++kh)
      for (int kw = 0; kw < window.size; ++kw) {
        float* cell = out + (kh * window.width + kw) * kLanes;
        const int position = kh * window.size + kw;
        QUERN_VECTORIZE
        for (int l = 0; l < kLanes; ++l) cell[l] += winner[l] == position ? slope[l] : 0.0f;
      }
  }
};

}  // namespace

MaxPool2d::MaxPool2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, pooled_shape(spec, input)), window_(make_pool_window(spec, input)) {}

void MaxPool2d::forward(const ExecSpace& exec, const StepContext&, const Activation& x,
                        const Activation& y) {
  expect(x.layout == Layout::lanes && y.layout == Layout::lanes, "activations in lanes");
  const RangePolicy planes(exec, 0, std::int64_t{x.slots} / kLanes * x.shape.channels);
  Kokkos::parallel_for("quern::layers::max_pool2d", planes,
                       MaxPoolForward{window_, x.data.data(), y.data.data()});
}

void MaxPool2d::backward(const ExecSpace& exec, const StepContext&, const Activation& x,
                         const Activation&, const Activation& dy, const Activation& dx) {
  if (dx.empty()) return;
  expect(dx.layout == Layout::lanes && dy.layout == Layout::lanes, "gradients in lanes");
  const RangePolicy planes(exec, 0, std::int64_t{dx.slots} / kLanes * dx.shape.channels);
  Kokkos::parallel_for("quern::layers::max_pool2d_backward", planes,
                       MaxPoolBackward{window_, x.data.data(), dy.data.data(), dx.data.data()});
}

}  // namespace quern
