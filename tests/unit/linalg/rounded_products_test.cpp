// SPDX-License-Identifier: Apache-2.0
// Dense products with rounded operands; on a CPU a plain loop stands in for the tensor cores. Small
// whole numbers are the same in all precisions and so are their sums in any order: with them, the
// bits of the fp32 products.
#include "linalg/device/rounded_products.hpp"
#include "base/ceil_div.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "linalg/device/gemm.hpp"
#include "linalg/rounding.hpp"
#include "support/activation_io.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;
using Values = std::vector<float>;

struct Size {
  int m, n, k;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.m << " x " << size.n << " x " << size.k;
}

/// Floats from row to row: whole vectors of four.
int row_of(int columns) {
  return (columns + 3) / 4 * 4;
}

Values transformed(Values values, const std::function<float(float)>& f) {
  for (float& value : values) value = f(value);
  return values;
}

/// A matrix of `rows` rows of whole numbers, what is between the rows included.
Values whole_numbers(int rows, int columns, std::uint64_t seed) {
  return transformed(random_values(static_cast<std::size_t>(rows) * row_of(columns), seed),
                     [](float value) { return std::round(4 * value); });
}

ConstMatrix matrix(const FloatView& values, int rows, int columns) {
  return {values.data(), rows, columns, row_of(columns)};
}

class RoundedProductsOf : public ::testing::TestWithParam<std::tuple<Size, OperandPrecision>> {};

TEST_P(RoundedProductsOf, WholeNumbersAreExact) {
  const auto& [size, precision] = GetParam();
  const auto [m, n, k] = size;
  device::RoundedProducts products(precision);
  const FloatView a = make_view(whole_numbers(m, k, 1));
  const FloatView b = make_view(whole_numbers(k, n, 2));
  const FloatView b_t = make_view(whole_numbers(n, k, 3));
  const FloatView bias = make_view(whole_numbers(1, n, 4));
  const FloatView mask = make_view(whole_numbers(m, n, 5));
  const auto written = [&, m = m, n = n](const auto& product) {
    const FloatView c = make_view(Values(static_cast<std::size_t>(m) * row_of(n), 7.0f));
    product(Matrix{c.data(), m, n, row_of(n)});
    return read(c, 0, c.extent(0));
  };
  const ExecSpace exec;
  for (const Epilogue& epilogue :
       {Epilogue{}, Epilogue{bias.data(), true, nullptr}, Epilogue{nullptr, false, mask.data()}}) {
    EXPECT_EQ(written([&, k = k](const Matrix& c) {
                device::multiply(exec, "quern::test::multiply", c, matrix(a, c.rows, k),
                                 matrix(b, k, c.columns), epilogue);
              }),
              written([&, k = k](const Matrix& c) {
                products.multiply(exec, "quern::test::multiply", c, matrix(a, c.rows, k),
                                  matrix(b, k, c.columns), epilogue);
              }));
    EXPECT_EQ(written([&, k = k](const Matrix& c) {
                device::multiply_transposed(exec, "quern::test::multiply", c, matrix(a, c.rows, k),
                                            matrix(b_t, c.columns, k), epilogue);
              }),
              written([&, k = k](const Matrix& c) {
                products.multiply_transposed(exec, "quern::test::multiply", c, matrix(a, c.rows, k),
                                             matrix(b_t, c.columns, k), epilogue, {});
              }));
  }
}

/// The sums of A^T B over blocks first .. last - 1 of `total`, without what is between the rows.
Values block_sums(DenseProducts* products, const Size& size, int first, int last, int total,
                  int block_rows, const Values& a_values, const Values& b_values) {
  const BlockSchedule schedule = make_block_schedule(first, last, total, block_rows);
  const FloatView a = make_view(a_values);
  const FloatView b = make_view(b_values);
  const std::int64_t sums = 16 + std::int64_t{size.m} * row_of(size.n);
  const std::int64_t stride = sums + size.n;
  const FloatView out = make_view(
      Values(static_cast<std::size_t>(stride * std::max(schedule.num_partial_sums, 1)), 0.0f));
  const GradientPlace place{16, row_of(size.n)};
  const FloatView workspace("", products ? static_cast<std::size_t>(products->workspace_floats(
                                               size.m, size.n, row_of(size.n), schedule.rows()))
                                         : 0);
  const int begin = first * block_rows;
  const ConstMatrix left{a.data() + begin * row_of(size.m), schedule.rows(), size.m,
                         row_of(size.m)};
  const ConstMatrix right{b.data() + begin * row_of(size.n), schedule.rows(), size.n,
                          row_of(size.n)};
  if (products)
    products->multiply_blocks(ExecSpace(), "quern::test::multiply_blocks", schedule, {out, stride},
                              place, left, right, {sums, "quern::test::sums"}, workspace);
  else
    device::multiply_and_sum_blocks(ExecSpace(), "quern::test::multiply_blocks", schedule,
                                    {out, stride}, place, left, right, sums);
  return read(out, 0, out.extent(0));
}

TEST(RoundedProducts, KeepWhatIsNotANumber) {
  const float nan = Kokkos::bit_cast<float>(0x7FFFFFFFu);
  for (const auto precision : {OperandPrecision::tf32, OperandPrecision::bf16}) {
    device::RoundedProducts products(precision);
    const FloatView a = make_view({nan, 1, 1, 1, 2, 1, 1, 1});
    const FloatView b = make_view({1, 1, 1, 1});
    const FloatView c = make_view(Values(2 * 4));
    products.multiply(ExecSpace(), "quern::test::multiply", {c.data(), 2, 1, 4},
                      {a.data(), 2, 1, 4}, {b.data(), 1, 1, 4}, {nullptr, true, nullptr});
    const Values result = read(c, 0, 8);
    EXPECT_TRUE(std::isnan(result[0]));
    EXPECT_EQ(result[4], 2);
  }
}

TEST_P(RoundedProductsOf, WholeNumbersInBlocksAreExact) {
  const Size& size = std::get<0>(GetParam());
  const OperandPrecision precision = std::get<1>(GetParam());
  device::RoundedProducts products(precision);
  for (const int block_rows : {3, 16, 40}) {
    const int blocks = ceil_div(size.k, block_rows);
    const Values a = whole_numbers((blocks + 1) * block_rows, size.m, 4);
    const Values b = whole_numbers((blocks + 1) * block_rows, size.n, 5);
    // Of a larger batch, so that several partial sums remain.
    const auto sums = [&](DenseProducts* by) {
      return block_sums(by, size, 1, 1 + blocks, blocks + 2, block_rows, a, b);
    };
    EXPECT_EQ(sums(nullptr), sums(&products)) << block_rows;
  }
}

TEST_P(RoundedProductsOf, RanksShareTheSum) {
  const auto& [size, precision] = GetParam();
  device::RoundedProducts products(precision);
  const Values a = random_values(static_cast<std::size_t>(8 * 5) * row_of(size.m), 4);
  const Values b = random_values(static_cast<std::size_t>(8 * 5) * row_of(size.n), 5);
  Values sum = block_sums(&products, size, 0, 4, 8, 5, a, b);
  const Values right = block_sums(&products, size, 4, 8, 8, 5, a, b);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  EXPECT_EQ(block_sums(&products, size, 0, 8, 8, 5, a, b), sum);
}

TEST_P(RoundedProductsOf, RoundTheirOperands) {
  const auto& [size, precision] = GetParam();
  const auto [m, n, k] = size;
  device::RoundedProducts products(precision);
  const auto round = [precision = precision](float value) {
    return precision == OperandPrecision::tf32 ? to_tf32(value) : from_bfloat16(to_bfloat16(value));
  };
  const Values a = random_values(static_cast<std::size_t>(m) * row_of(k), 1);
  const Values b = random_values(static_cast<std::size_t>(k) * row_of(n), 2);
  const FloatView c = make_view(Values(static_cast<std::size_t>(m) * row_of(n)));
  const FloatView left = make_view(a);
  const FloatView right = make_view(b);
  products.multiply(ExecSpace(), "quern::test::multiply", {c.data(), m, n, row_of(n)},
                    matrix(left, m, k), matrix(right, k, n), {});
  const Values actual = read(c, 0, c.extent(0));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int d = 0; d < k; ++d) {
        sum += double{round(a[static_cast<std::size_t>(i * row_of(k) + d)])} *
               round(b[static_cast<std::size_t>(d * row_of(n) + j)]);
      }
      ASSERT_NEAR(sum, actual[static_cast<std::size_t>(i * row_of(n) + j)], 1e-6 * (k + 8));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    OddSizes, RoundedProductsOf,
    ::testing::Combine(::testing::Values(Size{1, 1, 1}, Size{3, 17, 33}, Size{33, 3, 257},
                                         Size{257, 33, 17}, Size{17, 257, 65}),
                       ::testing::Values(OperandPrecision::tf32, OperandPrecision::bf16)));

// More tiles than a launch of blocks has, and enough teams for large tiles.
INSTANTIATE_TEST_SUITE_P(Large, RoundedProductsOf,
                         ::testing::Combine(::testing::Values(Size{900, 1000, 40}),
                                            ::testing::Values(OperandPrecision::bf16)));

}  // namespace
}  // namespace quern
