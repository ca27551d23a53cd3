// SPDX-License-Identifier: Apache-2.0
#include "layers/max_pool2d.hpp"

#include "base/assert.hpp"
#include "layers/device/pools.hpp"
#include "layers/pool_planes.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// The comparison that both directions scan a window with: ties keep the first, NaN replaces.
KOKKOS_INLINE_FUNCTION bool replaces(float value, float best) {
  // Not ||: both sides are cheap, and a branch would keep the lanes from running together.
  return (value > best) | (value != value);
}

/// Maxima of one (group, channel) plane. Size: the window's size, 0 if only known when running.
template <int Size>
struct MaxPoolForward {
  PoolWindow window;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    float* out = y + plane * window.out_plane();
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, out += kLanes) {
        const WindowPart part = window.part(oh, ow);
        if (part.is_square(Size))
          maximum<Size>(in + window.begin(part), part, out);
        else
          maximum<0>(in + window.begin(part), part, out);
      }
  }

  /// Known: rows and columns of the part, 0 if only known when running.
  template <int Known>
  KOKKOS_INLINE_FUNCTION void maximum(const float* in, const WindowPart& part, float* out) const {
    const int rows = Known > 0 ? Known : part.rows;
    const int columns = Known > 0 ? Known : part.columns;
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      float best = in[l];
      for (int kh = 0; kh < rows; ++kh)
        for (int kw = 0; kw < columns; ++kw) {
          const float value = in[(kh * window.width + kw) * kLanes + l];
          best = replaces(value, best) ? value : best;
        }
      out[l] = best;
    }
  }
};

/// Finds the maxima of one plane again and hands each its dy.
template <int Size>
struct MaxPoolBackward {
  PoolWindow window;
  const float* x;
  const float* dy;
  float* dx;
  bool masked;  ///< x is a ReLU's output, whose derivative is applied

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    const float* gradient = dy + plane * window.out_plane();
    float* out = dx + plane * window.plane();
    if (!window.tiles_the_plane())
      for (std::int64_t i = 0; i < window.plane(); ++i) out[i] = 0;
    for (int oh = 0; oh < window.out_height; ++oh)
      for (int ow = 0; ow < window.out_width; ++ow, gradient += kLanes) {
        const WindowPart part = window.part(oh, ow);
        const std::int64_t begin = window.begin(part);
        if (part.is_square(Size))
          hand_on<Size>(part, in + begin, gradient, out + begin);
        else
          hand_on<0>(part, in + begin, gradient, out + begin);
      }
  }

  template <int Known>
  KOKKOS_INLINE_FUNCTION void hand_on(const WindowPart& part, const float* in,
                                      const float* gradient, float* out) const {
    if (window.windows_overlap())
      hand_on<true, Known>(part, in, gradient, out);
    else
      hand_on<false, Known>(part, in, gradient, out);
  }

  /// Hands each lane's gradient to the element that was its maximum, and zero to the others.
  template <bool Add, int Known>
  KOKKOS_INLINE_FUNCTION void hand_on(const WindowPart& part, const float* in,
                                      const float* gradient, float* out) const {
    const int columns = Known > 0 ? Known : part.columns;
    const int count = columns * (Known > 0 ? Known : part.rows);
    // Element k of the part, in scan order.
    const auto offset = [&](int k) { return (k / columns * window.width + k % columns) * kLanes; };
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      float best = in[l];
      int winner = 0;
      for (int k = 1; k < count; ++k) {
        const float value = in[offset(k) + l];
        const bool better = replaces(value, best);
        winner = better ? k : winner;
        best = better ? value : best;
      }
      // Read outside the choice below: a conditional load would keep the loop from vectorising.
      const float share = (masked & (best <= 0)) ? 0 : gradient[l];
      for (int k = 0; k < count; ++k) {
        const float before = Add ? out[offset(k) + l] : 0.0f;
        out[offset(k) + l] = before + (winner == k ? share : 0.0f);
      }
    }
  }
};

}  // namespace

MaxPool2d::MaxPool2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, pooled_shape(spec, input)), window_(make_pool_window(spec, input)) {}

void MaxPool2d::forward(const ExecSpace& exec, const StepContext&,
                        const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  if (runs_device_kernels()) {
    Kokkos::parallel_for("quern::layers::max_pool2d", RangePolicy(exec, 0, y.size()),
                         device::MaxPoolForward{window_, x.data.data(), y.data.data()});
  } else if constexpr (kHostExecution) {
    for_each_plane<MaxPoolForward>(exec, "quern::layers::max_pool2d", x, window_,
                                   static_cast<const float*>(x.data.data()), y.data.data());
  }
}

void MaxPool2d::backward(const ExecSpace& exec, const StepContext&,
                         const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  if (runs_device_kernels()) {
    Kokkos::parallel_for("quern::layers::max_pool2d_backward", RangePolicy(exec, 0, dx.size()),
                         device::MaxPoolBackward{window_, x.data.data(), dy.data.data(),
                                                 dx.data.data(), with_input_relu_});
  } else if constexpr (kHostExecution) {
    for_each_plane<MaxPoolBackward>(exec, "quern::layers::max_pool2d_backward", dx, window_,
                                    static_cast<const float*>(x.data.data()),
                                    static_cast<const float*>(dy.data.data()), dx.data.data(),
                                    with_input_relu_);
  }
}

}  // namespace quern
