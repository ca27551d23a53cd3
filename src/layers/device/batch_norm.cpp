// SPDX-License-Identifier: Apache-2.0
// Batch normalisation on a device: a team adds up one channel of one block, and a thread writes one
// element. The order of the sums is that of host/.
#include "layers/batch_norm_kernels.hpp"
#include "tensor/team.hpp"

namespace quern::device {

namespace {

/// Values of one channel in one block, for Chains chains of 16 lanes in nchw16n, or one chain down
/// the rows of a flat layout. Threads of a team share the chains.
template <int Chains, int Count, int Threads>
class ChannelSums {
 public:
  static constexpr int kLanesOfChains = Chains * kLanes;
  static constexpr std::size_t kScratchBytes = scratch_bytes(Count * kLanesOfChains, 1);

  KOKKOS_INLINE_FUNCTION ChannelSums(const Team& team, const NormBatch& batch, std::int64_t block,
                                     int channel)
      : team_(team),
        batch_(batch),
        block_(block),
        channel_(channel),
        lanes_(scratch_floats(team, Count * kLanesOfChains)) {}

  /// Overwrites sums[Count] with the sums of what term(place, values) gives; all threads get them.
  template <class Term>
  KOKKOS_INLINE_FUNCTION void add_up(const Term& term, float* sums) const {
    team_.team_barrier();
    if (batch_.at.layout == Layout::nchw16n) {
      for (int v = team_.team_rank(); v < kLanesOfChains; v += Threads) add_lane(v, term);
      team_.team_barrier();
      for (int i = 0; i < Count; ++i) sums[i] = fold(lanes_ + i * kLanesOfChains);
      return;
    }
    for (int i = 0; i < Count; ++i) sums[i] = 0;
    for (int r = 0; r < batch_.block_rows; ++r) {
      const std::int64_t row = block_ * batch_.block_rows + r;
      if (batch_.sample_of_row[row] < 0) continue;
      float values[Count];
      term(batch_.at(row, channel_), values);
      for (int i = 0; i < Count; ++i) sums[i] += values[i];
    }
  }

 private:
  // Lane v % 16 of chain v / 16.
  template <class Term>
  KOKKOS_INLINE_FUNCTION void add_lane(int v, const Term& term) const {
    float sum[Count] = {};
    const int lane = v % kLanes;
    for (int r = lane; r < batch_.block_rows; r += kLanes) {
      const std::int64_t row = block_ * batch_.block_rows + r;
      if (batch_.sample_of_row[row] < 0) continue;
      const std::int64_t begin = batch_.at(row, std::int64_t{channel_} * batch_.pixels);
      for (int p = v / kLanes; p < batch_.pixels; p += Chains) {
        float values[Count];
        term(begin + std::int64_t{p} * kLanes, values);
        for (int i = 0; i < Count; ++i) sum[i] += values[i];
      }
    }
    for (int i = 0; i < Count; ++i) lanes_[i * kLanesOfChains + v] = sum[i];
  }

  KOKKOS_INLINE_FUNCTION static float fold(const float* lanes) {
    float sum[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      sum[l] = lanes[l] + lanes[kLanes + l];
      if constexpr (Chains == 4) sum[l] += lanes[2 * kLanes + l] + lanes[3 * kLanes + l];
    }
    for (int half = kLanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) sum[l] += sum[l + half];
    return sum[0];
  }

  const Team& team_;
  const NormBatch& batch_;
  std::int64_t block_;
  int channel_;
  float* lanes_;
};

/// What two sums of a channel are stored by: zeros after the last channel.
KOKKOS_INLINE_FUNCTION void store_channel(const NormBatch& batch, float* row, int channel,
                                          float first, float second) {
  float* after = row + batch.padded();
  row[channel] = first;
  after[channel] = second;
  if (channel + 1 < batch.channels) return;
  for (std::int64_t c = batch.channels; c < batch.padded(); ++c) row[c] = after[c] = 0;
}

template <int Threads = kTeamThreads<kStatisticChains * kLanes>>
struct Statistics {
  static constexpr int kThreads = Threads;
  using Sums = ChannelSums<kStatisticChains, 1, Threads>;
  static constexpr std::size_t kScratchBytes = Sums::kScratchBytes;

  NormBatch batch;
  const float* x;
  float* statistics;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int64_t block = team.league_rank() / batch.channels;
    const int channel = static_cast<int>(team.league_rank() % batch.channels);
    const Sums sums(team, batch, block, channel);
    const auto samples = static_cast<float>(batch.samples_of_block(block));
    float sum = 0;
    sums.add_up([&](std::int64_t at, float* out) { out[0] = x[at]; }, &sum);
    const float mean = sum / batch.values(samples);
    float squares = 0;
    sums.add_up(
        [&](std::int64_t at, float* out) {
          const float distance = x[at] - mean;
          out[0] = distance * distance;
        },
        &squares);
    if (team.team_rank() > 0) return;
    float* row = statistics + block * BlockStatistics::floats(batch.padded());
    store_channel(batch, row, channel, sum, squares);
    if (channel > 0) return;
    for (int l = 0; l < kLanes; ++l) row[2 * batch.padded() + l] = l == 0 ? samples : 0;
  }
};

/// What is to be done with one element.
struct Element {
  float mean;
  float factor;
  float shift;
  bool relu;

  KOKKOS_INLINE_FUNCTION Element(const NormFunction& f, std::int64_t block, int c)
      : mean(f.sets.mean(block)[c]),
        factor(f.sets.inverse_std(block)[c] * f.scale[c]),
        shift(f.shift[c]),
        relu(f.relu) {}

  KOKKOS_INLINE_FUNCTION float normalized(float x) const { return (x - mean) * factor + shift; }
  KOKKOS_INLINE_FUNCTION float value(float x) const {
    const float y = normalized(x);
    return relu && y <= 0 ? 0 : y;
  }
  KOKKOS_INLINE_FUNCTION float before_relu(float x, float dy) const {
    return relu && normalized(x) <= 0 ? 0 : dy;
  }
};

template <int Threads = kTeamThreads<kGradientChains * kLanes>>
struct Gradients {
  static constexpr int kThreads = Threads;
  using Sums = ChannelSums<kGradientChains, 2, Threads>;
  static constexpr std::size_t kScratchBytes = Sums::kScratchBytes;

  NormBatch batch;
  NormFunction function;
  const float* x;
  const float* dy;
  float* gradients;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const std::int64_t block = team.league_rank() / batch.channels;
    const int channel = static_cast<int>(team.league_rank() % batch.channels);
    const Element element(function, block, channel);
    float sums[2];
    Sums(team, batch, block, channel)
        .add_up(
            [&](std::int64_t at, float* out) {
              out[1] = element.before_relu(x[at], dy[at]);
              out[0] = out[1] * (x[at] - element.mean);
            },
            sums);
    if (team.team_rank() > 0) return;
    store_channel(batch, gradients + block * 2 * batch.padded(), channel,
                  sums[0] * function.sets.inverse_std(block)[channel], sums[1]);
  }
};

/// Where element i of an activation belongs.
struct Place {
  std::int64_t row;
  std::int64_t unit;
  std::int64_t at;

  // In nchw16n lanes are neighbours, else units.
  KOKKOS_INLINE_FUNCTION Place(const NormBatch& batch, std::int64_t i) {
    const std::int64_t units = batch.at.units;
    if (batch.at.layout == Layout::nchw16n) {
      row = i / kLanes / units * kLanes + i % kLanes;
      unit = i / kLanes % units;
    } else {
      row = i / units;
      unit = i % units;
    }
    at = batch.at(row, unit);
  }
};

struct Normalize {
  NormBatch batch;
  NormFunction function;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const Place place(batch, i);
    const Element element(function, place.row / batch.block_rows,
                          static_cast<int>(place.unit / batch.pixels));
    const float value = batch.sample_of_row[place.row] < 0 ? 0 : element.value(x[place.at]);
    if (!function.addend) {
      y[place.at] = value;
      return;
    }
    const float sum = value + function.addend[place.at];
    y[place.at] = function.relu_of_sum && sum <= 0 ? 0 : sum;
  }
};

struct InputGradient {
  NormBatch batch;
  NormFunction function;
  NormGradient gradient;
  const float* x;
  const float* dy;
  float* dx;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const Place place(batch, i);
    const std::int64_t block = place.row / batch.block_rows;
    const int channel = static_cast<int>(place.unit / batch.pixels);
    const Element element(function, block, channel);
    const float value = x[place.at];
    const float passed = element.before_relu(value, dy[place.at]);
    const float rest = passed - gradient.mean_dy(block)[channel] -
                       (value - element.mean) * gradient.slope(block)[channel];
    dx[place.at] = batch.sample_of_row[place.row] < 0 ? 0 : rest * element.factor;
  }
};

std::int64_t num_elements(const NormBatch& batch) {
  return std::int64_t{batch.rows} * batch.at.units;
}

void block_statistics(const ExecSpace& exec, const NormBatch& batch, const float* x,
                      float* statistics) {
  for_each_team(exec, "quern::layers::batch_norm_statistics",
                std::int64_t{batch.num_blocks()} * batch.channels,
                Statistics<>{batch, x, statistics});
}

void normalize(const ExecSpace& exec, const NormBatch& batch, const NormFunction& function,
               const float* x, float* y) {
  const RangePolicy policy(exec, 0, num_elements(batch));
  const Normalize kernel{batch, function, x, y};
  if (function.addend)
    Kokkos::parallel_for("quern::layers::batch_norm_add", policy, kernel);
  else
    Kokkos::parallel_for("quern::layers::batch_norm", policy, kernel);
}

void block_gradients(const ExecSpace& exec, const NormBatch& batch, const NormFunction& function,
                     const float* x, const float* dy, float* gradients) {
  for_each_team(exec, "quern::layers::batch_norm_gradients",
                std::int64_t{batch.num_blocks()} * batch.channels,
                Gradients<>{batch, function, x, dy, gradients});
}

void input_gradient(const ExecSpace& exec, const NormBatch& batch, const NormFunction& function,
                    const NormGradient& gradient, const float* x, const float* dy, float* dx) {
  Kokkos::parallel_for("quern::layers::batch_norm_backward",
                       RangePolicy(exec, 0, num_elements(batch)),
                       InputGradient{batch, function, gradient, x, dy, dx});
}

}  // namespace

const BatchNormKernels& batch_norm_kernels() {
  static constexpr BatchNormKernels kKernels = {.block_statistics = block_statistics,
                                                .normalize = normalize,
                                                .block_gradients = block_gradients,
                                                .input_gradient = input_gradient};
  return kKernels;
}

}  // namespace quern::device
