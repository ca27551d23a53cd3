// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "loss/cross_entropy_kernels.hpp"

#include <algorithm>

#include "linalg/host/simd_transpose.hpp"
#include "tensor/chunks.hpp"
#include "tensor/exp.hpp"
#include "tensor/log.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

/// Sixteen classes of sixteen rows: [class][row].
using Tile = float[kLanes][kLanes];

/// Sixteen rows side by side: every lane does what the formula says for its own row.
template <class Targets>
struct CrossEntropyGroup {
  const float* logits;  ///< in nc or cn16c
  float* d_logits;      ///< laid out alike, or null
  float* values;        ///< [num_rows, Loss::kColumns]
  const std::int64_t* sample_of_row;
  const std::int32_t* labels;
  const StepScalars* scalars;
  ActivationIndex at;
  int num_rows;
  Targets targets;

  static constexpr int kNoLabel = -1;

  int classes() const { return static_cast<int>(at.units); }
  int rows_of(std::int64_t first) const {
    return static_cast<int>(std::min<std::int64_t>(kLanes, num_rows - first));
  }

  void operator()(std::int64_t group) const {
    const std::int64_t first = group * kLanes;
    int label[kLanes];
    find_labels(first, label);
    float largest[kLanes];
    int best[kLanes];
    find_largest(first, largest, best);
    float total[kLanes] = {};
    float below[kLanes] = {};
    sum_powers(first, largest, total, below);
    if (d_logits) set_gradient(first, total, label);
    set_values(first, total, below, largest, best, label);
  }

  /// kNoLabel in empty rows and where there is no such class.
  void find_labels(std::int64_t first, int* label) const {
    for (int l = 0; l < kLanes; ++l) {
      const std::int64_t sample = l < rows_of(first) ? sample_of_row[first + l] : -1;
      const std::int32_t wanted = sample >= 0 ? labels[sample] : kNoLabel;
      label[l] = wanted >= 0 && wanted < classes() ? wanted : kNoLabel;
    }
  }

  /// The classes `begin` to `begin` + 15; what is after the last one is not specified.
  void load_tile(const float* from, std::int64_t first, int begin, Tile& tile) const {
    for (int l = 0; l < rows_of(first); ++l)
      simd::store(tile[l], simd::load(from + at.sixteen(first + l, begin)));
    for (int l = rows_of(first); l < kLanes; ++l) simd::store(tile[l], simd::Vector{});
    simd::transpose_tile(tile);
  }

  void store_tile(Tile& tile, std::int64_t first, int begin) const {
    simd::transpose_tile(tile);
    for (int l = 0; l < rows_of(first); ++l)
      simd::store(d_logits + at.sixteen(first + l, begin), simd::load(tile[l]));
  }

  void find_largest(std::int64_t first, float* largest, int* best) const {
    for (int begin = 0; begin < classes(); begin += kLanes) {
      Tile tile;
      load_tile(logits, first, begin, tile);
      if (begin == 0) {
        std::copy_n(tile[0], kLanes, largest);
        std::fill_n(best, kLanes, 0);
      }
      for (int v = 0; v < std::min(kLanes, classes() - begin); ++v) {
        QUERN_VECTORIZE
        for (int l = 0; l < kLanes; ++l) {
          const bool larger = tile[v][l] > largest[l];
          best[l] = larger ? begin + v : best[l];
          largest[l] = larger ? tile[v][l] : largest[l];
        }
      }
    }
  }

  /// Sums exp(logit - largest) and the terms of largest - logit in the order of the classes; the
  /// gradient keeps the powers.
  void sum_powers(std::int64_t first, const float* largest, float* total, float* below) const {
    for (int begin = 0; begin < classes(); begin += kLanes) {
      Tile tile;
      load_tile(logits, first, begin, tile);
      for (int v = 0; v < std::min(kLanes, classes() - begin); ++v) {
        QUERN_VECTORIZE
        for (int l = 0; l < kLanes; ++l) {
          below[l] += targets.term(begin + v, largest[l] - tile[v][l]);
          tile[v][l] = exp_normal(tile[v][l] - largest[l]);
          total[l] += tile[v][l];
        }
      }
      if (d_logits) store_tile(tile, first, begin);
    }
  }

  /// From exp(logit - largest) to (softmax - target) / samples; 0 without a label and in
  /// the padding.
  void set_gradient(std::int64_t first, const float* total, const int* label) const {
    const float inverse_count = scalars->inverse_count;
    float whole[kLanes];
    for (int l = 0; l < kLanes; ++l) whole[l] = label[l] == kNoLabel ? 1 : targets.whole(label[l]);
    for (int begin = 0; begin < classes(); begin += kLanes) {
      Tile tile;
      load_tile(d_logits, first, begin, tile);
      const int filled = std::min(kLanes, classes() - begin);
      for (int v = 0; v < filled; ++v) {
        const float of_label = targets.of_label(begin + v);
        const float of_other = targets.of_other(begin + v);
        QUERN_VECTORIZE
        for (int l = 0; l < kLanes; ++l) {
          const float power = tile[v][l];
          const float target = begin + v == label[l] ? of_label : of_other;
          const float numerator = whole[l] * power - target * total[l];
          const float derivative = numerator / total[l] * inverse_count;
          tile[v][l] = label[l] == kNoLabel ? 0 : derivative;
        }
      }
      for (int v = filled; v < kLanes; ++v) std::fill_n(tile[v], kLanes, 0.0f);
      store_tile(tile, first, begin);
    }
  }

  void set_values(std::int64_t first, const float* total, const float* below, const float* largest,
                  const int* best, const int* label) const {
    float log_total[kLanes];
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) log_total[l] = log_normal(total[l]);
    for (int l = 0; l < rows_of(first); ++l) {
      const std::int64_t row = first + l;
      float* value = values + row * Loss::kColumns;
      value[Loss::kCorrect] = best[l] == label[l] ? 1.0f : 0.0f;
      if (label[l] != kNoLabel)
        value[Loss::kLoss] =
            targets.loss(label[l], log_total[l], largest[l] - logits[at(row, label[l])], below[l]);
      else  // a sample without a label of ours cannot be learnt
        value[Loss::kLoss] =
            sample_of_row[row] >= 0 ? Kokkos::Experimental::quiet_NaN_v<float> : 0.0f;
    }
  }
};

}  // namespace

void cross_entropy(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const FloatView& values, const CrossEntropyOptions& options) {
  const std::int64_t groups = ceil_div(prediction.rows, kLanes);
  options.with_targets([&]<class Targets>(const Targets& targets) {
    const CrossEntropyGroup<Targets> kernel{
        prediction.data.data(),      d_prediction.data.data(), values.data(),
        step.sample_of_row.data(),   target.labels.data(),     step.scalars.data(),
        ActivationIndex(prediction), prediction.rows,          targets};
    quern::parallel_for("quern::loss::cross_entropy", RangePolicy(exec, 0, groups), kernel);
  });
}

}  // namespace quern::host
