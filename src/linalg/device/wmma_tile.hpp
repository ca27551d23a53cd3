// SPDX-License-Identifier: Apache-2.0
// A tile of a product on the tensor cores of NVIDIA GPUs since Ampere (CUDA C++ Programming Guide,
// "Warp Matrix Functions").
#pragma once

#include <mma.h>

#include <type_traits>

#include "linalg/device/rounded_operand.hpp"

namespace quern::device {

/// What the library calls an operand, and how it is stored.
template <class Operand>
struct WmmaElement;
template <>
struct WmmaElement<Tf32Operand> {
  using Type = nvcuda::wmma::precision::tf32;
  using Memory = float;
};
template <>
struct WmmaElement<Bf16Operand> {
  using Type = __nv_bfloat16;
  using Memory = __nv_bfloat16;
};

/// 16 x 16 sums of products of rounded operands. All 32 threads of a warp call each function
/// together. Operands begin on 32 bytes, their strides are multiples of 16 bytes. The order of the
/// additions inside of one multiplication is the hardware's, always the same.
template <class Operand, bool ADepthFirst, bool BDepthFirst>
class WmmaTile {
  using Element = typename WmmaElement<Operand>::Type;
  using Memory = typename WmmaElement<Operand>::Memory;
  using Stored = typename Operand::Stored;
  using RowMajor = nvcuda::wmma::row_major;
  using ColumnMajor = nvcuda::wmma::col_major;
  using AOrder = std::conditional_t<ADepthFirst, RowMajor, ColumnMajor>;
  using BOrder = std::conditional_t<BDepthFirst, ColumnMajor, RowMajor>;
  template <class Use, class Order>
  using Fragment = nvcuda::wmma::fragment<Use, 16, 16, Operand::kDepth, Element, Order>;
  static_assert(sizeof(Memory) == sizeof(Stored));

 public:
  /// A [16, Operand::kDepth], row by row if ADepthFirst, else column by column.
  struct A {
    Fragment<nvcuda::wmma::matrix_a, AOrder> fragment;
    KOKKOS_INLINE_FUNCTION A(const Stored* from, int stride) {
      KOKKOS_IF_ON_DEVICE(
          (nvcuda::wmma::load_matrix_sync(fragment, reinterpret_cast<const Memory*>(from),
                                          static_cast<unsigned>(stride));))
      KOKKOS_IF_ON_HOST(((void)from; (void)stride;))
    }
  };
  /// B [Operand::kDepth, 16], row by row, or column by column if BDepthFirst.
  struct B {
    Fragment<nvcuda::wmma::matrix_b, BOrder> fragment;
    KOKKOS_INLINE_FUNCTION B(const Stored* from, int stride) {
      KOKKOS_IF_ON_DEVICE(
          (nvcuda::wmma::load_matrix_sync(fragment, reinterpret_cast<const Memory*>(from),
                                          static_cast<unsigned>(stride));))
      KOKKOS_IF_ON_HOST(((void)from; (void)stride;))
    }
  };

  KOKKOS_INLINE_FUNCTION void clear() {
    KOKKOS_IF_ON_DEVICE((nvcuda::wmma::fill_fragment(sums_, 0.0f);))
  }

  /// sums += A B.
  KOKKOS_INLINE_FUNCTION void multiply_add(const A& a, const B& b, int) {
    KOKKOS_IF_ON_DEVICE((nvcuda::wmma::mma_sync(sums_, a.fragment, b.fragment, sums_);))
    KOKKOS_IF_ON_HOST(((void)a; (void)b;))
  }

  /// Writes the sums row by row, when all threads of the warp are done with what was there; then
  /// all of them may read it.
  KOKKOS_INLINE_FUNCTION void store(float* to, int stride, int) const {
    KOKKOS_IF_ON_DEVICE((__syncwarp(); nvcuda::wmma::store_matrix_sync(
                             to, sums_, static_cast<unsigned>(stride), nvcuda::wmma::mem_row_major);
                         __syncwarp();))
    KOKKOS_IF_ON_HOST(((void)to; (void)stride;))
  }

 private:
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, Operand::kDepth, float> sums_;
};

}  // namespace quern::device
