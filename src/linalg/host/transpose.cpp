// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/gemm.hpp"

#include <algorithm>

#include "linalg/host/simd.hpp"

namespace quern::host {

namespace {

using simd::Vector;

// One round of the butterfly: exchanges the off-diagonal halves of all pairs of rows `Step` apart.
// Four rounds (8, 4, 2, 1) transpose a 16 x 16 block in registers.
template <int Step>
void exchange(Vector (&rows)[16]) {
  using Index = int __attribute__((vector_size(64)));
  Index low{};
  Index high{};
  for (int lane = 0; lane < 16; ++lane) {
    const bool upper = (lane & Step) != 0;
    low[lane] = upper ? 16 + lane - Step : lane;
    high[lane] = upper ? 16 + lane : lane + Step;
  }
  for (int r = 0; r < 16; ++r) {
    if (r & Step) continue;
    const Vector a = rows[r];
    const Vector b = rows[r + Step];
    rows[r] = __builtin_shuffle(a, b, low);
    rows[r + Step] = __builtin_shuffle(a, b, high);
  }
}

void transpose_block(const Matrix& b, const ConstMatrix& a, int row, int column) {
  const int rows = std::min(16, a.rows - row);
  const int columns = std::min(16, a.columns - column);
  Vector block[16];
  for (int r = 0; r < 16; ++r) {
    block[r] = r < rows ? simd::load(a.data + (row + r) * a.stride + column) : Vector{};
  }
  exchange<8>(block);
  exchange<4>(block);
  exchange<2>(block);
  exchange<1>(block);
  for (int c = 0; c < columns; ++c) {
    simd::store_first(b.data + (column + c) * b.stride + row, block[c], rows);
  }
}

}  // namespace

void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a) {
  const int row_blocks = (a.rows + 15) / 16;
  const int column_blocks = (a.columns + 15) / 16;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, column_blocks), [=](std::int64_t item) {
    for (int block = 0; block < row_blocks; ++block) {
      transpose_block(b, a, 16 * block, 16 * static_cast<int>(item));
    }
  });
}

}  // namespace quern::host
