// SPDX-License-Identifier: Apache-2.0
#include "layers/avg_pool2d.hpp"

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

/// Means of one (group, channel) plane. Size: the window's size, 0 if only known when running.
template <int Size>
struct AvgPoolForward {
  PoolWindow window;
  const float* x;
  float* y;
  float factor;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    float* out = y + plane * window.out_plane();
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, out += kLanes)
        average(in + window.begin(oh, ow), out);
  }

  KOKKOS_INLINE_FUNCTION void average(const float* in, float* out) const {
    const int size = Size > 0 ? Size : window.size;
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      float sum = 0;
      for (int kh = 0; kh < size; ++kh)
        for (int kw = 0; kw < size; ++kw) sum += in[(kh * window.width + kw) * kLanes + l];
      out[l] = sum * factor;
    }
  }
};

/// Spreads dy over the windows of one plane, adding where windows overlap.
struct AvgPoolBackward {
  PoolWindow window;
  const float* dy;
  float* dx;
  float factor;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* slope = dy + plane * window.out_plane();
    float* out = dx + plane * window.plane();
    if (!window.tiles_the_plane())
      for (std::int64_t i = 0; i < window.plane(); ++i) out[i] = 0;
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, slope += kLanes)
        spread(slope, out + window.begin(oh, ow));
  }

  KOKKOS_INLINE_FUNCTION void spread(const float* KOKKOS_RESTRICT slope,
                                     float* KOKKOS_RESTRICT out) const {
    const bool add = window.windows_overlap();
    float share[kLanes];
    for (int l = 0; l < kLanes; ++l) share[l] = slope[l] * factor;
    for (int kh = 0; kh < window.size; ++kh)
      for (int kw = 0; kw < window.size; ++kw) {
        float* cell = out + (kh * window.width + kw) * kLanes;
        if (add)
          for (int l = 0; l < kLanes; ++l) cell[l] += share[l];
        else
          for (int l = 0; l < kLanes; ++l) cell[l] = share[l];
      }
  }
};

}  // namespace

AvgPool2d::AvgPool2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, pooled_shape(spec, input)), window_(make_pool_window(spec, input)) {}

void AvgPool2d::forward(const ExecSpace& exec, const StepContext&, const Activation& x,
                        const Activation& y) {
  expect(x.layout == Layout::lanes && y.layout == Layout::lanes, "activations in lanes");
  const RangePolicy planes(exec, 0, std::int64_t{x.slots} / kLanes * x.shape.channels);
  const float factor = 1 / static_cast<float>(window_.size * window_.size);
  const float* in = x.data.data();
  float* out = y.data.data();
  if (window_.size == 2)
    Kokkos::parallel_for("quern::layers::avg_pool2d", planes,
                         AvgPoolForward<2>{window_, in, out, factor});
  else if (window_.size == 3)
    Kokkos::parallel_for("quern::layers::avg_pool2d", planes,
                         AvgPoolForward<3>{window_, in, out, factor});
  else
    Kokkos::parallel_for("quern::layers::avg_pool2d", planes,
                         AvgPoolForward<0>{window_, in, out, factor});
}

void AvgPool2d::backward(const ExecSpace& exec, const StepContext&, const Activation&,
                         const Activation&, const Activation& dy, const Activation& dx) {
  if (dx.empty()) return;
  expect(dx.layout == Layout::lanes && dy.layout == Layout::lanes, "gradients in lanes");
  const RangePolicy planes(exec, 0, std::int64_t{dx.slots} / kLanes * dx.shape.channels);
  const float factor = 1 / static_cast<float>(window_.size * window_.size);
  Kokkos::parallel_for("quern::layers::avg_pool2d_backward", planes,
                       AvgPoolBackward{window_, dy.data.data(), dx.data.data(), factor});
}

}  // namespace quern
