// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/gemm.hpp"

#include <algorithm>

#include "linalg/host/simd.hpp"

namespace quern::host {

namespace {

using simd::Register;

constexpr int kBlock = simd::kRegisterLanes;

// Rounds of the butterfly: exchange the off-diagonal halves of all pairs of rows `Step` apart, then
// of rows half as far. They transpose a block of registers.
template <int Step>
void exchange(Register (&rows)[kBlock]) {
  simd::LaneIndex low{};
  simd::LaneIndex high{};
  for (int lane = 0; lane < kBlock; ++lane) {
    const bool upper = (lane & Step) != 0;
    low[lane] = upper ? kBlock + lane - Step : lane;
    high[lane] = upper ? kBlock + lane : lane + Step;
  }
  for (int r = 0; r < kBlock; ++r) {
    if (r & Step) continue;
    const Register a = rows[r];
    const Register b = rows[r + Step];
    rows[r] = simd::shuffle(a, b, low);
    rows[r + Step] = simd::shuffle(a, b, high);
  }
  if constexpr (Step > 1) exchange<Step / 2>(rows);
}

void transpose_block(const Matrix& b, const ConstMatrix& a, int row, int column) {
  const int rows = std::min(kBlock, a.rows - row);
  const int columns = std::min(kBlock, a.columns - column);
  Register block[kBlock];
  for (int r = 0; r < kBlock; ++r) {
    block[r] = r < rows ? simd::load<Register>(a.data + a.place(row + r, column)) : Register{};
  }
  exchange<kBlock / 2>(block);
  for (int c = 0; c < columns; ++c) {
    float* out = b.data + b.place(column + c, row);
    if (rows == kBlock) {
      simd::store(out, block[c]);
    } else {
      simd::store_first(out, block[c], rows);
    }
  }
}

}  // namespace

void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
               const ConstMatrix& a) {
  const int row_blocks = (a.rows + kBlock - 1) / kBlock;
  const int column_blocks = (a.columns + kBlock - 1) / kBlock;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, column_blocks), [=](std::int64_t item) {
    for (int block = 0; block < row_blocks; ++block) {
      transpose_block(b, a, kBlock * block, kBlock * static_cast<int>(item));
    }
  });
}

}  // namespace quern::host
