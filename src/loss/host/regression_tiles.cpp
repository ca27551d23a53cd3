// SPDX-License-Identifier: Apache-2.0
#include "loss/host/regression_tiles.hpp"

#include <algorithm>
#include <type_traits>

#include "linalg/host/operand_tiles.hpp"
#include "linalg/host/pixels.hpp"
#include "loss/host/regression_rows.hpp"
#include "tensor/operand_tiles.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

constexpr int kGroupFloats = kLanes * kLanes;
constexpr int kFetched = 64;  // units of the target at once: a cache line of pixels

static_assert(2 * kGroupFloats + 2 * kLanes + 2 * kFetched * kLanes <= OutputReader::kStateFloats);

/// [16 units][16 rows] out of a flat layout; zeros for units beyond the last.
void gather_units(const Activation& a, int row, int unit, float* to) {
  const ActivationIndex at(a);
  const int count = std::clamp(a.shape.units() - unit, 0, kLanes);
  if (count > 0) {
    const std::int64_t first = at.sixteen(row, unit);
    const std::int64_t step = at.sixteen(row + 1, unit) - first;
    simd::transpose_tile(a.data.data() + first, step, to, kLanes);
  }
  std::fill(to + count * kLanes, to + kGroupFloats, 0.0f);
}

}  // namespace

// Not in the unnamed namespace: GCC 12 would then compile all that read() calls as parts of it.
template <class Error>
class RegressionTiles final : public RegressionReader {
 public:
  explicit RegressionTiles(const Error& error) : error_(error) {}
  void begin(const LossContext& step, const LossTarget& target, const Activation& d_prediction,
             const FloatView& values, bool after_relu) override;
  void read(int tile, int unit, const float* rows, float* state) const override;

  /// After begin(): reads a prediction that a layer has written, flat.
  void read_all(const ExecSpace& exec, const char* label, const Activation& prediction) const;

 private:
  struct State;  // of a tile, in the caller's floats

  void open_tile(int tile, float* state) const;
  void close_tile(int tile, float* state) const;
  /// [16 rows of the group] of the units from `unit` on, as many as are fetched at once.
  void fetch_pixels(int row, int unit, float* wanted) const;
  void fetch_values(int row, int unit, float* wanted) const;

  Error error_;
  RegressionRows rows_ = {};
  OperandTiles to_;
  const std::uint8_t* pixels_ = nullptr;  // where there are any, of all samples
  Activation target_;                     // else of all rows
};

template <class Error>
struct RegressionTiles<Error>::State {
  float* sums;    ///< [2 groups][16 lanes][16 rows]
  float* factor;  ///< [2 groups][16 rows], of the derivative
  float* wanted;  ///< [2 groups][kFetched units][16 rows]

  explicit State(float* floats)
      : sums(floats), factor(sums + 2 * kGroupFloats), wanted(factor + 2 * kLanes) {}
};

template <class Error>
void RegressionTiles<Error>::begin(const LossContext& step, const LossTarget& target,
                                   const Activation& d_prediction, const FloatView& values,
                                   bool after_relu) {
  rows_ = {values.data(),  step.sample_of_row, step.scalars, d_prediction.shape.units(),
           Error::kFactor, after_relu};
  to_ = OperandTiles(d_prediction);
  pixels_ = target.pixels.extent(0) > 0 ? target.pixels.data() : nullptr;
  target_ = target.values;
}

template <class Error>
void RegressionTiles<Error>::open_tile(int tile, float* floats) const {
  const State state(floats);
  std::fill_n(state.sums, 2 * kGroupFloats, 0.0f);
  for (int r = 0; r < to_.groups_of(tile) * kLanes; ++r)
    state.factor[r] = rows_.derivative_factor(to_.first_group(tile) * kLanes + r);
}

template <class Error>
void RegressionTiles<Error>::fetch_pixels(int row, int unit, float* wanted) const {
  using simd::Register;
  constexpr int kRows = simd::kRegisterLanes;
  std::uint8_t copies[kLanes][kFetched];
  const std::uint8_t* rows[kLanes];
  for (int r = 0; r < kLanes; ++r) {
    const std::int64_t sample = rows_.sample_of_row(row + r);
    const std::uint8_t* from = pixels_ + std::max<std::int64_t>(sample, 0) * rows_.units + unit;
    const int count = sample < 0 ? 0 : std::clamp(rows_.units - unit, 0, kFetched);
    rows[r] = from;
    if (count == kFetched) {
      simd::prefetch(from + kFetched);
      continue;
    }
    rows[r] = copies[r];
    std::fill(std::copy(from, from + count, copies[r]), copies[r] + kFetched, std::uint8_t{0});
  }
  // Four pixels of a row travel as one lane through the transpose.
  for (int r = 0; r < kLanes; r += kRows) {
    for (int u = 0; u < kFetched; u += 4 * kRows) {
      Register quads[kRows];
      for (int l = 0; l < kRows; ++l) quads[l] = simd::load_bits(rows[r + l] + u);
      simd::transpose(quads);
      float* out = wanted + u * kLanes + r;
      for (int q = 0; q < kRows; ++q, out += 4 * kLanes) {
        simd::store(out, divide_by_255(simd::byte_of_lanes<0>(quads[q])));
        simd::store(out + kLanes, divide_by_255(simd::byte_of_lanes<1>(quads[q])));
        simd::store(out + 2 * kLanes, divide_by_255(simd::byte_of_lanes<2>(quads[q])));
        simd::store(out + 3 * kLanes, divide_by_255(simd::byte_of_lanes<3>(quads[q])));
      }
    }
  }
}

template <class Error>
void RegressionTiles<Error>::fetch_values(int row, int unit, float* wanted) const {
  for (int u = 0; u < kFetched; u += kLanes)
    gather_units(target_, row, unit + u, wanted + u * kLanes);
}

template <class Error>
void RegressionTiles<Error>::read(int tile, int unit, const float* rows, float* floats) const {
  const State state(floats);
  const int groups = to_.groups_of(tile);
  if (unit == 0) open_tile(tile, floats);
  if (unit % kFetched == 0) {
    for (int g = 0; g < groups; ++g) {
      const int row = (to_.first_group(tile) + g) * kLanes;
      float* const wanted = state.wanted + g * kFetched * kLanes;
      if (pixels_)
        fetch_pixels(row, unit, wanted);
      else
        fetch_values(row, unit, wanted);
    }
  }
  const float* const wanted = state.wanted + unit % kFetched * kLanes;
  const bool after_relu = rows_.after_relu;
  // An empty row has the derivative zero, whatever it holds.
  const auto derivative = [&](int g, int u) __attribute__((always_inline)) {
    const simd::Vector x = simd::load(rows + g * kGroupFloats + u * kLanes);
    const simd::Vector e = x - simd::load(wanted + (g * kFetched + u) * kLanes);
    const simd::Vector slope = error_.slope(e);
    float* const sum = state.sums + g * kGroupFloats + u * kLanes;
    simd::store(sum, simd::load(sum) + error_.cost(e, slope));
    const simd::Vector factor = simd::load(state.factor + g * kLanes);
    const simd::Vector d = simd::relu_backward(factor, factor * slope);
    return after_relu ? simd::relu_backward(x, d) : d;
  };
  store_gradients(
      to_, tile, unit, [&](int g, int u) __attribute__((always_inline)) {
        return UnitPair{derivative(g, u), derivative(g, u + 1)};
      });
  if (unit + kLanes == to_.units) close_tile(tile, floats);
}

template <class Error>
void RegressionTiles<Error>::close_tile(int tile, float* floats) const {
  const State state(floats);
  for (int g = 0; g < to_.groups_of(tile); ++g) {
    float* const sums = state.sums + g * kGroupFloats;
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width * kLanes; i += kLanes)
        simd::store(sums + i, simd::load(sums + i) + simd::load(sums + width * kLanes + i));
    }
    const int row = (to_.first_group(tile) + g) * kLanes;
    for (int r = 0; r < kLanes; ++r) rows_.set_value(row + r, sums[r]);
  }
}

template <class Error>
void RegressionTiles<Error>::read_all(const ExecSpace& exec, const char* label,
                                      const Activation& prediction) const {
  const RegressionTiles& reader = *this;
  const auto read_tile = [=, &reader](std::int64_t item) {
    const int tile = static_cast<int>(item);
    alignas(64) float state[kStateFloats];
    alignas(64) float rows[2 * kGroupFloats];
    for (int unit = 0; unit < reader.to_.units; unit += kLanes) {
      for (int g = 0; g < reader.to_.groups_of(tile); ++g) {
        gather_units(prediction, (reader.to_.first_group(tile) + g) * kLanes, unit,
                     rows + g * kGroupFloats);
      }
      reader.read(tile, unit, rows, state);
    }
  };
  quern::parallel_for(label, RangePolicy(exec, 0, to_.num_tiles()), read_tile);
}

void regression_in_tiles(const ExecSpace& exec, const LossContext& step,
                         const Activation& prediction, const LossTarget& target,
                         const Activation& d_prediction, const FloatView& values,
                         const RegressionOptions& options) {
  const bool pixels = target.pixels.extent(0) > 0;
  with_error_function(options.loss, [&](const auto& error) {
    RegressionTiles<std::decay_t<decltype(error)>> tiles(error);
    tiles.begin(step, target, d_prediction, values, options.after_relu);
    tiles.read_all(exec,
                   pixels ? "quern::loss::regression_pixels" : "quern::loss::regression_tiles",
                   prediction);
  });
}

std::unique_ptr<RegressionReader> make_regression_reader(const LossSpec& loss) {
  return with_error_function(loss, [](const auto& error) -> std::unique_ptr<RegressionReader> {
    return std::make_unique<RegressionTiles<std::decay_t<decltype(error)>>>(error);
  });
}

}  // namespace quern::host
