// SPDX-License-Identifier: Apache-2.0
#include "layers/host/pool_planes.hpp"
#include "layers/pool_kernels.hpp"
#include "linalg/host/simd.hpp"

namespace quern::host {

namespace {

using simd::LaneIndex;
using simd::Register;

/// Maxima of one (group, channel) plane. Size: the window's size, 0 if only known when running.
template <int Size>
struct MaxPoolForward {
  PoolWindow window;
  const float* x;
  float* y;

  void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    float* out = y + plane * window.out_plane();
    for_each_window<Size>(
        window, [&](auto known, const WindowPart& part, std::int64_t begin, std::int64_t place) {
          maximum<known>(in + begin, part, out + place);
        });
  }

  template <int Known>
  void maximum(const float* in, const WindowPart& part, float* out) const {
    const int rows = Known > 0 ? Known : part.rows;
    const int columns = Known > 0 ? Known : part.columns;
    for (int lane = 0; lane < kLanes; lane += simd::kRegisterLanes) {
      Register best = simd::load<Register>(in + lane);
      for (int kh = 0; kh < rows; ++kh)
        for (int kw = 0; kw < columns; ++kw) {
          const Register value =
              simd::load<Register>(in + (kh * window.width + kw) * kLanes + lane);
          best = simd::larger(value, best);
        }
      simd::store(out + lane, best);
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

  void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    const float* gradient = dy + plane * window.out_plane();
    float* out = dx + plane * window.plane();
    if (!window.tiles_the_plane())
      for (std::int64_t i = 0; i < window.plane(); ++i) out[i] = 0;
    for_each_window<Size>(
        window, [&](auto known, const WindowPart& part, std::int64_t begin, std::int64_t place) {
          hand_on<known>(part, in + begin, gradient + place, out + begin);
        });
  }

  template <int Known>
  void hand_on(const WindowPart& part, const float* in, const float* gradient, float* out) const {
    if (window.windows_overlap())
      hand_on<true, Known>(part, in, gradient, out);
    else
      hand_on<false, Known>(part, in, gradient, out);
  }

  /// Hands each lane's gradient to the element that was its maximum, and zero to the others. The
  /// winners are numbers in a register: from the comparisons themselves GCC 12 makes masks bit by
  /// bit.
  template <bool Add, int Known>
  void hand_on(const WindowPart& part, const float* in, const float* gradient, float* out) const {
    const int columns = Known > 0 ? Known : part.columns;
    const int count = columns * (Known > 0 ? Known : part.rows);
    // Element k of the part, in scan order.
    const auto offset = [&](int k) { return (k / columns * window.width + k % columns) * kLanes; };
    for (int lane = 0; lane < kLanes; lane += simd::kRegisterLanes) {
      Register best = simd::load<Register>(in + lane);
      LaneIndex winner{};
      for (int k = 1; k < count; ++k) {
        const Register value = simd::load<Register>(in + offset(k) + lane);
        const LaneIndex better = (value > best) | (value != value);  // as of lanes_that_replace
        winner = better ? LaneIndex{} + k : winner;
        best = better ? value : best;
      }
      const Register all = simd::load<Register>(gradient + lane);
      const Register share = masked ? simd::relu_backward(best, all) : all;
      winner = simd::in_register(winner);
      for (int k = 0; k < count; ++k) {
        float* to = out + offset(k) + lane;
        const Register before = Add ? simd::load<Register>(to) : Register{};
        simd::store(to, before + (winner == k ? share : Register{}));
      }
    }
  }
};

void max_pool_forward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                      const Activation& y) {
  for_each_plane<MaxPoolForward>(exec, "quern::layers::max_pool2d", x, window,
                                 static_cast<const float*>(x.data.data()), y.data.data());
}

void max_pool_backward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                       const Activation& dy, const Activation& dx, bool masked) {
  for_each_plane<MaxPoolBackward>(exec, "quern::layers::max_pool2d_backward", dx, window,
                                  static_cast<const float*>(x.data.data()),
                                  static_cast<const float*>(dy.data.data()), dx.data.data(),
                                  masked);
}

}  // namespace

const PoolKernels& max_pool2d_kernels() {
  static constexpr PoolKernels kKernels = {max_pool_forward, max_pool_backward};
  return kKernels;
}

}  // namespace quern::host
