// SPDX-License-Identifier: Apache-2.0
#include "layers/host/gather_tiles.hpp"

#include <algorithm>

#include "linalg/host/pixels.hpp"
#include "linalg/host/simd_bf16.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/operand_tiles.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

constexpr int kUnitsAtOnce = 64;  // a cache line of pixels, four of floats
static_assert(kUnitsAtOnce % OperandTiles::kDepth == 0);

/// Sixteen rows of kUnitsAtOnce units.
template <class T>
using Rows = const T* [kLanes];

/// Writes the pairs of the first `units` units, a multiple of 32, as by_unit has them. Four pixels
/// of a row travel as one lane through the transpose. In bfloat16 pixel * (1 / 255) is
/// pixel / 255 for all 256 values.
void write_pairs(const Rows<std::uint8_t>& rows, int units, OperandTiles::Bf16* to) {
  using simd::Register;
  constexpr int kRows = simd::kRegisterLanes;
  const auto inverse = simd::broadcast<Register>(1.0f / 255.0f);
  for (int r = 0; r < kLanes; r += kRows) {
    for (int unit = 0; unit < units; unit += 4 * kRows) {
      Register quads[kRows];
      for (int l = 0; l < kRows; ++l) quads[l] = simd::load_bits(rows[r + l] + unit);
      simd::transpose(quads);
      OperandTiles::Bf16* out = to + (unit / 2 * kLanes + r) * 2;
      for (int q = 0; q < kRows && unit + 4 * q < units; ++q, out += 4 * kLanes) {
        const Register first = simd::byte_of_lanes<0>(quads[q]) * inverse;
        const Register second = simd::byte_of_lanes<1>(quads[q]) * inverse;
        const Register third = simd::byte_of_lanes<2>(quads[q]) * inverse;
        const Register fourth = simd::byte_of_lanes<3>(quads[q]) * inverse;
        simd::store(reinterpret_cast<float*>(out), simd::round_pairs(first, second));
        simd::store(reinterpret_cast<float*>(out + 2 * kLanes), simd::round_pairs(third, fourth));
      }
    }
  }
}

void write_pairs(const Rows<float>& rows, int units, OperandTiles::Bf16* to) {
  constexpr int kUnits = OperandTiles::kDepth;
  for (int unit = 0; unit < units; unit += kUnits, to += kUnits * kLanes) {
    alignas(64) float pairs[kLanes * kLanes];
    for (int r = 0; r < kLanes; ++r) {
      simd::store(pairs + r * kLanes, simd::round_sequence(simd::load(rows[r] + unit),
                                                           simd::load(rows[r] + unit + kLanes)));
    }
    simd::transpose_tile(pairs, kLanes, reinterpret_cast<float*>(to), kLanes);
  }
}

/// A work item is a sample tile.
template <class T>
struct GatherTiles {
  /// Units of one group of rows that are gathered before those of the next: meanwhile the lines of
  /// the next group come from memory, and by_unit of both groups is still in the second-level cache
  /// when by_sample is made from it.
  static constexpr int kSpan = 16 * kUnitsAtOnce;

  const T* data;                      ///< [N, units]
  const std::int64_t* sample_of_row;  ///< [rows]
  const Window* windows;              ///< [rows], or null
  Shape shape;
  OperandTiles y;

  void operator()(std::int64_t item) const {
    const int tile = static_cast<int>(item);
    const int groups = y.groups_of(tile);
    for (int begin = 0; begin < y.units; begin += kSpan) {
      const int end = std::min(begin + kSpan, y.units);
      for (int g = 0; g < groups; ++g) {
        for (int unit = begin; unit < end; unit += kUnitsAtOnce) {
          const int width = std::min(kUnitsAtOnce, end - unit);
          const int group = y.first_group(tile) + g;
          if (g + 1 == groups && end < y.units)
            fetch(y.first_group(tile), unit + kSpan);
          else
            fetch(group + 1, g + 1 == groups ? unit - begin : unit);
          gather(group, unit, width);
          if (g + 1 == groups) turn(tile, unit, unit + width);
        }
      }
    }
  }

  /// by_unit of `width` units of a group.
  void gather(int group, int unit, int width) const {
    const int row = group * kLanes;
    T copies[kLanes][kUnitsAtOnce];
    Rows<T> rows;
    for (int r = 0; r < kLanes; ++r) {
      const std::int64_t sample = sample_of_row[row + r];
      const bool is_whole = unit + kUnitsAtOnce <= shape.units() && sample >= 0 && !windows;
      rows[r] = is_whole ? data + sample * shape.units() + unit : copies[r];
      if (!is_whole) copy(row + r, unit, copies[r]);
    }
    write_pairs(rows, width, y.pairs(group, unit));
  }

  /// Samples lie anywhere in the data set: asks for what is gathered a span later.
  void fetch(int group, int unit) const {
    constexpr int kLineUnits = 64 / static_cast<int>(sizeof(T));
    if (group == y.num_groups) return;
    for (int r = group * kLanes; r < (group + 1) * kLanes; ++r) {
      if (sample_of_row[r] < 0) continue;
      const T* next = data + sample_of_row[r] * shape.units();
      for (int u = unit; u < unit + kUnitsAtOnce; u += kLineUnits)
        if (u < shape.units()) simd::prefetch(next + u);
    }
  }

  /// What a row has of kUnitsAtOnce units; then zeros.
  void copy(int row, int unit, T* to) const {
    std::fill(to, to + kUnitsAtOnce, T{});
    const std::int64_t sample = sample_of_row[row];
    const int count = std::min(kUnitsAtOnce, shape.units() - unit);
    if (sample < 0) return;
    const T* in = data + sample * shape.units();
    if (!windows) {
      std::copy(in + unit, in + unit + count, to);
      return;
    }
    WindowReader<T> reader(in, shape, windows[row], unit);
    for (int u = 0; u < count; ++u) to[u] = reader.next();
  }

  /// by_sample of the units [begin, end), from by_unit.
  void turn(int tile, int begin, int end) const {
    const int group = y.first_group(tile);
    const bool has_two = y.groups_of(tile) > 1;
    for (int u = begin; u < end; u += 2) {
      const simd::Vector a = simd::load_pairs(y.pairs(group, u));
      const simd::Vector b = has_two ? simd::load_pairs(y.pairs(group + 1, u)) : simd::Vector{};
      simd::Vector first;
      simd::Vector second;
      simd::separate_pairs(a, b, first, second);
      simd::store_pairs(y.value_rows(tile, u), first);
      simd::store_pairs(y.value_rows(tile, u + 1), second);
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
