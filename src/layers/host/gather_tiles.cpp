// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather_tiles.hpp"

#include <algorithm>

#include "layers/host/pixels.hpp"
#include "linalg/host/simd_bf16.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern::host {

namespace {

/// A work item is a sample tile.
template <class T>
struct GatherTiles {
  static constexpr int kUnits = OperandTiles::kDepth;

  const T* data;                      ///< [N, units]
  const std::int64_t* sample_of_row;  ///< [rows]
  const Window* windows;              ///< [rows], or null
  Shape shape;
  OperandTiles y;

  void operator()(std::int64_t item) const {
    const int tile = static_cast<int>(item);
    const int groups = y.groups_of(tile);
    const int first_row = y.first_group(tile) * kLanes;
    ask_for(first_row + groups * kLanes);
    for (int unit = 0; unit < y.units; unit += kUnits) {
      for (int g = 0; g < groups; ++g) gather_group(unit, y.first_group(tile) + g);
      turn(tile, unit);
    }
  }

  /// The rows of the next tile lie anywhere in the data set: they come while this one is worked on.
  void ask_for(int first_row) const {
    constexpr std::int64_t kCacheLine = 64 / std::int64_t{sizeof(T)};
    const int units = shape.units();
    const int rows = std::min(2 * kLanes, y.num_groups * kLanes - first_row);
    for (int r = 0; r < rows; ++r) {
      const std::int64_t sample = sample_of_row[first_row + r];
      if (sample < 0) continue;
      for (std::int64_t u = 0; u < units; u += kCacheLine)
        __builtin_prefetch(data + sample * units + u, 0, 2);
    }
  }

  /// by_unit of 32 units of a group: pairs of units of 16 samples, from rows of pairs.
  void gather_group(int unit, int group) const {
    alignas(64) float pairs[kLanes * kLanes];
    for (int r = 0; r < kLanes; ++r)
      simd::store(pairs + r * kLanes, pairs_of(group * kLanes + r, unit));
    simd::transpose_tile(pairs, kLanes, reinterpret_cast<float*>(y.pairs(group, unit)), kLanes);
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

  /// by_sample of 32 units, from by_unit.
  void turn(int tile, int unit) const {
    const int group = y.first_group(tile);
    const bool has_two = y.groups_of(tile) > 1;
    for (int u = unit; u < unit + kUnits; u += 2) {
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
  Kokkos::parallel_for(
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
