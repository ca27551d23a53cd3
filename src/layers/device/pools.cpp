// SPDX-License-Identifier: Apache-2.0
// Pools on a device: a thread computes one element. Gradients are gathered from the windows that
// cover an element, in the order in which a CPU scatters them, so the bits are the same.
#include "layers/device/plane_element.hpp"
#include "layers/pool_kernels.hpp"

namespace quern::device {

namespace {

/// The windows [first, end) of one axis that cover `position`, padding included.
struct CoveringWindows {
  int first;
  int end;

  KOKKOS_INLINE_FUNCTION CoveringWindows(int position, int size, int stride, int outputs) {
    first = position < size ? 0 : (position - size) / stride + 1;
    const int last = position / stride;
    end = last < outputs ? last + 1 : outputs;
  }
};

/// Calls f(part of the window, place of its output in y's plane) for the windows that cover an
/// element, row by row.
template <class F>
KOKKOS_INLINE_FUNCTION void for_each_window(const PoolWindow& window, const PlaneElement& at,
                                            const F& f) {
  const CoveringWindows rows(at.row + window.padding, window.size, window.stride,
                             window.out_height);
  const CoveringWindows columns(at.column + window.padding, window.size, window.stride,
                                window.out_width);
  for (int oh = rows.first; oh < rows.end; ++oh)
    for (int ow = columns.first; ow < columns.end; ++ow)
      f(window.part(oh, ow), (std::int64_t{oh} * window.out_width + ow) * kLanes);
}

struct AvgPoolForward {
  PoolWindow window;
  const float* x;
  float* y;
  float factor;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, window.out_height, window.out_width);
    const WindowPart part = window.part(at.row, at.column);
    const float* in = x + at.plane * window.plane() + window.begin(part) + at.lane;
    float sum = 0;
    for (int kh = 0; kh < part.rows; ++kh)
      for (int kw = 0; kw < part.columns; ++kw) sum += in[(kh * window.width + kw) * kLanes];
    y[i] = sum * factor;
  }
};

struct AvgPoolBackward {
  PoolWindow window;
  const float* x;  ///< read only if masked
  const float* dy;
  float* dx;
  float factor;
  bool masked;  ///< x is a ReLU's output, whose derivative is applied

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, window.height, window.width);
    const float* gradient = dy + at.plane * window.out_plane() + at.lane;
    const bool closed = masked && x[i] <= 0;
    const bool add = window.windows_overlap();
    float sum = 0;
    for_each_window(window, at, [&](const WindowPart&, std::int64_t output) {
      const float passed = closed ? 0.0f : gradient[output] * factor;
      sum = add ? sum + passed : passed;
    });
    dx[i] = sum;
  }
};

/// The largest element of a window; ties keep the first, NaN replaces.
struct WindowMaximum {
  float value;
  std::int64_t place;  ///< in the plane

  /// `plane`: of x, at the sample's lane.
  KOKKOS_INLINE_FUNCTION WindowMaximum(const PoolWindow& window, const WindowPart& part,
                                       const float* plane)
      : value(plane[window.begin(part)]), place(window.begin(part)) {
    for (int k = 1; k < part.rows * part.columns; ++k) {
      const std::int64_t at =
          window.begin(part) + (k / part.columns * window.width + k % part.columns) * kLanes;
      const float next = plane[at];
      if (next > value || next != next) {
        value = next;
        place = at;
      }
    }
  }
};

struct MaxPoolForward {
  PoolWindow window;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, window.out_height, window.out_width);
    const float* plane = x + at.plane * window.plane() + at.lane;
    y[i] = WindowMaximum(window, window.part(at.row, at.column), plane).value;
  }
};

struct MaxPoolBackward {
  PoolWindow window;
  const float* x;
  const float* dy;
  float* dx;
  bool masked;  ///< x is a ReLU's output, whose derivative is applied

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const PlaneElement at(i, window.height, window.width);
    const float* plane = x + at.plane * window.plane() + at.lane;
    const float* gradient = dy + at.plane * window.out_plane() + at.lane;
    const std::int64_t mine = (std::int64_t{at.row} * window.width + at.column) * kLanes;
    float sum = 0;
    for_each_window(window, at, [&](const WindowPart& part, std::int64_t output) {
      const WindowMaximum best(window, part, plane);
      const float share = masked && best.value <= 0 ? 0 : gradient[output];
      sum = sum + (best.place == mine ? share : 0.0f);
    });
    dx[i] = sum;
  }
};

/// The mean of a plane: `item` is a sample's channel in nchw16n.
struct PlaneMean {
  const float* x;
  float* y;
  int pixels;
  float factor;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const float* pixel = x + item / kLanes * pixels * kLanes + item % kLanes;
    float sum = 0;
    for (int p = 0; p < pixels; ++p) sum += pixel[std::int64_t{p} * kLanes];
    y[item] = sum * factor;
  }
};

struct PlaneShares {
  const float* x;  ///< read only if masked
  const float* dy;
  float* dx;
  int pixels;
  float factor;
  bool masked;  ///< x is a ReLU's output, whose derivative is applied

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t plane = i / kLanes / pixels;
    const bool closed = masked && x[i] <= 0;
    dx[i] = closed ? 0.0f : dy[plane * kLanes + i % kLanes] * factor;
  }
};

struct MaxPool {
  static void forward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                      const Activation& y) {
    Kokkos::parallel_for("quern::layers::max_pool2d", RangePolicy(exec, 0, y.size()),
                         MaxPoolForward{window, x.data.data(), y.data.data()});
  }
  static void backward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                       const Activation& dy, const Activation& dx, bool masked) {
    Kokkos::parallel_for(
        "quern::layers::max_pool2d_backward", RangePolicy(exec, 0, dx.size()),
        MaxPoolBackward{window, x.data.data(), dy.data.data(), dx.data.data(), masked});
  }
};

struct AvgPool {
  static void forward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                      const Activation& y) {
    Kokkos::parallel_for(
        "quern::layers::avg_pool2d", RangePolicy(exec, 0, y.size()),
        AvgPoolForward{window, x.data.data(), y.data.data(), window.mean_factor()});
  }
  static void backward(const ExecSpace& exec, const PoolWindow& window, const Activation& x,
                       const Activation& dy, const Activation& dx, bool masked) {
    Kokkos::parallel_for("quern::layers::avg_pool2d_backward", RangePolicy(exec, 0, dx.size()),
                         AvgPoolBackward{window, x.data.data(), dy.data.data(), dx.data.data(),
                                         window.mean_factor(), masked});
  }
};

struct GlobalPool {
  static void forward(const ExecSpace& exec, const Activation& x, const Activation& y) {
    const int pixels = x.shape.height * x.shape.width;
    Kokkos::parallel_for(
        "quern::layers::global_avg_pool", RangePolicy(exec, 0, y.size()),
        PlaneMean{x.data.data(), y.data.data(), pixels, 1 / static_cast<float>(pixels)});
  }
  static void backward(const ExecSpace& exec, const Activation& x, const Activation& dy,
                       const Activation& dx, bool masked) {
    const int pixels = dx.shape.height * dx.shape.width;
    Kokkos::parallel_for("quern::layers::global_avg_pool_backward", RangePolicy(exec, 0, dx.size()),
                         PlaneShares{x.data.data(), dy.data.data(), dx.data.data(), pixels,
                                     1 / static_cast<float>(pixels), masked});
  }
};

}  // namespace

const PoolKernels& max_pool2d_kernels() {
  static constexpr PoolKernels kKernels = {MaxPool::forward, MaxPool::backward};
  return kKernels;
}

const PoolKernels& avg_pool2d_kernels() {
  static constexpr PoolKernels kKernels = {AvgPool::forward, AvgPool::backward};
  return kKernels;
}

const GlobalPoolKernels& global_avg_pool_kernels() {
  static constexpr GlobalPoolKernels kKernels = {GlobalPool::forward, GlobalPool::backward};
  return kKernels;
}

}  // namespace quern::device
