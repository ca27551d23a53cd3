// SPDX-License-Identifier: Apache-2.0
// Group normalisation with vectors of 16 samples. A work item is one set of channels of one group
// of samples: what it reads again still lies in a cache.
#include <algorithm>

#include "layers/group_norm_kernels.hpp"
#include "layers/host/batch_norm_lanes.hpp"

namespace quern::host {

namespace {

using simd::Vector;

/// f of each lane.
template <class F>
Vector of_lanes(Vector v, const F& f) {
  float lanes[kLanes];
  simd::store(lanes, v);
  for (float& value : lanes) value = f(value);
  return simd::load(lanes);
}

/// Overwrites sums with those of the values that term(place, values) gives for the pixels of a
/// plane.
template <int Count, class Term>
void add_up_plane(std::int64_t plane, int pixels, Vector (&sums)[Count], const Term& term) {
  constexpr int kChains = ChannelNorm::kChains;
  for (Vector& sum : sums) sum = Vector{};
  for (int begin = 0; begin < pixels; begin += ChannelNorm::kSegment) {
    LaneSums<kChains, Count> segment;
    add_plane<kChains, false>(segment, plane + std::int64_t{begin} * kLanes,
                              std::min(ChannelNorm::kSegment, pixels - begin), 0, term);
    for (int i = 0; i < Count; ++i) {
      const auto& chain = segment.chain[i];
      sums[i] += (chain[0] + chain[1]) + (chain[2] + chain[3]);
    }
  }
}

/// One set of channels of one group of samples.
struct SetTile {
  const ChannelNorm& norm;
  std::int64_t group;
  int set;

  int begin() const { return set * norm.channels_of_set(); }
  int end() const { return begin() + norm.channels_of_set(); }
  std::int64_t of_set() const { return (group * norm.sets + set) * kLanes; }
  std::int64_t of_channel(int channel) const { return (group * norm.channels + channel) * kLanes; }

  /// The sums over the set of what term(place, values) gives.
  template <class Term>
  Vector add_up(const Term& term) const {
    Vector total{};
    for (int channel = begin(); channel < end(); ++channel) {
      Vector sum[1];
      add_up_plane(norm.plane(group, channel), norm.pixels, sum, term);
      total += sum[0];
    }
    return total;
  }

  /// Stores value(place) in every pixel of a channel.
  template <class Value>
  void write(int channel, float* y, const Value& value) const {
    const std::int64_t plane = norm.plane(group, channel);
    for (int p = 0; p < norm.pixels; ++p) {
      const std::int64_t at = plane + std::int64_t{p} * kLanes;
      simd::store(y + at, value(at));
    }
  }
};

void normalize_set(const SetTile& tile, const float* x, float* y) {
  const ChannelNorm& norm = tile.norm;
  const Vector sum =
      tile.add_up([&](std::int64_t at, Vector* values) { values[0] = simd::load(x + at); });
  const Vector mean = of_lanes(sum, [&](float v) { return norm.mean_of(v); });
  const Vector negative_mean = negative(mean);
  const Vector squares = tile.add_up([&](std::int64_t at, Vector* values) {
    const Vector distance = simd::load(x + at) + negative_mean;
    values[0] = distance * distance;
  });
  const Vector inverse_std = of_lanes(squares, [&](float v) { return norm.inverse_std_of(v); });
  simd::store(norm.mean + tile.of_set(), mean);
  simd::store(norm.inverse_std + tile.of_set(), inverse_std);
  for (int channel = tile.begin(); channel < tile.end(); ++channel) {
    const Vector scale = simd::broadcast(norm.scale[channel]);
    const Vector shift = simd::broadcast(norm.shift[channel]);
    tile.write(channel, y, [&](std::int64_t at) {
      const Vector value = (simd::load(x + at) + negative_mean) * inverse_std * scale + shift;
      return norm.relu ? simd::relu(value) : value;
    });
  }
}

// With g = dy scale: dx = (g - mean of g - (x - mean) slope) inverse_std.
void backward_of_set(const SetTile& tile, const float* x, const float* dy, float* dx) {
  const ChannelNorm& norm = tile.norm;
  const Vector negative_mean = negative(simd::load(norm.mean + tile.of_set()));
  const Vector inverse_std = simd::load(norm.inverse_std + tile.of_set());
  Vector total{};
  Vector total_with_x{};
  for (int channel = tile.begin(); channel < tile.end(); ++channel) {
    Vector sums[2];
    add_up_plane(norm.plane(tile.group, channel), norm.pixels, sums,
                 [&](std::int64_t at, Vector* values) {
                   values[0] = simd::load(dy + at);
                   values[1] = values[0] * (simd::load(x + at) + negative_mean);
                 });
    float* stored = norm.sums + tile.of_channel(channel);
    simd::store(stored, sums[0]);
    simd::store(stored + norm.second_sum(), sums[1]);
    const Vector scale = simd::broadcast(norm.scale[channel]);
    total += sums[0] * scale;
    total_with_x += sums[1] * scale;
  }
  if (dx == nullptr) return;
  const auto mean_of = [&](float v) { return norm.mean_of(v); };
  const Vector mean = negative(of_lanes(total, mean_of));
  const Vector slope = negative(of_lanes(total_with_x, mean_of) * inverse_std * inverse_std);
  for (int channel = tile.begin(); channel < tile.end(); ++channel) {
    const Vector scale = simd::broadcast(norm.scale[channel]);
    tile.write(channel, dx, [&](std::int64_t at) {
      const Vector distance = simd::load(x + at) + negative_mean;
      return (simd::load(dy + at) * scale + mean + distance * slope) * inverse_std;
    });
  }
}

/// Sixteen channels of one block.
void gradients_of_channels(const ChannelNorm& norm, std::int64_t block, int first, float* with_x,
                           float* alone) {
  const std::int64_t groups = norm.block_rows / kLanes;
  Vector sums_with_x[kLanes] = {};
  Vector sums_alone[kLanes] = {};
  for (int c = 0; c < kLanes && first + c < norm.channels; ++c) {
    const int set = (first + c) / norm.channels_of_set();
    for (std::int64_t group = block * groups; group < (block + 1) * groups; ++group) {
      const SetTile tile{norm, group, set};
      const float* sums = norm.sums + tile.of_channel(first + c);
      sums_with_x[c] +=
          simd::load(sums + norm.second_sum()) * simd::load(norm.inverse_std + tile.of_set());
      sums_alone[c] += simd::load(sums);
    }
  }
  simd::sum_lanes<kLanes>(sums_with_x, with_x);
  simd::sum_lanes<kLanes>(sums_alone, alone);
}

/// Calls compute(tile) for all sets of all groups of samples.
template <class Compute>
void for_each_set(const ExecSpace& exec, const char* label, const ChannelNorm& norm,
                  const Compute& compute) {
  Kokkos::parallel_for(label, RangePolicy(exec, 0, norm.num_groups() * norm.sets),
                       [=](std::int64_t i) {
                         compute(SetTile{norm, i / norm.sets, static_cast<int>(i % norm.sets)});
                       });
}

void group_norm(const ExecSpace& exec, const ChannelNorm& norm, const float* x, float* y) {
  for_each_set(exec, "quern::layers::group_norm", norm,
               [=](const SetTile& tile) { normalize_set(tile, x, y); });
}

void group_norm_backward(const ExecSpace& exec, const ChannelNorm& norm, const float* x,
                         const float* dy, float* dx) {
  for_each_set(exec, "quern::layers::group_norm_backward", norm,
               [=](const SetTile& tile) { backward_of_set(tile, x, dy, dx); });
}

void group_norm_gradients(const ExecSpace& exec, const ChannelNorm& norm, float* gradients) {
  const std::int64_t padded = norm.padded();
  const std::int64_t parts = padded / kLanes;
  Kokkos::parallel_for("quern::layers::group_norm_gradients",
                       RangePolicy(exec, 0, norm.num_blocks() * parts), [=](std::int64_t i) {
                         const std::int64_t block = i / parts;
                         const auto first = static_cast<int>(i % parts) * kLanes;
                         float* row = gradients + block * 2 * padded + first;
                         gradients_of_channels(norm, block, first, row, row + padded);
                       });
}

}  // namespace

const GroupNormKernels& group_norm_kernels() {
  static constexpr GroupNormKernels kKernels = {.normalize = group_norm,
                                                .backward = group_norm_backward,
                                                .parameter_gradients = group_norm_gradients};
  return kKernels;
}

}  // namespace quern::host
