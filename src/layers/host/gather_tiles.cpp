// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather_tiles.hpp"

#include <algorithm>

#include "layers/host/pixels.hpp"
#include "linalg/host/simd_bf16.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/operand_tiles.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

/// A work item is a sample tile.
template <class T>
struct GatherTiles {
  static constexpr int kUnits = OperandTiles::kDepth;
  /// Units that are gathered before they are transposed: neighbouring bytes of a sample follow each
  /// other, as memory likes it, and 16 rows of pairs fit into the first-level cache.
  static constexpr int kSpan = 512;
  static constexpr int kRowFloats = kSpan / 2 + kLanes;  ///< of pairs; rows apart in the cache
  static constexpr int kRowsAtOnce = 4;  ///< several wait for memory at the same time

  const T* data;                      ///< [N, units]
  const std::int64_t* sample_of_row;  ///< [rows]
  const Window* windows;              ///< [rows], or null
  Shape shape;
  OperandTiles y;

  void operator()(std::int64_t item) const {
    const int tile = static_cast<int>(item);
    for (int unit = 0; unit < y.units; unit += kSpan) {
      const int end = std::min(unit + kSpan, y.units);
      for (int g = 0; g < y.groups_of(tile); ++g) gather_group(y.first_group(tile) + g, unit, end);
      turn(tile, unit, end);
    }
  }

  /// by_unit of a group's units [begin, end): pairs of units of 16 samples, from rows of pairs.
  void gather_group(int group, int begin, int end) const {
    alignas(64) float pairs[kLanes * kRowFloats];
    for (int r = 0; r < kLanes; r += kRowsAtOnce) {
      for (int unit = begin; unit < end; unit += kUnits) {
        fetch(group * kLanes + r + kRowsAtOnce, unit);
        for (int s = r; s < r + kRowsAtOnce; ++s)
          simd::store(pairs + s * kRowFloats + (unit - begin) / 2,
                      pairs_of(group * kLanes + s, unit));
      }
    }
    for (int unit = begin; unit < end; unit += kUnits) {
      simd::transpose_tile(pairs + (unit - begin) / 2, kRowFloats,
                           reinterpret_cast<float*>(y.pairs(group, unit)), kLanes);
    }
  }

  /// Samples lie anywhere in the data set: asks for the next ones.
  void fetch(int row, int unit) const {
    constexpr int kLineUnits = 64 / static_cast<int>(sizeof(T));
    if (unit % kLineUnits != 0 || row + kRowsAtOnce > y.num_groups * kLanes) return;
    for (int r = row; r < row + kRowsAtOnce; ++r) {
      if (sample_of_row[r] >= 0) __builtin_prefetch(data + sample_of_row[r] * shape.units() + unit);
    }
  }

  simd::Vector pairs_of(int row, int unit) const {
    const std::int64_t sample = sample_of_row[row];
    if (sample < 0) return simd::Vector{};
    const int units = shape.units();
    const T* in = data + sample * units;
    if (!windows && unit + kUnits <= units)
      return simd::round_sequence(load_floats(in + unit), load_floats(in + unit + kLanes));
    T part[kUnits] = {};
    const int count = std::min(kUnits, units - unit);
    if (windows) {
      WindowReader<T> reader(in, shape, windows[row], unit);
      for (int u = 0; u < count; ++u) part[u] = reader.next();
    } else {
      std::copy(in + unit, in + unit + count, part);
    }
    return simd::round_sequence(load_floats(part), load_floats(part + kLanes));
  }

  /// by_sample of the units [begin, end), from by_unit.
  void turn(int tile, int begin, int end) const {
    const int group = y.first_group(tile);
    const bool has_two = y.groups_of(tile) > 1;
    for (int u = begin; u < end; u += 2) {
      const simd::Vector a = simd::load_pairs(y.pairs(group, u));
      const simd::Vector b = has_two ? simd::load_pairs(y.pairs(group + 1, u)) : simd::Vector{};
      simd::store_pairs(y.value_rows(tile, u),
                        simd::round_sequence(simd::first_of_pairs(a), simd::first_of_pairs(b)));
      simd::store_pairs(y.value_rows(tile, u + 1),
                        simd::round_sequence(simd::second_of_pairs(a), simd::second_of_pairs(b)));
    }
  }
};

template <class T>
void launch_tiles(const ExecSpace& exec, const std::string& label, const View<const T>& data,
                  const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                  const Activation& y) {
  const OperandTiles tiles(y);
  quern::parallel_for(
      label, RangePolicy(exec, 0, tiles.num_tiles()),
      GatherTiles<T>{data.data(), sample_of_row.data(),
                     windows.extent(0) > 0 ? windows.data() : nullptr, y.shape, tiles});
}

}  // namespace

void gather_tiles(const ExecSpace& exec, const std::string& label,
                  const View<const std::uint8_t>& data,
                  const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                  const Activation& y) {
  launch_tiles(exec, label, data, sample_of_row, windows, y);
}

void gather_tiles(const ExecSpace& exec, const std::string& label, const View<const float>& data,
                  const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                  const Activation& y) {
  launch_tiles(exec, label, data, sample_of_row, windows, y);
}

}  // namespace quern::host
