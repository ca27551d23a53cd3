// SPDX-License-Identifier: Apache-2.0
// Group normalisation on a device: a thread adds up one lane of one channel, another one the
// channels of a set of a sample, and a thread writes one element. The order of the sums is that of
// host/.
#include "layers/group_norm_kernels.hpp"

namespace quern::device {

namespace {

// What is added up over pixels: kCount numbers of an element.

struct PixelValue {
  static constexpr int kCount = 1;
  const float* x;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t at, float, float* values) const {
    values[0] = x[at];
  }
};

struct PixelSquare {
  static constexpr int kCount = 1;
  const float* x;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t at, float mean, float* values) const {
    const float distance = x[at] - mean;
    values[0] = distance * distance;
  }
};

struct PixelGradient {
  static constexpr int kCount = 2;
  const float* x;
  const float* dy;
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t at, float mean, float* values) const {
    values[0] = dy[at];
    values[1] = values[0] * (x[at] - mean);
  }
};

/// Which lane of which channel or set of which group of samples element i of an array of
/// [groups, count, 16] is.
struct LaneOf {
  std::int64_t group;
  int part;
  int lane;

  KOKKOS_INLINE_FUNCTION LaneOf(std::int64_t i, int count)
      : group(i / kLanes / count),
        part(static_cast<int>(i / kLanes % count)),
        lane(static_cast<int>(i % kLanes)) {}
};

/// Where the numbers of the set of channel `channel` are.
KOKKOS_INLINE_FUNCTION std::int64_t place_of_set(const ChannelNorm& norm, const LaneOf& of,
                                                 int channel) {
  const int set = channel / norm.channels_of_set();
  return (of.group * norm.sets + set) * kLanes + of.lane;
}

/// Overwrites the sums of each channel.
template <class Term>
struct PlaneSums {
  ChannelNorm norm;
  Term term;
  bool with_mean;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    constexpr int kChains = ChannelNorm::kChains;
    const LaneOf of(i, norm.channels);
    const std::int64_t plane = norm.plane(of.group, of.part) + of.lane;
    const float mean = with_mean ? norm.mean[place_of_set(norm, of, of.part)] : 0;
    float sums[Term::kCount] = {};
    for (int begin = 0; begin < norm.pixels; begin += ChannelNorm::kSegment) {
      const int end = Kokkos::min(begin + ChannelNorm::kSegment, norm.pixels);
      float chains[kChains][Term::kCount] = {};
      for (int p = begin; p < end; p += kChains) {
        for (int chain = 0; chain < kChains && p + chain < end; ++chain) {
          float values[Term::kCount];
          term(plane + std::int64_t{p + chain} * kLanes, mean, values);
          for (int k = 0; k < Term::kCount; ++k) chains[chain][k] += values[k];
        }
      }
      for (int k = 0; k < Term::kCount; ++k)
        sums[k] += (chains[0][k] + chains[1][k]) + (chains[2][k] + chains[3][k]);
    }
    for (int k = 0; k < Term::kCount; ++k) norm.sums[k * norm.second_sum() + i] = sums[k];
  }
};

/// What is finished for each set of each sample: [groups, sets, 16].
struct SetFinish {
  ChannelNorm norm;

  KOKKOS_INLINE_FUNCTION const float* first_sum(const LaneOf& of) const {
    const std::int64_t channel = of.group * norm.channels + of.part * norm.channels_of_set();
    return norm.sums + channel * kLanes + of.lane;
  }
  KOKKOS_INLINE_FUNCTION float sum(std::int64_t i) const {
    const float* sums = first_sum(LaneOf(i, norm.sets));
    float total = 0;
    for (int c = 0; c < norm.channels_of_set(); ++c) total += sums[c * kLanes];
    return total;
  }
};

struct SetMean : SetFinish {
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    norm.mean[i] = norm.mean_of(sum(i));
  }
};

struct SetDeviation : SetFinish {
  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    norm.inverse_std[i] = norm.inverse_std_of(sum(i));
  }
};

struct NormalizeSets {
  ChannelNorm norm;
  const float* x;
  float* y;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t channel = i / kLanes / norm.pixels;
    const LaneOf of(channel * kLanes + i % kLanes, norm.channels);
    const std::int64_t set = place_of_set(norm, of, of.part);
    const float normalized = (x[i] - norm.mean[set]) * norm.inverse_std[set];
    const float value = normalized * norm.scale[of.part] + norm.shift[of.part];
    y[i] = norm.relu && value <= 0 ? 0 : value;
  }
};

/// All elements of one lane of one channel. Each thread adds up its set again: that is little
/// beside the pixels.
struct BackwardOfPlane : SetFinish {
  const float* x;
  const float* dy;
  float* dx;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const LaneOf of(i, norm.channels);
    const std::int64_t set = place_of_set(norm, of, of.part);
    const int first = of.part / norm.channels_of_set() * norm.channels_of_set();
    const float* sums = norm.sums + (of.group * norm.channels + first) * kLanes + of.lane;
    float total = 0;
    float total_with_x = 0;
    for (int c = 0; c < norm.channels_of_set(); ++c) {
      total += sums[c * kLanes] * norm.scale[first + c];
      total_with_x += sums[norm.second_sum() + c * kLanes] * norm.scale[first + c];
    }
    const float inverse_std = norm.inverse_std[set];
    const float mean = norm.mean_of(total);
    const float slope = norm.mean_of(total_with_x) * inverse_std * inverse_std;
    const float scale = norm.scale[of.part];
    const std::int64_t plane = norm.plane(of.group, of.part) + of.lane;
    for (int p = 0; p < norm.pixels; ++p) {
      const std::int64_t at = plane + std::int64_t{p} * kLanes;
      dx[at] = (dy[at] * scale - mean - (x[at] - norm.mean[set]) * slope) * inverse_std;
    }
  }
};

/// Of one channel in one micro-block.
struct ChannelGradients {
  ChannelNorm norm;
  float* gradients;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t padded = norm.padded();
    const std::int64_t block = i / padded;
    const auto channel = static_cast<int>(i % padded);
    const std::int64_t groups = norm.block_rows / kLanes;
    float with_x[kLanes] = {};
    float alone[kLanes] = {};
    if (channel < norm.channels) {
      for (std::int64_t group = block * groups; group < (block + 1) * groups; ++group) {
        for (int l = 0; l < kLanes; ++l) {
          const LaneOf of((group * norm.channels + channel) * kLanes + l, norm.channels);
          const float* sum = norm.sums + (group * norm.channels + channel) * kLanes + l;
          with_x[l] += sum[norm.second_sum()] * norm.inverse_std[place_of_set(norm, of, channel)];
          alone[l] += sum[0];
        }
      }
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) {
        with_x[l] += with_x[l + half];
        alone[l] += alone[l + half];
      }
    }
    float* row = gradients + block * 2 * padded;
    row[channel] = with_x[0];
    row[padded + channel] = alone[0];
  }
};

template <class Term>
void add_up_planes(const ExecSpace& exec, const ChannelNorm& norm, const Term& term,
                   bool with_mean) {
  Kokkos::parallel_for("quern::layers::group_norm_statistics",
                       RangePolicy(exec, 0, norm.second_sum()),
                       PlaneSums<Term>{norm, term, with_mean});
}

template <class Finish>
void finish_sets(const ExecSpace& exec, const ChannelNorm& norm, const Finish& finish) {
  Kokkos::parallel_for("quern::layers::group_norm_means",
                       RangePolicy(exec, 0, std::int64_t{norm.rows} * norm.sets), finish);
}

void group_norm(const ExecSpace& exec, const ChannelNorm& norm, const float* x, float* y) {
  add_up_planes(exec, norm, PixelValue{x}, false);
  finish_sets(exec, norm, SetMean{{norm}});
  add_up_planes(exec, norm, PixelSquare{x}, true);
  finish_sets(exec, norm, SetDeviation{{norm}});
  Kokkos::parallel_for("quern::layers::group_norm",
                       RangePolicy(exec, 0, norm.second_sum() * norm.pixels),
                       NormalizeSets{norm, x, y});
}

void group_norm_backward(const ExecSpace& exec, const ChannelNorm& norm, const float* x,
                         const float* dy, float* dx) {
  add_up_planes(exec, norm, PixelGradient{x, dy}, true);
  if (dx == nullptr) return;
  Kokkos::parallel_for("quern::layers::group_norm_backward",
                       RangePolicy(exec, 0, norm.second_sum()), BackwardOfPlane{{norm}, x, dy, dx});
}

void group_norm_gradients(const ExecSpace& exec, const ChannelNorm& norm, float* gradients) {
  Kokkos::parallel_for("quern::layers::group_norm_gradients",
                       RangePolicy(exec, 0, norm.num_blocks() * norm.padded()),
                       ChannelGradients{norm, gradients});
}

}  // namespace

const GroupNormKernels& group_norm_kernels() {
  static constexpr GroupNormKernels kKernels = {.normalize = group_norm,
                                                .backward = group_norm_backward,
                                                .parameter_gradients = group_norm_gradients};
  return kKernels;
}

}  // namespace quern::device
