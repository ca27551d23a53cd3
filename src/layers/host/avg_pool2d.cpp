// SPDX-License-Identifier: Apache-2.0
#include "layers/host/pool_planes.hpp"
#include "layers/pool_kernels.hpp"
#include "linalg/host/simd.hpp"
#include "tensor/chunks.hpp"

namespace quern::host {

namespace {

using simd::Register;

/// Means of one (group, channel) plane. Size: the window's size, 0 if only known when running.
template <int Size>
struct AvgPoolForward {
  PoolWindow window;
  const float* x;
  float* y;
  float factor;

  void operator()(std::int64_t plane) const {
    const float* in = x + plane * window.plane();
    float* out = y + plane * window.out_plane();
    for_each_window<Size>(
        window, [&](auto known, const WindowPart& part, std::int64_t begin, std::int64_t place) {
          average<known>(in + begin, part, out + place);
        });
  }

  template <int Known>
  void average(const float* in, const WindowPart& part, float* out) const {
    const int rows = Known > 0 ? Known : part.rows;
    const int columns = Known > 0 ? Known : part.columns;
    for (int lane = 0; lane < kLanes; lane += simd::kRegisterLanes) {
      Register sum{};
      for (int kh = 0; kh < rows; ++kh)
        for (int kw = 0; kw < columns; ++kw)
          sum += simd::load<Register>(in + (kh * window.width + kw) * kLanes + lane);
      simd::store(out + lane, sum * factor);
    }
  }
};

/// Spreads dy over the windows of one plane, adding where windows overlap. Size as above; Masked:
/// x is a ReLU's output, whose derivative is applied.
template <int Size, bool Masked>
struct AvgPoolBackward {
  PoolWindow window;
  const float* x;
  const float* dy;
  float* dx;
  float factor;

  void operator()(std::int64_t plane) const {
    const float* gradient = dy + plane * window.out_plane();
    const std::int64_t begin = plane * window.plane();
    if (!window.tiles_the_plane())
      for (std::int64_t i = begin; i < begin + window.plane(); ++i) dx[i] = 0;
    for_each_window<Size>(
        window, [&](auto known, const WindowPart& part, std::int64_t first, std::int64_t place) {
          spread_over<known>(part, gradient + place, begin + first);
        });
  }

  template <int Known>
  void spread_over(const WindowPart& part, const float* gradient, std::int64_t first) const {
    if (window.windows_overlap())
      spread<true, Known>(part, gradient, x + first, dx + first);
    else
      spread<false, Known>(part, gradient, x + first, dx + first);
  }

  template <bool Add, int Known>
  void spread(const WindowPart& part, const float* KOKKOS_RESTRICT gradient,
              const float* KOKKOS_RESTRICT mask, float* KOKKOS_RESTRICT out) const {
    const int rows = Known > 0 ? Known : part.rows;
    const int columns = Known > 0 ? Known : part.columns;
    const int row = window.width * kLanes;
    float share[kLanes];
    for (int l = 0; l < kLanes; ++l) share[l] = gradient[l] * factor;
    for (int kh = 0; kh < rows; ++kh)
      for (int kw = 0; kw < columns; ++kw) {
        const float* cell_mask = mask + (kh * row + kw * kLanes);
        float* cell = out + (kh * row + kw * kLanes);
        QUERN_VECTORIZE
        for (int l = 0; l < kLanes; ++l) {
          // Read outside the choice: a conditional load would keep the loop from vectorising.
          const float read = Masked ? cell_mask[l] : 1.0f;
          const float passed = read <= 0 ? 0.0f : share[l];
          cell[l] = Add ? cell[l] + passed : passed;
        }
      }
  }
};

template <int Size>
using PlainBackward = AvgPoolBackward<Size, false>;
template <int Size>
using GatedBackward = AvgPoolBackward<Size, true>;

void avg_pool_forward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                      const Activation& y) {
  for_each_plane<AvgPoolForward>(exec, "quern::layers::avg_pool2d", x, window,
                                 static_cast<const float*>(x.data.data()), y.data.data(),
                                 window.mean_factor());
}

void avg_pool_backward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                       const Activation& dy, const Activation& dx, bool masked) {
  const auto run = masked
                       ? for_each_plane<GatedBackward, const float*, const float*, float*, float>
                       : for_each_plane<PlainBackward, const float*, const float*, float*, float>;
  run(exec, "quern::layers::avg_pool2d_backward", dx, window, x.data.data(), dy.data.data(),
      dx.data.data(), window.mean_factor());
}

}  // namespace

const PoolKernels& avg_pool2d_kernels() {
  static constexpr PoolKernels kKernels = {avg_pool_forward, avg_pool_backward};
  return kKernels;
}

}  // namespace quern::host
