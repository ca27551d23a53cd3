// SPDX-License-Identifier: Apache-2.0
// Panels of rounded operands in scratch memory: what the warps of a team multiply.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern::device {

/// k of a panel.
inline constexpr int kPanelDepth = 32;

/// Four neighbouring floats, read at once.
struct alignas(16) Four {
  float value[4];
};

/// Reads four floats from a 16 byte boundary; zeros from nowhere.
KOKKOS_INLINE_FUNCTION Four read_four(const float* from) {
  return from ? *reinterpret_cast<const Four*>(from) : Four{};
}

/// A panel of one side of a product and how the threads of a team fill it together.
/// [Outer, kPanelDepth] if DepthFirst (neighbours in memory are neighbours in k), else
/// [kPanelDepth, Outer]. A vector is four floats of a line (of an outer index, or of a k); a thread
/// has the same vectors in every panel.
///
/// Side says where the floats are:
///   Column column(work, first)     of four columns from `first` on, the same in all panels
///   int offset(work, line)         of a line, the same in all panels
///   Place place(column, panel)     of the columns in a panel
///   Four read(place, offset)       zeros for what does not exist
template <class Side, class Operand, int Outer, bool DepthFirst, int Threads>
class RoundedPanel {
  using Stored = typename Operand::Stored;
  static constexpr int kColumns = DepthFirst ? kPanelDepth : Outer;
  static constexpr int kLines = DepthFirst ? Outer : kPanelDepth;
  static constexpr int kVectors = kColumns / 4;  // of a line
  static constexpr int kShare = kLines * kVectors / Threads;
  static_assert(kShare * Threads == kLines * kVectors);
  // A thread's vectors are in one and the same column of a line, or (few threads) in all of them.
  static constexpr int kPlaces = Threads % kVectors == 0 ? 1 : kShare;

  struct alignas(4 * sizeof(Stored)) RoundedFour {
    Stored value[4];
  };

 public:
  /// 16 bytes more than a line has keep its neighbours out of the same banks.
  static constexpr int kStride = kColumns + static_cast<int>(16 / sizeof(Stored));
  static constexpr int kElements = kStride * kLines;

  /// Where a 16 x Operand::kDepth tile begins: outer index `outer`, k `depth` of the panel.
  KOKKOS_INLINE_FUNCTION static const Stored* tile(const Stored* panel, int outer, int depth) {
    return DepthFirst ? panel + outer * kStride + depth : panel + depth * kStride + outer;
  }

  template <class Work>
  KOKKOS_INLINE_FUNCTION void start(const Side& side, const Work& work, int thread) {
    for (int i = 0; i < kShare; ++i) offset_[i] = side.offset(work, line(thread, i));
    for (int i = 0; i < kPlaces; ++i) column_[i] = side.column(work, column(thread, i));
  }

  /// Reads this thread's share of a panel.
  KOKKOS_INLINE_FUNCTION void read(const Side& side, int panel) {
    for (int place = 0; place < kPlaces; ++place) {
      const typename Side::Place from = side.place(column_[place], panel);
      for (int i = place; i < kShare; i += kPlaces) share_[i] = side.read(from, offset_[i]);
    }
  }

  /// Rounds what was read and writes it.
  KOKKOS_INLINE_FUNCTION void write(Stored* panel, int thread) const {
    for (int i = 0; i < kShare; ++i) {
      RoundedFour rounded;
      for (int j = 0; j < 4; ++j) rounded.value[j] = Operand::round(share_[i].value[j]);
      *reinterpret_cast<RoundedFour*>(panel + line(thread, i) * kStride + column(thread, i)) =
          rounded;
    }
  }

 private:
  KOKKOS_INLINE_FUNCTION static int line(int thread, int i) {
    return (thread + i * Threads) / kVectors;
  }
  KOKKOS_INLINE_FUNCTION static int column(int thread, int i) {
    return (thread + i * Threads) % kVectors * 4;
  }

  Four share_[kShare];
  int offset_[kShare];
  typename Side::Column column_[kPlaces];
};

}  // namespace quern::device
