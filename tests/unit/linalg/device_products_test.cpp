// SPDX-License-Identifier: Apache-2.0
// The device kernels of linalg, run on a CPU: the same bits as the CPU's own, on teams of one
// thread and, with OMP_NUM_THREADS=2, of two.
#include <gtest/gtest.h>

#include <ostream>

#include "base/ceil_div.hpp"
#include "linalg/block_sum.hpp"
#include "linalg/device/block_sum.hpp"
#include "linalg/device/gemm.hpp"
#include "linalg/device/product_outputs.hpp"
#include "linalg/gemm.hpp"
#include "support/activation_io.hpp"
#include "support/fused_products.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;

struct Size {
  int m, n, k;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.m << " x " << size.n << " x " << size.k;
}

class DeviceProducts : public ::testing::TestWithParam<Size> {};

TEST_P(DeviceProducts, MultiplyHasTheHostsBits) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const int m = GetParam().m, n = GetParam().n, k = GetParam().k;
  const int row = n + 5;
  const FloatView a = make_view(random_values(static_cast<std::size_t>(m) * k, 1));
  const auto b_values = random_values(static_cast<std::size_t>(k) * n, 2);
  std::vector<float> transposed;
  for (int j = 0; j < n; ++j)
    for (int p = 0; p < k; ++p) transposed.push_back(b_values[p * n + j]);
  const FloatView b = make_view(b_values);
  const FloatView b_t = make_view(transposed);
  const FloatView bias = make_view(random_values(static_cast<std::size_t>(n), 3));
  const FloatView mask = make_view(random_values(static_cast<std::size_t>(m) * row, 4));
  for (const Epilogue& epilogue :
       {Epilogue{}, Epilogue{bias.data(), true, nullptr}, Epilogue{nullptr, false, mask.data()}}) {
    const auto run = [&](const auto& product) {
      const FloatView c = make_view(std::vector<float>(static_cast<std::size_t>(m) * row, 7.0f));
      product(Matrix{c.data(), m, n, row});
      return read(c, 0, static_cast<std::size_t>(m) * row);
    };
    const ConstMatrix left{a.data(), m, k, k};
    const auto expected = run([&](const Matrix& c) {
      multiply(ExecSpace(), "quern::test::multiply", c, left, {b.data(), k, n, n}, epilogue);
    });
    EXPECT_EQ(expected, run([&](const Matrix& c) {
                device::multiply(ExecSpace(), "quern::test::multiply", c, left, {b.data(), k, n, n},
                                 epilogue);
              }));
    EXPECT_EQ(expected, run([&](const Matrix& c) {
                device::multiply_transposed(ExecSpace(), "quern::test::multiply_transposed", c,
                                            left, {b_t.data(), n, k, k}, epilogue);
              }));
  }
}

// Every tile and team size by itself: which of them device::multiply takes depends on the sizes.
template <class Shape, int Threads>
std::vector<float> tiled(int m, int n, int k, const FloatView& a, const FloatView& b) {
  const FloatView c = make_view(std::vector<float>(static_cast<std::size_t>(m) * n, 7.0f));
  const device::TiledProduct<Shape, true, false, device::EpilogueOutput, Threads> kernel{
      {a.data(), m, k, 1}, {b.data(), n, 1, n}, {1, k}, {{c.data(), m, n, n}, {}}};
  for_each_team(ExecSpace(), "quern::test::tiled", kernel.num_teams(), kernel);
  return read(c, 0, static_cast<std::size_t>(m) * n);
}

TEST_P(DeviceProducts, BitsDoNotDependOnTilesAndTeams) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const auto [m, n, k] = GetParam();
  const FloatView a = make_view(random_values(static_cast<std::size_t>(m) * k, 1));
  const FloatView b = make_view(random_values(static_cast<std::size_t>(k) * n, 2));
  const FloatView c = make_view(std::vector<float>(static_cast<std::size_t>(m) * n));
  multiply(ExecSpace(), "quern::test::multiply", {c.data(), m, n, n}, {a.data(), m, k, k},
           {b.data(), k, n, n}, {});
  const auto expected = read(c, 0, static_cast<std::size_t>(m) * n);
  using device::TileShape;
  EXPECT_EQ(expected, (tiled<TileShape<16, 16, 2, 2, 16>, 1>(m, n, k, a, b)));
  EXPECT_EQ(expected, (tiled<TileShape<64, 64, 4, 4, 16>, 1>(m, n, k, a, b)));
  EXPECT_EQ(expected, (tiled<TileShape<8, 32, 2, 4, 5>, 1>(m, n, k, a, b)));
  if (ExecSpace().concurrency() < 2) return;
  EXPECT_EQ(expected, (tiled<TileShape<16, 16, 2, 2, 16>, 2>(m, n, k, a, b)));
  EXPECT_EQ(expected, (tiled<TileShape<8, 32, 2, 4, 5>, 2>(m, n, k, a, b)));
}

TEST_P(DeviceProducts, BlockSumsHaveTheHostsBits) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const int m = GetParam().m, n = GetParam().n, k = GetParam().k;
  for (const int block_rows : {3, 16, 20}) {
    const int blocks = ceil_div(k, block_rows);
    const auto num_rows = static_cast<std::size_t>(blocks * block_rows);
    const FloatView a = make_view(random_values(num_rows * m, 4));
    const FloatView b = make_view(random_values(num_rows * n, 5));
    // Of a larger batch, so that several partial sums remain.
    const BlockSchedule schedule = make_block_schedule(1, 1 + blocks, blocks + 2, block_rows);
    const std::int64_t stride = static_cast<std::int64_t>(m) * n + 16;
    const auto size = static_cast<std::size_t>(stride * schedule.num_partial_sums);
    const auto run = [&](const auto& product) {
      const FloatView out = make_view(std::vector<float>(size, 7.0f));
      product(ExecSpace(), "quern::test::multiply_blocks", schedule, GradientSums{out, stride},
              GradientPlace{16, n}, ConstMatrix{a.data(), static_cast<int>(num_rows), m, m},
              ConstMatrix{b.data(), static_cast<int>(num_rows), n, n});
      return read(out, 0, size);
    };
    EXPECT_EQ(run(multiply_blocks), run(device::multiply_blocks)) << block_rows;
  }
}

TEST_P(DeviceProducts, BlockSumsOfTheRightSideComeAlong) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const auto [m, n, k] = GetParam();
  const int block_rows = 4;
  const int blocks = ceil_div(k, block_rows);
  const auto num_rows = static_cast<std::size_t>(blocks * block_rows);
  const FloatView a = make_view(random_values(num_rows * m, 4));
  const FloatView b = make_view(random_values(num_rows * n, 5));
  const BlockSchedule schedule = make_block_schedule(1, 1 + blocks, blocks + 2, block_rows);
  const std::int64_t sums = std::int64_t{m} * n + 3;  // after the product and a gap
  const std::int64_t stride = sums + n + 5;
  const auto size = static_cast<std::size_t>(stride * schedule.num_partial_sums);
  const ConstMatrix left{a.data(), static_cast<int>(num_rows), m, m};
  const ConstMatrix right{b.data(), static_cast<int>(num_rows), n, n};
  const FloatView apart = make_view(std::vector<float>(size, 7.0f));
  multiply_blocks(ExecSpace(), "quern::test::multiply", schedule, {apart, stride}, {0, n}, left,
                  right);
  block_tree_sum(ExecSpace(), "quern::test::sum", schedule, right, {apart, stride}, sums);
  const FloatView together = make_view(std::vector<float>(size, 7.0f));
  device::multiply_and_sum_blocks(ExecSpace(), "quern::test::both", schedule, {together, stride},
                                  {0, n}, left, right, sums);
  EXPECT_EQ(read(apart, 0, size), read(together, 0, size));
}

INSTANTIATE_TEST_SUITE_P(OddSizes, DeviceProducts,
                         ::testing::Values(Size{1, 1, 1}, Size{3, 17, 5}, Size{17, 3, 33},
                                           Size{33, 65, 17}, Size{257, 10, 33}, Size{13, 100, 257},
                                           Size{64, 64, 16}, Size{650, 641, 3}));

template <int Threads>
std::vector<float> column_sums(const BlockSchedule& schedule, const FloatView& values, int stride,
                               int columns) {
  const std::int64_t partial = columns + 3;
  const auto size = static_cast<std::size_t>(partial * schedule.num_partial_sums);
  const FloatView sums = make_view(std::vector<float>(size, 7.0f));
  const device::ColumnSums<Threads> kernel{device::traversal_of(schedule),
                                           schedule.block_rows,
                                           values.data(),
                                           stride,
                                           columns,
                                           sums.data(),
                                           partial};
  for_each_team(ExecSpace(), "quern::test::column_sums", kernel.num_teams(), kernel);
  return read(sums, 0, size);
}

TEST(DeviceBlockSum, HasTheHostsBits) {
  for (const int columns : {1, 2, 33, 257}) {
    for (const int blocks : {1, 7, 8, 19}) {
      const int stride = columns + 1;
      const BlockSchedule schedule = make_block_schedule(2, 2 + blocks, blocks + 3, 5);
      const auto num_rows = static_cast<std::size_t>(schedule.rows());
      const FloatView values = make_view(random_values(num_rows * stride, 6));
      const std::int64_t partial = columns + 3;
      const auto size = static_cast<std::size_t>(partial * schedule.num_partial_sums);
      const FloatView sums = make_view(std::vector<float>(size, 7.0f));
      block_tree_sum(ExecSpace(), "quern::test::block_sum", schedule,
                     {values.data(), schedule.rows(), columns, stride}, {sums, partial}, 0);
      const auto expected = read(sums, 0, size);
      EXPECT_EQ(expected, column_sums<1>(schedule, values, stride, columns));
      if (ExecSpace().concurrency() < 2) continue;
      EXPECT_EQ(expected, column_sums<2>(schedule, values, stride, columns));
    }
  }
}

}  // namespace
}  // namespace quern
