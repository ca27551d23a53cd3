// SPDX-License-Identifier: Apache-2.0
// Convolutions of few samples: a vector holds 16 channels of one sample, where those of
// conv2d_tiles.hpp hold one channel of 16 samples, most of them empty. Activations stay as they
// are, in Layout::nchw16n: what a work item reads is copied sample by sample to a panel, what it
// computes is transposed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ceil_div.hpp"
#include "layers/host/conv2d_panels.hpp"
#include "linalg/host/simd_transpose.hpp"

namespace quern::host {

/// Tiles have up to kFewRows rows (pixels of samples) of up to kFewVectors vectors of channels.
inline constexpr int kFewVectors = std::max(1, simd::kVectors / 2);
inline constexpr int kFewRows = simd::kTallRows;

constexpr int count_vectors(int channels) {
  return ceil_div(channels, kLanes);
}

/// Rows and columns of the planes of a group, which may lie outside, and the first `samples` of its
/// samples. Columns are apart by phases where a kernel of several columns has a stride: the
/// neighbours of a phase are a stride apart.
struct SampleWindow {
  int samples;
  int row;
  int rows;
  int row_step;
  int column;
  int columns;  ///< of a phase
  int step;
  int phases;

  std::int64_t phase_floats() const { return std::int64_t{samples} * columns; }
  std::int64_t row_floats() const { return phases * phase_floats(); }
  std::int64_t plane_floats() const { return rows * row_floats(); }
  /// Vectors are stored whole: the last one reaches beyond the end.
  std::int64_t floats(int channels) const { return channels * plane_floats() + kLanes; }
};

/// Copies the window to panel [channels, rows, phases, columns, samples], zero outside.
inline void copy_samples(const Planes& planes, const SampleWindow& window, float* panel) {
  const int samples = window.samples;
  const std::int64_t step = std::int64_t{kLanes} * window.step;
  for (int c = 0; c < planes.channels; ++c) {
    for (int r = 0; r < window.rows; ++r) {
      const int h = window.row + r * window.row_step;
      if (h < 0 || h >= planes.height) {
        panel = std::fill_n(panel, window.row_floats(), 0.0f);
        continue;
      }
      const float* row = planes.row(c, h);
      for (int phase = 0; phase < window.phases; ++phase) {
        const int first = window.column + phase;
        const auto columns_before = [&](int w) {
          return std::clamp((w - first + window.step - 1) / window.step, 0, window.columns);
        };
        const int before = first < 0 ? columns_before(0) : 0;
        const int end =
            first < planes.width ? std::max(before, columns_before(planes.width)) : before;
        panel = std::fill_n(panel, std::int64_t{samples} * before, 0.0f);
        const float* from = row + std::int64_t{kLanes} * (first + before * window.step);
        for (int k = before; k < end; ++k, from += step, panel += samples)
          simd::store(panel, simd::load(from));
        panel = std::fill_n(panel, std::int64_t{samples} * (window.columns - end), 0.0f);
      }
    }
  }
}

/// Transposes rows [rows, columns] of `row_floats` floats each, at most 16, to [columns, 16]; zero
/// where there is no row.
inline void pack_columns(const float* from, std::int64_t row_floats, int rows, int columns,
                         float* to) {
  int begin = 0;
  if (rows == kLanes) {
    for (; begin + kLanes <= columns; begin += kLanes)
      simd::transpose_tile(from + begin, row_floats, to + std::int64_t{kLanes} * begin, kLanes);
  }
  for (int column = begin; column < columns; ++column) {
    float* packed = to + std::int64_t{kLanes} * column;
    for (int row = 0; row < kLanes; ++row)
      packed[row] = row < rows ? from[row * row_floats + column] : 0.0f;
  }
}

/// Transposes `columns` pixels of 16 channels, rows [columns, Samples, 16], to lanes of samples:
/// store(channel, column, vector) for the first `channels`. Empty lanes become 0.
template <int Samples, class Store>
inline void spread_samples(const float* rows, int columns, int channels, Store&& store) {
  constexpr int kBlock = simd::kRegisterLanes;
  using simd::Register;
  for (int column = 0; column < columns; ++column, rows += Samples * kLanes) {
    for (int j = 0; j < channels; j += kBlock) {
      for (int i = 0; i < kLanes; i += kBlock) {
        Register block[kBlock];
        for (int r = 0; r < kBlock; ++r)
          block[r] =
              i + r < Samples ? simd::load<Register>(rows + (i + r) * kLanes + j) : Register{};
        if (i < Samples) simd::transpose(block);
        const int count = std::min(kBlock, channels - j);
        QUERN_UNROLL
        for (int r = 0; r < kBlock; ++r)
          if (r < count) store(j + r, column, i, block[r]);
      }
    }
  }
}

}  // namespace quern::host
