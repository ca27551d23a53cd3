// SPDX-License-Identifier: Apache-2.0
// Layer normalisation with vectors of 16 samples (nchw16n) or of 16 units of a sample (nc, cn16c).
#include <algorithm>

#include "base/ceil_div.hpp"
#include "layers/host/batch_norm_lanes.hpp"
#include "layers/layer_norm_kernels.hpp"

namespace quern::host {

namespace {

using simd::Vector;

// Rows that are computed side by side: one addition need not wait for the one before, and in cn16c
// their sixteens are neighbours.
constexpr int kRowsAtOnce = 4;

/// One group of 16 samples, or `Lines` rows.
template <bool Groups, int Lines>
struct LineTile {
  static constexpr int kChains = Groups ? SampleLines::kGroupChains : 1;

  const SampleNorm& norm;
  std::int64_t first;  // line

  std::int64_t place(int line, int sixteen) const {
    return norm.lines.place(first + line, sixteen);
  }
  int sixteens() const { return norm.lines.sixteens; }
  /// Those without padding.
  int full_sixteens() const { return Groups ? sixteens() : norm.lines.units / kLanes; }
  unsigned lanes_of_last() const { return (1u << norm.lines.units % kLanes) - 1; }

  /// Of [units]: what belongs to a sixteen.
  static Vector of_units(const float* values, int sixteen) {
    if constexpr (Groups)
      return simd::broadcast(values[sixteen]);
    else
      return simd::load(values + std::int64_t{sixteen} * kLanes);
  }
  /// Of [rows]: what belongs to a line.
  Vector of_samples(const float* values, int line) const {
    if constexpr (Groups)
      return simd::load(values + first * kLanes);
    else
      return simd::broadcast(values[first + line]);
  }
  void store(float* values, int line, Vector v) const {
    if constexpr (Groups)
      simd::store(values + first * kLanes, v);
    else
      simd::store_first(values + first + line, v, 1);
  }

  /// f of each sample's sum.
  template <class F>
  static Vector of_sums(Vector sum, const F& f) {
    if constexpr (Groups) {
      float samples[kLanes];
      simd::store(samples, sum);
      for (float& value : samples) value = f(value);
      return simd::load(samples);
    } else {
      return simd::broadcast(f(simd::sum_lanes(sum)));
    }
  }

  /// Adds term(line, sixteen, values) up along the lines, `Count` values each, without padding.
  template <int Count, class Term>
  void add_up(Vector (&sums)[Count][Lines], const Term& term) const {
    for (int begin = 0; begin < sixteens(); begin += SampleLines::kSegment) {
      Vector chains[Count][Lines][kChains] = {};
      const auto add = [&](int sixteen, int chain, auto mask) {
        QUERN_UNROLL
        for (int line = 0; line < Lines; ++line) {
          Vector values[Count];
          term(line, sixteen, values);
          for (int i = 0; i < Count; ++i) chains[i][line][chain] += mask(values[i]);
        }
      };
      const auto all = [](Vector v) { return v; };
      const int end = std::min(begin + SampleLines::kSegment, sixteens());
      const int full = std::min(end, full_sixteens());
      int sixteen = begin;
      for (; sixteen + kChains <= full; sixteen += kChains)
        for (int chain = 0; chain < kChains; ++chain) add(sixteen + chain, chain, all);
      for (int chain = 0; chain < kChains; ++chain)
        if (sixteen + chain < full) add(sixteen + chain, chain, all);
      if (full < end) {
        add(full, 0, [this](Vector v) { return simd::select_lanes(lanes_of_last(), v, Vector{}); });
      }
      for (int i = 0; i < Count; ++i)
        for (int line = 0; line < Lines; ++line) sums[i][line] += fold(chains[i][line]);
    }
  }
  static Vector fold(const Vector (&chains)[kChains]) {
    if constexpr (kChains == 1)
      return chains[0];
    else
      return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  }

  /// Stores value(line, sixteen) everywhere, zeros in the padding.
  template <class Value>
  void write(float* y, const Value& value) const {
    for (int sixteen = 0; sixteen < full_sixteens(); ++sixteen)
      for (int line = 0; line < Lines; ++line)
        simd::store(y + place(line, sixteen), value(line, sixteen));
    for (int sixteen = full_sixteens(); sixteen < sixteens(); ++sixteen)
      for (int line = 0; line < Lines; ++line)
        simd::store(y + place(line, sixteen),
                    simd::select_lanes(lanes_of_last(), value(line, sixteen), Vector{}));
  }
};

template <bool Groups, int Lines>
void normalize_tile(const LineTile<Groups, Lines>& tile, const float* x, float* y) {
  const SampleNorm& norm = tile.norm;
  const auto mean_of = [&](float sum) { return norm.mean_of(sum); };
  const auto inverse_std_of = [&](float squares) { return norm.inverse_std_of(squares); };
  Vector negative_mean[Lines];
  Vector inverse_std[Lines];
  Vector sum[1][Lines] = {};
  tile.add_up(sum, [&](int line, int sixteen, Vector* values) {
    values[0] = simd::load(x + tile.place(line, sixteen));
  });
  for (int line = 0; line < Lines; ++line) {
    const Vector mean = tile.of_sums(sum[0][line], mean_of);
    tile.store(norm.mean, line, mean);
    negative_mean[line] = negative(mean);
  }
  Vector squares[1][Lines] = {};
  tile.add_up(squares, [&](int line, int sixteen, Vector* values) {
    const Vector distance = simd::load(x + tile.place(line, sixteen)) + negative_mean[line];
    values[0] = distance * distance;
  });
  for (int line = 0; line < Lines; ++line) {
    inverse_std[line] = tile.of_sums(squares[0][line], inverse_std_of);
    tile.store(norm.inverse_std, line, inverse_std[line]);
  }
  tile.write(y, [&](int line, int sixteen) {
    const Vector distance = simd::load(x + tile.place(line, sixteen)) + negative_mean[line];
    const Vector value = distance * inverse_std[line] * tile.of_units(norm.scale, sixteen) +
                         tile.of_units(norm.shift, sixteen);
    return norm.relu ? simd::relu(value) : value;
  });
}

// With g = dy scale: dx = (g - mean of g - (x - mean) slope) inverse_std.
template <bool Groups, int Lines>
void backward_of_tile(const LineTile<Groups, Lines>& tile, const float* x, const float* dy,
                      float* dx) {
  const SampleNorm& norm = tile.norm;
  const auto mean_of = [&](float sum) { return norm.mean_of(sum); };
  Vector negative_mean[Lines];
  for (int line = 0; line < Lines; ++line)
    negative_mean[line] = negative(tile.of_samples(norm.mean, line));
  const auto gradient = [&](int line, int sixteen) {
    return simd::load(dy + tile.place(line, sixteen)) * tile.of_units(norm.scale, sixteen);
  };
  const auto distance = [&](int line, int sixteen) {
    return simd::load(x + tile.place(line, sixteen)) + negative_mean[line];
  };
  Vector sums[2][Lines] = {};
  tile.add_up(sums, [&](int line, int sixteen, Vector* values) {
    values[0] = gradient(line, sixteen);
    values[1] = values[0] * distance(line, sixteen);
  });
  Vector inverse_std[Lines];
  Vector mean[Lines];
  Vector slope[Lines];  // both negative
  for (int line = 0; line < Lines; ++line) {
    inverse_std[line] = tile.of_samples(norm.inverse_std, line);
    mean[line] = negative(tile.of_sums(sums[0][line], mean_of));
    slope[line] =
        negative(tile.of_sums(sums[1][line], mean_of) * inverse_std[line] * inverse_std[line]);
  }
  tile.write(dx, [&](int line, int sixteen) {
    return (gradient(line, sixteen) + mean[line] + distance(line, sixteen) * slope[line]) *
           inverse_std[line];
  });
}

/// Calls compute(tile) for all lines.
template <class Compute>
void for_each_tile(const ExecSpace& exec, const char* label, const SampleNorm& norm,
                   const Compute& compute) {
  const std::int64_t lines = norm.lines.lines;
  if (norm.lines.are_groups) {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, lines), [=](std::int64_t group) {
      compute(LineTile<true, 1>{norm, group});
    });
    return;
  }
  Kokkos::parallel_for(label, RangePolicy(exec, 0, ceil_div(lines, kRowsAtOnce)),
                       [=](std::int64_t i) {
                         const std::int64_t first = i * kRowsAtOnce;
                         if (first + kRowsAtOnce <= lines)
                           compute(LineTile<false, kRowsAtOnce>{norm, first});
                         else
                           for (std::int64_t line = first; line < lines; ++line)
                             compute(LineTile<false, 1>{norm, line});
                       });
}

/// Sums of a parameter's gradients over samples.
struct ParameterSums {
  Vector with_x{};
  Vector alone{};

  void add(Vector x, Vector negative_mean, Vector inverse_std, Vector dy) {
    with_x += dy * ((x + negative_mean) * inverse_std);
    alone += dy;
  }
};

/// Sixteen units of one block, in rows.
void unit_gradients_of_rows(const SampleNorm& norm, std::int64_t block, int sixteen, const float* x,
                            const float* dy, float* with_x, float* alone) {
  ParameterSums sums;
  for (std::int64_t row = block * norm.block_rows; row < (block + 1) * norm.block_rows; ++row) {
    const std::int64_t at = norm.lines.place(row, sixteen);
    sums.add(simd::load(x + at), simd::broadcast(-norm.mean[row]),
             simd::broadcast(norm.inverse_std[row]), simd::load(dy + at));
  }
  const int count = norm.lines.units - sixteen * kLanes;
  store_channels(with_x, sums.with_x, count);
  store_channels(alone, sums.alone, count);
}

/// The same in groups of samples.
void unit_gradients_of_groups(const SampleNorm& norm, std::int64_t block, int first, const float* x,
                              const float* dy, float* with_x, float* alone) {
  const std::int64_t groups = norm.block_rows / kLanes;
  Vector sums_with_x[kLanes] = {};
  Vector sums_alone[kLanes] = {};
  for (int u = 0; u < kLanes && first + u < norm.lines.units; ++u) {
    ParameterSums sums;
    for (std::int64_t group = block * groups; group < (block + 1) * groups; ++group) {
      const std::int64_t at = norm.lines.place(group, first + u);
      sums.add(simd::load(x + at), negative(simd::load(norm.mean + group * kLanes)),
               simd::load(norm.inverse_std + group * kLanes), simd::load(dy + at));
    }
    sums_with_x[u] = sums.with_x;
    sums_alone[u] = sums.alone;
  }
  simd::sum_lanes<kLanes>(sums_with_x, with_x);
  simd::sum_lanes<kLanes>(sums_alone, alone);
}

std::int64_t no_workspace(int /*units*/, int /*rows*/) {
  return 0;
}

void normalize_samples(const ExecSpace& exec, const SampleNorm& norm, const float* x, float* y,
                       float* /*workspace*/) {
  for_each_tile(exec, "quern::layers::layer_norm", norm,
                [=](const auto& tile) { normalize_tile(tile, x, y); });
}

void sample_norm_gradients(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                           const float* dy, float* gradients) {
  const std::int64_t padded = norm.padded();
  const std::int64_t parts = padded / kLanes;
  Kokkos::parallel_for("quern::layers::layer_norm_gradients",
                       RangePolicy(exec, 0, norm.num_blocks() * parts), [=](std::int64_t i) {
                         const std::int64_t block = i / parts;
                         const int part = static_cast<int>(i % parts);
                         float* row = gradients + block * 2 * padded + std::int64_t{part} * kLanes;
                         if (norm.lines.are_groups)
                           unit_gradients_of_groups(norm, block, part * kLanes, x, dy, row,
                                                    row + padded);
                         else
                           unit_gradients_of_rows(norm, block, part, x, dy, row, row + padded);
                       });
}

void sample_norm_backward(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                          const float* dy, float* dx, float* /*workspace*/) {
  for_each_tile(exec, "quern::layers::layer_norm_backward", norm,
                [=](const auto& tile) { backward_of_tile(tile, x, dy, dx); });
}

}  // namespace

const LayerNormKernels& layer_norm_kernels() {
  static constexpr LayerNormKernels kKernels = {.workspace_floats = no_workspace,
                                                .normalize = normalize_samples,
                                                .parameter_gradients = sample_norm_gradients,
                                                .input_gradient = sample_norm_backward};
  return kKernels;
}

}  // namespace quern::host
