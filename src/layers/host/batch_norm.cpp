// SPDX-License-Identifier: Apache-2.0
#include "layers/batch_norm_kernels.hpp"
#include "layers/host/batch_norm_lanes.hpp"
#include "layers/host/stored_values.hpp"

namespace quern::host {

namespace {

using simd::Vector;

constexpr unsigned kAllLanes = 0xffff;

/// Which lanes of a group of 16 rows hold samples.
unsigned filled_lanes(const NormBatch& batch, std::int64_t group) {
  unsigned lanes = 0;
  for (int l = 0; l < kLanes; ++l)
    if (batch.sample_of_row[group * kLanes + l] >= 0) lanes |= 1u << l;
  return lanes;
}

/// After the last channel zeros are stored: these places are added up and handed on, too.
void clear_padding(const NormBatch& batch, int channel, float* of_channels) {
  if (channel + 1 < batch.channels) return;
  for (std::int64_t c = batch.channels; c < batch.padded(); ++c) of_channels[c] = 0;
}

/// The planes of one channel in one block, in nchw16n.
struct Planes {
  const NormBatch& batch;
  std::int64_t block;
  int channel;

  int groups() const { return batch.block_rows / kLanes; }
  std::int64_t group(int i) const { return block * groups() + i; }
  std::int64_t begin(int i) const {
    return (group(i) * batch.at.units + std::int64_t{channel} * batch.pixels) * kLanes;
  }
  /// sum of term(pixel, place of its lanes) over all pixels, chain by chain.
  template <int Chains, class Sums, class Add>
  void add_up(Sums& sums, const Add& add) const {
    for (int i = 0; i < groups(); ++i) {
      const unsigned lanes = filled_lanes(batch, group(i));
      if (lanes == kAllLanes)
        add_plane<Chains, false>(sums, begin(i), batch.pixels, lanes, add);
      else
        add_plane<Chains, true>(sums, begin(i), batch.pixels, lanes, add);
    }
  }
};

template <class X>
void statistics_of_planes(const NormBatch& batch, std::int64_t block, int c, X x, float* row) {
  const Planes planes{batch, block, c};
  const float samples = static_cast<float>(batch.samples_of_block(block));
  LaneSums<kStatisticChains, 1> sums;
  planes.add_up<kStatisticChains>(
      sums, [&](std::int64_t at, auto& out) { out[0] = load_floats(x + at); });
  const float sum = sums.total(0);
  const Vector mean = simd::broadcast(-(sum / batch.values(samples)));
  LaneSums<kStatisticChains, 1> squares;
  planes.add_up<kStatisticChains>(squares, [&](std::int64_t at, auto& out) {
    const Vector distance = load_floats(x + at) + mean;
    out[0] = distance * distance;
  });
  row[c] = sum;
  row[batch.padded() + c] = squares.total(0);
  clear_padding(batch, c, row);
  clear_padding(batch, c, row + batch.padded());
  if (c > 0) return;
  float* count = row + 2 * batch.padded();
  for (int l = 0; l < kLanes; ++l) count[l] = l == 0 ? samples : 0;
}

/// Sixteen channels of one block, in cn16c.
template <class X>
void statistics_of_panel(const NormBatch& batch, std::int64_t block, int first, X x, float* row) {
  const float samples = static_cast<float>(batch.samples_of_block(block));
  const std::int64_t begin = block * batch.block_rows;
  const auto for_each_row = [&](const auto& add) {
    for (std::int64_t r = begin; r < begin + batch.block_rows; ++r)
      if (batch.sample_of_row[r] >= 0) add(load_floats(x + batch.at.sixteen(r, first)));
  };
  Vector sum{};
  for_each_row([&](Vector v) { sum += v; });
  float lanes[kLanes];
  simd::store(lanes, sum);
  float negative_mean[kLanes];
  for (int l = 0; l < kLanes; ++l) negative_mean[l] = -(lanes[l] / batch.values(samples));
  const Vector mean = simd::load(negative_mean);
  Vector squares{};
  for_each_row([&](Vector v) {
    const Vector distance = v + mean;
    squares += distance * distance;
  });
  store_channels(row + first, sum, batch.channels - first);
  store_channels(row + batch.padded() + first, squares, batch.channels - first);
  if (first > 0) return;
  float* count = row + 2 * batch.padded();
  for (int l = 0; l < kLanes; ++l) count[l] = l == 0 ? samples : 0;
}

/// y of 16 values, and the gradient in front of the ReLU.
struct Lanes {
  Vector negative_mean;
  Vector factor;  // inverse_std scale
  Vector shift;
  bool relu;

  Vector distance(Vector x) const { return x + negative_mean; }
  Vector normalized(Vector x) const { return distance(x) * factor + shift; }
  Vector value(Vector x) const {
    const Vector y = normalized(x);
    return relu ? simd::relu(y) : y;
  }
  Vector before_relu(Vector x, Vector dy) const {
    return relu ? simd::relu_backward(normalized(x), dy) : dy;
  }
};

Lanes lanes_of_channel(const NormFunction& f, std::int64_t block, int c) {
  return {simd::broadcast(-f.sets.mean(block)[c]),
          simd::broadcast(f.sets.inverse_std(block)[c] * f.scale[c]), simd::broadcast(f.shift[c]),
          f.relu};
}

Lanes lanes_of_panel(const NormFunction& f, std::int64_t block, int first) {
  return {simd::load(f.sets.mean(block) + first) * simd::broadcast(-1.0f),
          simd::load(f.sets.inverse_std(block) + first) * simd::load(f.scale + first),
          simd::load(f.shift + first), f.relu};
}

template <class X, class Dy>
void gradients_of_planes(const NormBatch& batch, const NormFunction& f, std::int64_t block, int c,
                         X x, Dy dy, float* row) {
  const Lanes lanes = lanes_of_channel(f, block, c);
  LaneSums<kGradientChains, 2> sums;
  Planes{batch, block, c}.add_up<kGradientChains>(sums, [&](std::int64_t at, auto& out) {
    const Vector value = load_floats(x + at);
    out[1] = lanes.before_relu(value, load_floats(dy + at));
    out[0] = out[1] * lanes.distance(value);
  });
  row[c] = sums.total(0) * f.sets.inverse_std(block)[c];
  row[batch.padded() + c] = sums.total(1);
  clear_padding(batch, c, row);
  clear_padding(batch, c, row + batch.padded());
}

template <class X, class Dy>
void gradients_of_panel(const NormBatch& batch, const NormFunction& f, std::int64_t block,
                        int first, X x, Dy dy, float* row) {
  const Lanes lanes = lanes_of_panel(f, block, first);
  const std::int64_t begin = block * batch.block_rows;
  Vector with_x{};
  Vector alone{};
  for (std::int64_t r = begin; r < begin + batch.block_rows; ++r) {
    if (batch.sample_of_row[r] < 0) continue;
    const std::int64_t at = batch.at.sixteen(r, first);
    const Vector value = load_floats(x + at);
    const Vector passed = lanes.before_relu(value, load_floats(dy + at));
    with_x += passed * lanes.distance(value);
    alone += passed;
  }
  with_x = with_x * simd::load(f.sets.inverse_std(block) + first);
  store_channels(row + first, with_x, batch.channels - first);
  store_channels(row + batch.padded() + first, alone, batch.channels - first);
}

/// Calls plane(group, channel) or panel(block, first channel) for all of them.
template <class Plane, class Panel>
void for_each_part(const ExecSpace& exec, const char* label, const NormBatch& batch,
                   const Plane& plane, const Panel& panel) {
  if (batch.at.layout == Layout::nchw16n) {
    const std::int64_t channels = batch.channels;
    Kokkos::parallel_for(
        label, RangePolicy(exec, 0, batch.rows / kLanes * channels),
        [=](std::int64_t i) { plane(i / channels, static_cast<int>(i % channels)); });
  } else {
    const std::int64_t panels = batch.padded() / kLanes;
    Kokkos::parallel_for(
        label, RangePolicy(exec, 0, batch.num_blocks() * panels),
        [=](std::int64_t i) { panel(i / panels, static_cast<int>(i % panels) * kLanes); });
  }
}

/// Calls planes(block, channel) or panel(block, first channel) for all of them.
template <class Planes, class Panel>
void for_each_block(const ExecSpace& exec, const char* label, const NormBatch& batch,
                    const Planes& planes, const Panel& panel) {
  const bool is_lanes = batch.at.layout == Layout::nchw16n;
  const std::int64_t parts = is_lanes ? batch.channels : batch.padded() / kLanes;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, batch.num_blocks() * parts),
                       [=](std::int64_t i) {
                         const std::int64_t block = i / parts;
                         const int part = static_cast<int>(i % parts);
                         if (is_lanes)
                           planes(block, part);
                         else
                           panel(block, part * kLanes);
                       });
}

/// Calls write(place, filled lanes) for the 16 values of every pixel of a plane.
template <class Write>
void for_each_pixel(const NormBatch& batch, std::int64_t group, int channel, const Write& write) {
  const unsigned lanes = filled_lanes(batch, group);
  const std::int64_t begin =
      (group * batch.at.units + std::int64_t{channel} * batch.pixels) * kLanes;
  const std::int64_t end = begin + std::int64_t{batch.pixels} * kLanes;
  if (lanes == kAllLanes)
    for (std::int64_t at = begin; at < end; at += kLanes) write(at, [](Vector v) { return v; });
  else
    for (std::int64_t at = begin; at < end; at += kLanes)
      write(at, [=](Vector v) { return simd::select_lanes(lanes, v, Vector{}); });
}

template <class Write>
void for_each_row(const NormBatch& batch, std::int64_t block, int first, const Write& write) {
  const std::int64_t begin = block * batch.block_rows;
  for (std::int64_t row = begin; row < begin + batch.block_rows; ++row) {
    const unsigned lanes = batch.sample_of_row[row] >= 0 ? kAllLanes : 0;
    write(batch.at.sixteen(row, first),
          [=](Vector v) { return simd::select_lanes(lanes, v, Vector{}); });
  }
}

/// Calls f with x as the kernels are to read it.
template <class F>
void with_input(const NormBatch& batch, const float* x, const F& f) {
  if (batch.rounds)
    with_rounded_values(x, batch.rounded_x, f);
  else
    f(x);
}

/// And with dy.
template <class F>
void with_inputs(const NormBatch& batch, const float* x, const float* dy, const F& f) {
  if (!batch.rounds) return f(x, dy);
  with_rounded_values(x, batch.rounded_x, [&](auto values) {
    with_rounded_values(dy, batch.rounded_dy, [&](auto gradients) { f(values, gradients); });
  });
}

void block_statistics(const ExecSpace& exec, const NormBatch& batch, const float* x,
                      float* statistics) {
  const std::int64_t stride = BlockStatistics::floats(batch.padded());
  with_input(batch, x, [&](auto values) {
    for_each_block(
        exec, "quern::layers::batch_norm_statistics", batch,
        [=](std::int64_t block, int channel) {
          statistics_of_planes(batch, block, channel, values, statistics + block * stride);
        },
        [=](std::int64_t block, int first) {
          statistics_of_panel(batch, block, first, values, statistics + block * stride);
        });
  });
}

/// Calls write(lanes of its function)(place, filled lanes) for all of the batch.
template <class Write>
void for_each_value(const ExecSpace& exec, const char* label, const NormBatch& batch,
                    const NormFunction& f, const Write& write) {
  for_each_part(
      exec, label, batch,
      [=](std::int64_t group, int c) {
        for_each_pixel(batch, group, c,
                       write(lanes_of_channel(f, group * kLanes / batch.block_rows, c)));
      },
      [=](std::int64_t block, int first) {
        for_each_row(batch, block, first, write(lanes_of_panel(f, block, first)));
      });
}

void normalize(const ExecSpace& exec, const NormBatch& batch, const NormFunction& f, const float* x,
               float* y) {
  const auto run = [&](auto from, auto* to) {
    if (!f.addend) {
      for_each_value(exec, "quern::layers::batch_norm", batch, f, [=](const Lanes& lanes) {
        return [=](std::int64_t at, const auto& filled) {
          store_values(to + at, filled(lanes.value(load_floats(from + at))));
        };
      });
      return;
    }
    for_each_value(exec, "quern::layers::batch_norm_add", batch, f, [=](const Lanes& lanes) {
      return [=](std::int64_t at, const auto& filled) {
        const Vector sum = filled(lanes.value(load_floats(from + at))) + simd::load(f.addend + at);
        store_values(to + at, f.relu_of_sum ? simd::relu(sum) : sum);
      };
    });
  };
  with_input(batch, x,
             [&](auto from) { with_values(y, f.rounds, [&](auto* to) { run(from, to); }); });
}

void block_gradients(const ExecSpace& exec, const NormBatch& batch, const NormFunction& f,
                     const float* x, const float* dy, float* gradients) {
  const std::int64_t stride = 2 * batch.padded();
  with_inputs(batch, x, dy, [&](auto of_x, auto of_dy) {
    for_each_block(
        exec, "quern::layers::batch_norm_gradients", batch,
        [=](std::int64_t block, int c) {
          gradients_of_planes(batch, f, block, c, of_x, of_dy, gradients + block * stride);
        },
        [=](std::int64_t block, int first) {
          gradients_of_panel(batch, f, block, first, of_x, of_dy, gradients + block * stride);
        });
  });
}

template <class X, class Dy, class Dx>
void input_gradient_of(const ExecSpace& exec, const NormBatch& batch, const NormFunction& f,
                       const NormGradient& gradient, X x, Dy dy, Dx* dx) {
  const auto write = [=](const Lanes& lanes, Vector negative_mean_dy, Vector negative_slope) {
    return [=](std::int64_t at, const auto& filled) {
      const Vector value = load_floats(x + at);
      const Vector passed = lanes.before_relu(value, load_floats(dy + at));
      const Vector rest = passed + negative_mean_dy + lanes.distance(value) * negative_slope;
      store_values(dx + at, filled(rest * lanes.factor));
    };
  };
  for_each_part(
      exec, "quern::layers::batch_norm_backward", batch,
      [=](std::int64_t group, int c) {
        const std::int64_t block = group * kLanes / batch.block_rows;
        for_each_pixel(
            batch, group, c,
            write(lanes_of_channel(f, block, c), simd::broadcast(-gradient.mean_dy(block)[c]),
                  simd::broadcast(-gradient.slope(block)[c])));
      },
      [=](std::int64_t block, int first) {
        const Vector minus = simd::broadcast(-1.0f);
        for_each_row(batch, block, first,
                     write(lanes_of_panel(f, block, first),
                           simd::load(gradient.mean_dy(block) + first) * minus,
                           simd::load(gradient.slope(block) + first) * minus));
      });
}

void input_gradient(const ExecSpace& exec, const NormBatch& batch, const NormFunction& f,
                    const NormGradient& gradient, const float* x, const float* dy, float* dx) {
  with_inputs(batch, x, dy, [&](auto of_x, auto of_dy) {
    with_values(dx, gradient.rounds, [&](auto* values) {
      input_gradient_of(exec, batch, f, gradient, of_x, of_dy, values);
    });
  });
}

}  // namespace

const BatchNormKernels& batch_norm_kernels() {
  static constexpr BatchNormKernels kKernels = {.rounds = true,
                                                .block_statistics = block_statistics,
                                                .normalize = normalize,
                                                .block_gradients = block_gradients,
                                                .input_gradient = input_gradient};
  return kKernels;
}

}  // namespace quern::host
