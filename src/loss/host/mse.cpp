// SPDX-License-Identifier: Apache-2.0
#include "loss/mse_kernels.hpp"

#include <algorithm>

#include "linalg/host/operand_tiles.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

struct MseArrays {
  const float* prediction;
  const float* target;
  float* d_prediction;  ///< or null
  float* values;        ///< [rows, Loss::kColumns]
  View<const std::int64_t> sample_of_row;
  StepScalarsView scalars;
  int units;
  bool after_relu;  ///< the gradient is that in front of the ReLU that the prediction comes out of

  /// 0 in an empty row.
  float derivative_factor(std::int64_t row) const {
    return sample_of_row(row) >= 0 ? 2 * scalars().inverse_count / static_cast<float>(units) : 0;
  }
  /// Overwrites dx; `factor` as of derivative_factor(), of each lane. Zero where it is zero,
  /// whatever an empty row holds. What all lanes share is asked outside of the loops: inside, GCC
  /// 12 builds the mask of a vector from it bit by bit.
  void set_derivatives(const float* KOKKOS_RESTRICT x, const float* KOKKOS_RESTRICT t,
                       const float* KOKKOS_RESTRICT factor, float* KOKKOS_RESTRICT dx) const {
    if (after_relu) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l)
        dx[l] = ((factor[l] == 0) | (x[l] <= 0)) ? 0 : factor[l] * (x[l] - t[l]);
    } else {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) dx[l] = factor[l] == 0 ? 0 : factor[l] * (x[l] - t[l]);
    }
  }
  void set_value(std::int64_t row, float sum) const {
    const bool filled = sample_of_row(row) >= 0;
    values[row * Loss::kColumns + Loss::kLoss] = filled ? sum / static_cast<float>(units) : 0;
    values[row * Loss::kColumns + Loss::kCorrect] = 0;
  }
};

/// Some rows in nc or cn16c: lane l of a row sums the units l, l + 16, ..., then the lanes are
/// added as a tree. The rows go through the units side by side: a processor fetches ahead along a
/// panel, not from panel to panel.
struct MseFlat : MseArrays {
  ActivationIndex at;
  int num_rows;
  int item_rows;  ///< of one work item, at most kMaxRows

  static constexpr int kMaxRows = 128;

  int num_items() const { return (num_rows + item_rows - 1) / item_rows; }

  void operator()(std::int64_t item) const {
    const std::int64_t first = item * item_rows;
    const int rows = num_rows - first < item_rows ? static_cast<int>(num_rows - first) : item_rows;
    float factor[kMaxRows];
    float sum[kMaxRows][kLanes] = {};
    for (int s = 0; s < rows; ++s) factor[s] = derivative_factor(first + s);
    const int whole = units / kLanes * kLanes;
    for (int u = 0; u < whole; u += kLanes)
      for (int s = 0; s < rows; ++s) {
        const std::int64_t i = at.sixteen(first + s, u);
        add(prediction + i, target + i, d_prediction ? d_prediction + i : nullptr, factor[s],
            sum[s]);
      }
    for (int s = 0; s < rows; ++s) {
      if (whole < units) {
        const std::int64_t i = at.sixteen(first + s, whole);
        add_last(i, d_prediction ? d_prediction + i : nullptr, factor[s], sum[s]);
      }
      set_sum(first + s, sum[s]);
    }
  }

  void set_sum(std::int64_t row, float* sum) const {
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
    set_value(row, sum[0]);
  }

  /// The last units, from element i on. The padding counts as 0 - 0.
  void add_last(std::int64_t i, float* dx, float factor, float* sum) const {
    float x[kLanes] = {};
    float t[kLanes] = {};
    for (int l = 0; l < units % kLanes; ++l) {
      x[l] = prediction[i + l];
      t[l] = target[i + l];
    }
    add(x, t, dx, factor, sum);
  }

  /// Sixteen units of a row.
  void add(const float* KOKKOS_RESTRICT x, const float* KOKKOS_RESTRICT t,
           float* KOKKOS_RESTRICT dx, float factor, float* KOKKOS_RESTRICT sum) const {
    QUERN_VECTORIZE
    for (int l = 0; l < kLanes; ++l) {
      const float error = x[l] - t[l];
      sum[l] += error * error;
    }
    if (!dx) return;
    if (factor == 0) {
      std::fill_n(dx, kLanes, 0.0f);
    } else if (after_relu) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) dx[l] = x[l] <= 0 ? 0 : factor * (x[l] - t[l]);
    } else {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) dx[l] = factor * (x[l] - t[l]);
    }
  }
};

/// The same with the gradient in tiles. A work item is some sample tiles.
struct MseTiles : MseFlat {
  OperandTiles to;
  int item_tiles;  ///< of one work item, at most kMaxTiles

  static constexpr int kMaxTiles = kMaxRows / OperandTiles::kDepth;

  int num_items() const { return (to.num_tiles() + item_tiles - 1) / item_tiles; }

  void operator()(std::int64_t item) const {
    const int first = static_cast<int>(item) * item_tiles;
    const int last = std::min(first + item_tiles, to.num_tiles());
    float factor[kMaxRows];
    float sum[kMaxRows][kLanes] = {};
    const auto for_each_group = [&](const auto& f) {
      for (int tile = first; tile < last; ++tile)
        for (int g = 0; g < to.groups_of(tile); ++g)
          f(tile, g, (to.first_group(tile) + g) * kLanes, (2 * (tile - first) + g) * kLanes);
    };
    for_each_group([&](int, int, int row, int s) {
      for (int r = 0; r < kLanes; ++r) factor[s + r] = derivative_factor(row + r);
    });
    for (int u = 0; u < to.units; u += kLanes) {
      for_each_group([&](int tile, int g, int row, int s) {
        alignas(64) float dx[kLanes * kLanes];
        if (u >= units) std::fill_n(dx, kLanes * kLanes, 0.0f);
        for (int r = 0; r < kLanes; ++r) {
          const std::int64_t i = at.sixteen(row + r, u);
          float* const to_row = dx + r * kLanes;
          if (u + kLanes <= units)
            add(prediction + i, target + i, to_row, factor[s + r], sum[s + r]);
          else if (u < units)
            add_last(i, to_row, factor[s + r], sum[s + r]);
        }
        store_gradient_rows(to, tile, g, u, dx);
        if (to.groups_of(tile) == 1) store_no_gradient_rows(to, tile, u);
      });
    }
    for_each_group([&](int, int, int row, int s) {
      for (int r = 0; r < kLanes; ++r) set_sum(row + r, sum[s + r]);
    });
  }
};

/// One group of 16 rows in nchw16n: every lane sums its own units in order.
struct MseLanes : MseArrays {
  void operator()(std::int64_t group) const {
    const std::int64_t begin = group * units * kLanes;
    float factor[kLanes];
    float sum[kLanes] = {};
    for (int l = 0; l < kLanes; ++l) factor[l] = derivative_factor(group * kLanes + l);
    for (std::int64_t i = begin; i < begin + std::int64_t{units} * kLanes; i += kLanes) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float error = prediction[i + l] - target[i + l];
        sum[l] += error * error;
      }
      if (d_prediction) set_derivatives(prediction + i, target + i, factor, d_prediction + i);
    }
    for (int l = 0; l < kLanes; ++l) set_value(group * kLanes + l, sum[l]);
  }
};

}  // namespace

void mse(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
         const LossTarget& target, const Activation& d_prediction, const FloatView& values,
         bool after_relu) {
  const MseArrays arrays{prediction.data.data(),   target.values.data.data(),
                         d_prediction.data.data(), values.data(),
                         step.sample_of_row,       step.scalars,
                         prediction.shape.units(), after_relu};
  if (prediction.layout != Layout::nchw16n) {
    const int threads = exec.concurrency();
    const auto share = [&](int count, int most) {
      return std::min(most, (count + threads - 1) / threads);
    };
    const MseFlat kernel{arrays, ActivationIndex(prediction), prediction.rows,
                         share(prediction.rows, MseFlat::kMaxRows)};
    if (d_prediction.layout == Layout::tiles && !d_prediction.empty()) {
      const OperandTiles tiles(d_prediction);
      const MseTiles in_tiles{kernel, tiles, share(tiles.num_tiles(), MseTiles::kMaxTiles)};
      quern::parallel_for("quern::loss::mse_tiles", RangePolicy(exec, 0, in_tiles.num_items()),
                          in_tiles);
      return;
    }
    quern::parallel_for("quern::loss::mse_flat", RangePolicy(exec, 0, kernel.num_items()), kernel);
  } else {
    quern::parallel_for("quern::loss::mse_lanes", RangePolicy(exec, 0, prediction.rows / kLanes),
                        MseLanes{arrays});
  }
}

}  // namespace quern::host
