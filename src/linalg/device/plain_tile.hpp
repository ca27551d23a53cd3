// SPDX-License-Identifier: Apache-2.0
// A tile of a product without tensor cores: the reference implementation of WmmaTile, for tests on
// a CPU and for devices that have none.
#pragma once

#include "linalg/device/rounded_operand.hpp"

namespace quern::device {

/// 16 x 16 sums of products of rounded operands, by `Warp` threads that each hold a share of them.
/// `lane`: which of them calls.
template <class Operand, bool ADepthFirst, bool BDepthFirst, int Warp>
class PlainTile {
  using Stored = typename Operand::Stored;
  static constexpr int kShare = 256 / Warp;

 public:
  /// A [16, Operand::kDepth], row by row if ADepthFirst, else column by column.
  struct A {
    const Stored* data;
    int stride;
    KOKKOS_INLINE_FUNCTION A(const Stored* from, int from_stride)
        : data(from), stride(from_stride) {}
    KOKKOS_INLINE_FUNCTION Stored at(int row, int k) const {
      return ADepthFirst ? data[row * stride + k] : data[k * stride + row];
    }
  };
  /// B [Operand::kDepth, 16], row by row, or column by column if BDepthFirst.
  struct B {
    const Stored* data;
    int stride;
    KOKKOS_INLINE_FUNCTION B(const Stored* from, int from_stride)
        : data(from), stride(from_stride) {}
    KOKKOS_INLINE_FUNCTION Stored at(int k, int column) const {
      return BDepthFirst ? data[column * stride + k] : data[k * stride + column];
    }
  };

  KOKKOS_INLINE_FUNCTION void clear() {
    for (float& sum : sums_) sum = 0;
  }

  /// sums += A B, in ascending order of k.
  KOKKOS_INLINE_FUNCTION void multiply_add(const A& a, const B& b, int lane) {
    for (int i = 0; i < kShare; ++i) {
      const int row = (lane + i * Warp) / 16;
      const int column = (lane + i * Warp) % 16;
      for (int k = 0; k < Operand::kDepth; ++k) {
        sums_[i] =
            Kokkos::fma(Operand::value(a.at(row, k)), Operand::value(b.at(k, column)), sums_[i]);
      }
    }
  }

  /// Writes the sums row by row. Thread `lane` may then read the elements lane, lane + Warp, ...
  KOKKOS_INLINE_FUNCTION void store(float* to, int stride, int lane) const {
    for (int i = 0; i < kShare; ++i) {
      const int e = lane + i * Warp;
      to[e / 16 * stride + e % 16] = sums_[i];
    }
  }

 private:
  float sums_[kShare];
};

}  // namespace quern::device
