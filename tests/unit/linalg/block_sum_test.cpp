// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_sum.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "linalg/reference/block_sum.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

struct Case {
  int first, last, total, block_rows, columns, row_stride;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << "blocks " << c.first << " to " << c.last << " of " << c.total << ", " << c.block_rows
       << " rows each, " << c.columns << " columns, " << c.row_stride << " floats a row";
}

// Values of very different size, so that another order of additions gives other bits.
std::vector<float> uneven_values(std::size_t count) {
  std::vector<float> values = test::random_values(count, 3);
  for (std::size_t i = 0; i < count; ++i) values[i] *= static_cast<float>(1 << (i * 7 % 23));
  return values;
}

class BlockSum : public testing::TestWithParam<Case> {};

// The columns of values [rows, c.row_stride] in panels.
FloatView panels_of(const std::vector<float>& rows, int num_rows, const Case& c) {
  std::vector<float> values(static_cast<std::size_t>(num_rows * round_up_to_lanes(c.columns)),
                            777.0f);
  const Matrix panels = in_panels(values.data(), num_rows, c.columns);
  for (int s = 0; s < num_rows; ++s)
    for (int column = 0; column < c.columns; ++column)
      panels.data[panels.place(s, column)] =
          rows[static_cast<std::size_t>(s * c.row_stride + column)];
  return test::to_view(values);
}

TEST_P(BlockSum, HasTheBitsOfTheReference) {
  const Case c = GetParam();
  const BlockSchedule schedule = make_block_schedule(c.first, c.last, c.total, c.block_rows);
  const BlockTree::Traversal traversal = BlockTree(c.total).traverse_blocks(c.first, c.last);
  const std::vector<float> values =
      uneven_values(static_cast<std::size_t>(schedule.rows() * c.row_stride));
  constexpr int offset = 5;
  const std::int64_t stride = c.columns + offset + 3;
  GradientSums partial_sums{
      FloatView("test::partial_sums", static_cast<std::size_t>(stride * schedule.num_partial_sums)),
      stride};
  const FloatView rows = test::to_view(values);
  const auto sum = [&](const ConstMatrix& matrix) {
    Kokkos::deep_copy(partial_sums.data, 777.0f);
    const ExecSpace exec;
    block_tree_sum(exec, "quern::linalg::test_sum", schedule, matrix, partial_sums, offset);
    exec.fence("test: read sums");
    return test::to_vector(partial_sums.data);
  };
  const std::vector<float> sums = sum({rows.data(), schedule.rows(), c.columns, c.row_stride});
  if (!runs_device_kernels()) {
    const FloatView panels = panels_of(values, schedule.rows(), c);
    EXPECT_EQ(sum(in_panels<const float>(panels.data(), schedule.rows(), c.columns)), sums);
  }
  std::vector<float> expected(sums.size(), 777.0f);
  for (int column = 0; column < c.columns; ++column) {
    std::vector<float> of_column;
    for (int s = 0; s < schedule.rows(); ++s)
      of_column.push_back(values[static_cast<std::size_t>(s * c.row_stride + column)]);
    const auto roots =
        reference::block_tree_sum(traversal, static_cast<std::size_t>(c.block_rows), of_column);
    ASSERT_EQ(roots.size(), static_cast<std::size_t>(schedule.num_partial_sums));
    for (std::size_t p = 0; p < roots.size(); ++p)
      expected[p * static_cast<std::size_t>(stride) + offset + static_cast<std::size_t>(column)] =
          roots[p];
  }
  EXPECT_EQ(sums, expected);
}

INSTANTIATE_TEST_SUITE_P(OddSizes, BlockSum,
                         testing::Values(Case{0, 1, 1, 1, 1, 1}, Case{0, 8, 8, 3, 2, 2},
                                         Case{1, 7, 9, 16, 17, 32}, Case{0, 7, 7, 5, 64, 64},
                                         Case{3, 6, 26, 4, 257, 272}, Case{5, 26, 26, 2, 33, 33},
                                         Case{4, 4, 8, 16, 3, 16},
                                         // 23 sums at once: left and right of the tree's middle
                                         Case{4097, 8194, 12291, 1, 3, 16}));

TEST(BlockSum, OneRowBlocksAreThePlainTree) {
  // ((1e8 + 1) + (-1e8 + 1)) in float is 0; from left to right it would be 1.
  const BlockSchedule schedule = make_block_schedule(0, 4, 4, 1);
  const GradientSums partial_sums{FloatView("test::partial_sums", 1), 1};
  const ExecSpace exec;
  const FloatView values = test::to_view<float>({1e8f, 1, -1e8f, 1});
  block_tree_sum(exec, "quern::linalg::test_sum", schedule, {values.data(), 4, 1, 1}, partial_sums,
                 0);
  exec.fence("test: read sum");
  EXPECT_EQ(test::to_vector(partial_sums.data)[0], 0.0f);
}

// Rows of 128 floats lie 144 apart: who allocates otherwise than allocate_activation() is refused.
TEST(BlockSum, AnActivationBringsItsStride) {
  const BlockSchedule schedule = make_block_schedule(0, 2, 2, 2);
  const int num_partial_sums = schedule.num_partial_sums;
  for (const Layout layout : {Layout::nc, flat_layout()}) {
    for (const int units : {3, 112, 128}) {
      Activation values = allocate_activation("test::values", Shape{units}, layout, 6);
      Kokkos::deep_copy(values.data, 777.0f);  // what lies beside the values does not count
      const ActivationIndex at(values);
      const auto host = Kokkos::create_mirror_view(values.data);
      for (int s = 0; s < 4; ++s)
        for (int u = 0; u < units; ++u)
          host(static_cast<std::size_t>(at(s, u))) = static_cast<float>(1000 * s + u);
      Kokkos::deep_copy(values.data, host);
      const GradientSums partial_sums{
          FloatView("test::partial_sums", static_cast<std::size_t>(num_partial_sums * units)),
          units};
      const ExecSpace exec;
      block_tree_sum(exec, "quern::linalg::test_sum", schedule, values, partial_sums, 0);
      exec.fence("test: read sum");
      const std::vector<float> sums = test::to_vector(partial_sums.data);
      for (int u = 0; u < units; ++u)
        EXPECT_EQ(sums[static_cast<std::size_t>(u)], static_cast<float>(6000 + 4 * u)) << units;
    }
  }
  Activation short_one{FloatView("test::values", 4 * 128), Shape{128}, Layout::nc, 4};
  EXPECT_THROW(block_tree_sum(ExecSpace(), "quern::linalg::test_sum", schedule, short_one,
                              {FloatView("test::partial_sums", 128), 128}, 0),
               std::exception);
}

TEST(BlockSum, TooFewValuesAreRefused) {
  const BlockSchedule schedule = make_block_schedule(0, 4, 4, 2);
  const GradientSums partial_sums{FloatView("test::partial_sums", 4), 4};
  const FloatView values("test::values", 7);
  EXPECT_THROW(block_tree_sum(ExecSpace(), "quern::linalg::test_sum", schedule,
                              {values.data(), 7, 1, 1}, partial_sums, 0),
               std::exception);
}

}  // namespace
}  // namespace quern
