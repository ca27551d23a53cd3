// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "linalg/host/gemm.hpp"

#include <algorithm>

#include "linalg/host/simd_transpose.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

using simd::Register;

constexpr int kBlock = simd::kRegisterLanes;

void transpose_block(const Matrix& b, const ConstMatrix& a, int row, int column) {
  const int rows = std::min(kBlock, a.rows - row);
  const int columns = std::min(kBlock, a.columns - column);
  Register block[kBlock];
  for (int r = 0; r < kBlock; ++r) {
    block[r] = r < rows ? simd::load<Register>(a.data + a.place(row + r, column)) : Register{};
  }
  simd::transpose(block);
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
  const int row_blocks = ceil_div(a.rows, kBlock);
  const int column_blocks = ceil_div(a.columns, kBlock);
  quern::parallel_for(label, RangePolicy(exec, 0, column_blocks), [=](std::int64_t item) {
    for (int block = 0; block < row_blocks; ++block) {
      transpose_block(b, a, kBlock * block, kBlock * static_cast<int>(item));
    }
  });
}

}  // namespace quern::host
