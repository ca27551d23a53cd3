// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/ceil_div.hpp"
#include "linalg/host/pixels.hpp"
#include "loss/host/regression_rows.hpp"
#include "loss/host/regression_tiles.hpp"
#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

struct RegressionArrays : RegressionRows {
  const float* prediction;
  float* d_prediction;  ///< or null

  /// Overwrites dx, which may be x; `factor` as of derivative_factor(), of each lane. Zero where it
  /// is zero, whatever an empty row holds. What all lanes share is asked outside of the loops:
  /// inside, GCC 12 builds the mask of a vector from it bit by bit.
  template <class Error>
  void set_derivatives(const Error& error, const float* x, const float* t, const float* factor,
                       float* dx) const {
    if (after_relu) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l)
        dx[l] = ((factor[l] == 0) | (x[l] <= 0)) ? 0 : factor[l] * error.slope(x[l] - t[l]);
    } else {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l)
        dx[l] = factor[l] == 0 ? 0 : factor[l] * error.slope(x[l] - t[l]);
    }
  }
};

constexpr int kMaxRows = 128;  // of a work item

/// The first `count` numbers from p on, then zeros.
simd::Vector load_first(const float* p, int count) {
  float numbers[kLanes] = {};
  std::copy(p, p + count, numbers);
  return simd::load(numbers);
}

/// An activation laid out as the prediction.
struct ValueTarget {
  const float* values;
  int units;

  /// What the rows of a work item are compared with.
  struct Rows {
    const ValueTarget& target;

    explicit Rows(const ValueTarget& of) : target(of) {}
    void set(int, std::int64_t) {}
    /// Sixteen units of row s of the item, element i of the prediction on.
    simd::Vector sixteen(int, int, std::int64_t i) const { return simd::load(target.values + i); }
    /// The last units, fewer than sixteen, then zeros.
    simd::Vector last(int, int, std::int64_t i) const {
      return load_first(target.values + i, target.units % kLanes);
    }
  };
};

/// The pixels of each row's sample; zeros where there is none.
struct PixelTarget {
  const std::uint8_t* pixels;
  const std::int64_t* sample_of_row;
  int units;

  struct Rows {
    static constexpr int kCacheLine = 64;

    const PixelTarget& target;
    const std::uint8_t* samples[kMaxRows];

    explicit Rows(const PixelTarget& of) : target(of) {}
    void set(int s, std::int64_t row) {
      const std::int64_t sample = target.sample_of_row[row];
      samples[s] = sample < 0 ? nullptr : target.pixels + sample * target.units;
    }
    simd::Vector sixteen(int s, int unit, std::int64_t) const {
      const std::uint8_t* from = samples[s];
      if (!from) return simd::Vector{};
      // A processor fetches ahead by itself only where there are few rows.
      if (unit % kCacheLine == 0) simd::prefetch(from + unit + kCacheLine);
      return load_floats(from + unit);
    }
    simd::Vector last(int s, int unit, std::int64_t) const {
      std::uint8_t bytes[kLanes] = {};
      if (samples[s]) std::copy(samples[s] + unit, samples[s] + target.units, bytes);
      return load_floats(bytes);
    }
  };
};

/// Some rows in nc or cn16c: lane l of a row sums the units l, l + 16, ..., then the lanes are
/// added as a tree. The rows go through the units side by side: a processor fetches ahead along a
/// panel, not from panel to panel.
template <class Error, class Target>
struct RegressionFlat : RegressionArrays {
  Error error;
  Target target;
  ActivationIndex at;
  int num_rows;
  int item_rows;  ///< of one work item, at most kMaxRows

  int num_items() const { return ceil_div(num_rows, item_rows); }

  void operator()(std::int64_t item) const {
    const std::int64_t first = item * item_rows;
    const int rows = num_rows - first < item_rows ? static_cast<int>(num_rows - first) : item_rows;
    float factor[kMaxRows];
    alignas(64) float sum[kMaxRows][kLanes] = {};
    typename Target::Rows wanted(target);
    for (int s = 0; s < rows; ++s) {
      factor[s] = derivative_factor(first + s);
      wanted.set(s, first + s);
    }
    const int whole = units / kLanes * kLanes;
    for (int u = 0; u < whole; u += kLanes)
      for (int s = 0; s < rows; ++s) {
        const std::int64_t i = at.sixteen(first + s, u);
        add(simd::load(prediction + i), wanted.sixteen(s, u, i),
            d_prediction ? d_prediction + i : nullptr, factor[s], sum[s]);
      }
    for (int s = 0; s < rows; ++s) {
      if (whole < units) {
        const std::int64_t i = at.sixteen(first + s, whole);
        add(load_first(prediction + i, units % kLanes), wanted.last(s, whole, i),
            d_prediction ? d_prediction + i : nullptr, factor[s], sum[s]);
      }
      set_sum(first + s, sum[s]);
    }
  }

  void set_sum(std::int64_t row, float* sum) const {
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) sum[l] += sum[l + width];
    set_value(row, sum[0]);
  }

  /// Sixteen units of a row; padding counts as 0 - 0. Zero where the factor is, whatever an empty
  /// row holds.
  void add(simd::Vector x, simd::Vector t, float* dx, float factor, float* sum) const {
    const simd::Vector e = x - t;
    const simd::Vector slope = error.slope(e);
    simd::store(sum, simd::load(sum) + error.cost(e, slope));
    if (!dx) return;
    simd::Vector d{};
    if (factor != 0) d = simd::broadcast(factor) * slope;
    if (after_relu) d = simd::relu_backward(x, d);
    simd::store(dx, d);
  }
};

/// One group of 16 rows in nchw16n: every lane sums its own units in order.
template <class Error>
struct RegressionLanes : RegressionArrays {
  Error error;
  const float* target;

  void operator()(std::int64_t group) const {
    const std::int64_t begin = group * units * kLanes;
    float factor[kLanes];
    float sum[kLanes] = {};
    for (int l = 0; l < kLanes; ++l) factor[l] = derivative_factor(group * kLanes + l);
    for (std::int64_t i = begin; i < begin + std::int64_t{units} * kLanes; i += kLanes) {
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float e = prediction[i + l] - target[i + l];
        sum[l] += error.cost(e, error.slope(e));
      }
      if (d_prediction)
        set_derivatives(error, prediction + i, target + i, factor, d_prediction + i);
    }
    for (int l = 0; l < kLanes; ++l) set_value(group * kLanes + l, sum[l]);
  }
};

bool is_in_tiles(const Activation& d_prediction) {
  return d_prediction.layout == Layout::tiles && !d_prediction.empty();
}

template <class Error, class Target>
void launch_flat(const ExecSpace& exec, const char* label, const RegressionArrays& arrays,
                 const Error& error, const Target& target, const Activation& prediction) {
  const int item_rows = std::min(kMaxRows, ceil_div(prediction.rows, exec.concurrency()));
  const RegressionFlat<Error, Target> kernel{
      arrays, error, target, ActivationIndex(prediction), prediction.rows, item_rows};
  quern::parallel_for(label, RangePolicy(exec, 0, kernel.num_items()), kernel);
}

template <class Error>
void evaluate(const ExecSpace& exec, const LossContext& step, const Error& error,
              const Activation& prediction, const LossTarget& target,
              const Activation& d_prediction, const FloatView& values, bool after_relu) {
  const int units = prediction.shape.units();
  const float* const wanted = target.values.data.data();
  const RegressionArrays arrays{
      {values.data(), step.sample_of_row, step.scalars, units, Error::kFactor, after_relu},
      prediction.data.data(),
      d_prediction.data.data()};
  if (prediction.layout == Layout::nchw16n) {
    quern::parallel_for("quern::loss::regression_lanes",
                        RangePolicy(exec, 0, prediction.rows / kLanes),
                        RegressionLanes<Error>{arrays, error, wanted});
  } else if (target.pixels.extent(0) > 0) {
    const PixelTarget bytes{target.pixels.data(), step.sample_of_row.data(), units};
    launch_flat(exec, "quern::loss::regression_pixels", arrays, error, bytes, prediction);
  } else {
    launch_flat(exec, "quern::loss::regression_flat", arrays, error, ValueTarget{wanted, units},
                prediction);
  }
}

}  // namespace

void regression(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                const LossTarget& target, const Activation& d_prediction, const FloatView& values,
                const RegressionOptions& options) {
  if (is_in_tiles(d_prediction)) {
    regression_in_tiles(exec, step, prediction, target, d_prediction, values, options);
    return;
  }
  with_error_function(options.loss, [&](const auto& error) {
    evaluate(exec, step, error, prediction, target, d_prediction, values, options.after_relu);
  });
}

}  // namespace quern::host
