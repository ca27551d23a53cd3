// SPDX-License-Identifier: Apache-2.0
// Layer normalisation on a device: a thread adds up one lane of one segment of a line, another one
// the segments of a sample, and a thread writes one element. The order of the sums is that of
// host/.
#include "layers/layer_norm_kernels.hpp"

namespace quern::device {

namespace {

KOKKOS_INLINE_FUNCTION float fold_sixteen(float* lanes) {
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// What is added up along the lines: Count numbers of an element.

struct ValueTerm {
  static constexpr int kCount = 1;
  const float* x;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t, std::int64_t, std::int64_t at,
                                         float* values) const {
    values[0] = x[at];
  }
};

struct SquareTerm {
  static constexpr int kCount = 1;
  const float* x;
  const float* mean;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row, std::int64_t, std::int64_t at,
                                         float* values) const {
    const float distance = x[at] - mean[row];
    values[0] = distance * distance;
  }
};

struct GradientTerm {
  static constexpr int kCount = 2;
  const float* x;
  const float* dy;
  const float* mean;
  const float* scale;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row, std::int64_t unit, std::int64_t at,
                                         float* values) const {
    values[0] = dy[at] * scale[unit];
    values[1] = values[0] * (x[at] - mean[row]);
  }
};

/// Overwrites sums [kCount, lines, segments, 16].
template <class Term>
struct SegmentSums {
  SampleLines lines;
  int segments;
  Term term;
  float* sums;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t line = i / kLanes / segments;
    const int segment = static_cast<int>(i / kLanes % segments);
    const int lane = static_cast<int>(i % kLanes);
    if (lines.are_groups)
      add_up<SampleLines::kGroupChains>(i, line, segment, lane);
    else
      add_up<1>(i, line, segment, lane);
  }

  template <int Chains>
  KOKKOS_INLINE_FUNCTION void add_up(std::int64_t i, std::int64_t line, int segment,
                                     int lane) const {
    constexpr bool kAreGroups = Chains > 1;
    const int begin = segment * SampleLines::kSegment;
    const int end = Kokkos::min(begin + SampleLines::kSegment, lines.sixteens);
    const std::int64_t row = kAreGroups ? line * kLanes + lane : line;
    float chains[Term::kCount][Chains] = {};
    for (int chain = 0; chain < Chains; ++chain) {
      for (int sixteen = begin + chain; sixteen < end; sixteen += Chains) {
        const std::int64_t unit = kAreGroups ? sixteen : std::int64_t{sixteen} * kLanes + lane;
        if (unit >= lines.units) continue;
        float values[Term::kCount];
        term(row, unit, lines.place(line, sixteen) + lane, values);
        for (int k = 0; k < Term::kCount; ++k) chains[k][chain] += values[k];
      }
    }
    const std::int64_t stride = std::int64_t{lines.lines} * segments * kLanes;
    for (int k = 0; k < Term::kCount; ++k) {
      float sum = chains[k][0];
      if constexpr (Chains == 4) sum = (sum + chains[k][1]) + (chains[k][2] + chains[k][3]);
      sums[k * stride + i] = sum;
    }
  }
};

/// The sums of samples out of those of segments.
struct SampleSums {
  SampleLines lines;
  int segments;
  const float* sums;

  KOKKOS_INLINE_FUNCTION float operator()(int k, std::int64_t row) const {
    const std::int64_t line = lines.are_groups ? row / kLanes : row;
    const float* sixteen = sums + (k * std::int64_t{lines.lines} + line) * segments * kLanes;
    if (lines.are_groups) {
      float sum = 0;
      for (int s = 0; s < segments; ++s) sum += sixteen[s * kLanes + row % kLanes];
      return sum;
    }
    float lanes[kLanes] = {};
    for (int s = 0; s < segments; ++s)
      for (int l = 0; l < kLanes; ++l) lanes[l] += sixteen[s * kLanes + l];
    return fold_sixteen(lanes);
  }
};

struct SampleMean {
  SampleNorm norm;
  SampleSums sums;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    norm.mean[row] = norm.mean_of(sums(0, row));
  }
};

struct SampleDeviation {
  SampleNorm norm;
  SampleSums sums;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    norm.inverse_std[row] = norm.inverse_std_of(sums(0, row));
  }
};

struct SampleSlope {
  SampleNorm norm;
  SampleSums sums;
  float* mean;
  float* slope;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    const float inverse_std = norm.inverse_std[row];
    mean[row] = norm.mean_of(sums(0, row));
    slope[row] = norm.mean_of(sums(1, row)) * inverse_std * inverse_std;
  }
};

/// Where element i belongs: in groups lanes are neighbours, else units.
struct LinePlace {
  std::int64_t row;
  std::int64_t unit;
  std::int64_t at;

  KOKKOS_INLINE_FUNCTION LinePlace(const SampleLines& lines, std::int64_t i) {
    const std::int64_t inner = lines.are_groups ? i / kLanes : i;
    const std::int64_t line = inner / lines.units;
    unit = inner % lines.units;
    row = lines.are_groups ? line * kLanes + i % kLanes : line;
    at = lines.are_groups ? lines.place(line, unit) + i % kLanes
                          : lines.place(line, unit / kLanes) + unit % kLanes;
  }
};

struct NormalizeSamples {
  SampleNorm norm;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const LinePlace p(norm.lines, i);
    const float normalized = (x[p.at] - norm.mean[p.row]) * norm.inverse_std[p.row];
    const float value = normalized * norm.scale[p.unit] + norm.shift[p.unit];
    y[p.at] = norm.relu && value <= 0 ? 0 : value;
  }
};

struct SampleBackward {
  SampleNorm norm;
  const float* x;
  const float* dy;
  const float* mean;
  const float* slope;
  float* dx;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const LinePlace p(norm.lines, i);
    const float rest =
        dy[p.at] * norm.scale[p.unit] - mean[p.row] - (x[p.at] - norm.mean[p.row]) * slope[p.row];
    dx[p.at] = rest * norm.inverse_std[p.row];
  }
};

/// Of one unit in one micro-block.
struct UnitGradients {
  SampleNorm norm;
  const float* x;
  const float* dy;
  float* gradients;

  KOKKOS_INLINE_FUNCTION void add(std::int64_t row, std::int64_t at, float& with_x,
                                  float& alone) const {
    with_x += dy[at] * ((x[at] - norm.mean[row]) * norm.inverse_std[row]);
    alone += dy[at];
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t padded = norm.padded();
    const std::int64_t block = i / padded;
    const std::int64_t unit = i % padded;
    float sums[2] = {};
    if (unit < norm.lines.units) {
      if (norm.lines.are_groups)
        add_groups(block, unit, sums);
      else
        for (std::int64_t row = block * norm.block_rows; row < (block + 1) * norm.block_rows; ++row)
          add(row, norm.lines.place(row, unit / kLanes) + unit % kLanes, sums[0], sums[1]);
    }
    float* row = gradients + block * 2 * padded;
    row[unit] = sums[0];
    row[padded + unit] = sums[1];
  }

  KOKKOS_INLINE_FUNCTION void add_groups(std::int64_t block, std::int64_t unit, float* sums) const {
    const std::int64_t groups = norm.block_rows / kLanes;
    float with_x[kLanes] = {};
    float alone[kLanes] = {};
    for (std::int64_t group = block * groups; group < (block + 1) * groups; ++group)
      for (int l = 0; l < kLanes; ++l)
        add(group * kLanes + l, norm.lines.place(group, unit) + l, with_x[l], alone[l]);
    sums[0] = fold_sixteen(with_x);
    sums[1] = fold_sixteen(alone);
  }
};

std::int64_t num_values(const SampleNorm& norm) {
  return std::int64_t{norm.lines.rows} * norm.lines.units;
}

template <class Term>
SampleSums add_segments(const ExecSpace& exec, const SampleLines& lines, const Term& term,
                        float* sums) {
  const int segments = lines.segments();
  Kokkos::parallel_for("quern::layers::layer_norm_statistics",
                       RangePolicy(exec, 0, std::int64_t{lines.lines} * segments * kLanes),
                       SegmentSums<Term>{lines, segments, term, sums});
  return {lines, segments, sums};
}

template <class Finish>
void for_each_sample(const ExecSpace& exec, int rows, const Finish& finish) {
  Kokkos::parallel_for("quern::layers::layer_norm_means", RangePolicy(exec, 0, rows), finish);
}

// Two sums of each segment; means and slopes.
std::int64_t sample_norm_floats(int units, int rows) {
  const auto sixteens = static_cast<int>(round_up_to_lanes(units) / kLanes);
  const int of_row = kLanes * SampleLines::segments_of(sixteens);
  const int of_sample_in_group = SampleLines::segments_of(units);
  return 2 * std::int64_t{rows} * (Kokkos::max(of_row, of_sample_in_group) + 1);
}

void normalize_samples(const ExecSpace& exec, const SampleNorm& norm, const float* x, float* y,
                       float* workspace) {
  const SampleLines& lines = norm.lines;
  const SampleSums sums = add_segments(exec, lines, ValueTerm{x}, workspace);
  for_each_sample(exec, lines.rows, SampleMean{norm, sums});
  const SampleSums squares = add_segments(exec, lines, SquareTerm{x, norm.mean}, workspace);
  for_each_sample(exec, lines.rows, SampleDeviation{norm, squares});
  Kokkos::parallel_for("quern::layers::layer_norm", RangePolicy(exec, 0, num_values(norm)),
                       NormalizeSamples{norm, x, y});
}

void sample_norm_gradients(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                           const float* dy, float* gradients) {
  Kokkos::parallel_for("quern::layers::layer_norm_gradients",
                       RangePolicy(exec, 0, norm.num_blocks() * norm.padded()),
                       UnitGradients{norm, x, dy, gradients});
}

void sample_norm_backward(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                          const float* dy, float* dx, float* workspace) {
  const int rows = norm.lines.rows;
  float* mean = workspace;
  float* slope = mean + rows;
  const SampleSums sums =
      add_segments(exec, norm.lines, GradientTerm{x, dy, norm.mean, norm.scale}, slope + rows);
  for_each_sample(exec, rows, SampleSlope{norm, sums, mean, slope});
  Kokkos::parallel_for("quern::layers::layer_norm_backward", RangePolicy(exec, 0, num_values(norm)),
                       SampleBackward{norm, x, dy, mean, slope, dx});
}

}  // namespace

const LayerNormKernels& layer_norm_kernels() {
  static constexpr LayerNormKernels kKernels = {.workspace_floats = sample_norm_floats,
                                                .normalize = normalize_samples,
                                                .parameter_gradients = sample_norm_gradients,
                                                .input_gradient = sample_norm_backward};
  return kKernels;
}

}  // namespace quern::device
