// SPDX-License-Identifier: Apache-2.0
#include "linalg/gemm.hpp"
#include "base/ceil_div.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ostream>

#include "linalg/reference/gemm.hpp"
#include "support/activation_io.hpp"
#include "support/random_values.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;

void expect_close(const std::vector<double>& expected, const std::vector<float>& actual, int k) {
  ASSERT_EQ(expected.size(), actual.size());
  const double tolerance = 1e-7 * (k + 4);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(expected[i], actual[i], tolerance) << "element " << i;
  }
}

struct Size {
  int m, n, k;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.m << " x " << size.n << " x " << size.k;
}

class Gemm : public ::testing::TestWithParam<Size> {};

TEST_P(Gemm, AgreesWithItsReferenceAndLeavesThePaddingAlone) {
  const auto [m, n, k] = GetParam();
  const auto a = random_values(static_cast<std::size_t>(m) * k, 1);
  const auto b = random_values(static_cast<std::size_t>(k) * n, 2);
  const auto bias = random_values(static_cast<std::size_t>(n), 3);
  const int row = n + 5;
  const FloatView a_view = make_view(a);
  const FloatView b_view = make_view(b);
  const FloatView bias_view = make_view(bias);
  const FloatView c_view = make_view(std::vector<float>(static_cast<std::size_t>(m) * row, 7.0f));

  multiply(ExecSpace(), "quern::test::multiply", {c_view.data(), m, n, row},
           {a_view.data(), m, k, k}, {b_view.data(), k, n, n}, {bias_view.data()});

  const auto spread = read(c_view, 0, static_cast<std::size_t>(m) * row);
  std::vector<float> c;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < row; ++j) {
      if (j < n) {
        c.push_back(spread[i * row + j]);
      } else {
        ASSERT_EQ(spread[i * row + j], 7.0f) << "padding of row " << i;
      }
    }
  }
  expect_close(reference::multiply(m, n, k, a, b, bias), c, k);
}

TEST_P(Gemm, EpilogueIsWhatItsStepsAreOneByOne) {
  const int m = GetParam().m, n = GetParam().n, k = GetParam().k;
  const auto size = static_cast<std::size_t>(m) * n;
  const FloatView a = make_view(random_values(static_cast<std::size_t>(m) * k, 1));
  const FloatView b = make_view(random_values(static_cast<std::size_t>(k) * n, 2));
  const auto bias = random_values(static_cast<std::size_t>(n), 3);
  auto mask = random_values(size, 4);
  mask[0] = 0;
  const FloatView bias_view = make_view(bias);
  const FloatView mask_view = make_view(mask);
  const auto run = [&](const Epilogue& epilogue) {
    const FloatView c = make_view(std::vector<float>(size));
    multiply(ExecSpace(), "quern::test::multiply", {c.data(), m, n, n}, {a.data(), m, k, k},
             {b.data(), k, n, n}, epilogue);
    return read(c, 0, size);
  };

  std::vector<float> expected = run({});
  for (std::size_t i = 0; i < size; ++i) expected[i] += bias[i % n];
  EXPECT_EQ(run({bias_view.data()}), expected);
  for (std::size_t i = 0; i < size; ++i) expected[i] = expected[i] <= 0 ? 0 : expected[i];
  EXPECT_EQ(run({bias_view.data(), true}), expected);
  for (std::size_t i = 0; i < size; ++i) expected[i] = mask[i] <= 0 ? 0 : expected[i];
  EXPECT_EQ(run({bias_view.data(), true, mask_view.data()}), expected);
}

TEST(GemmEpilogue, KeepsWhatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const FloatView a = make_view({nan, 1.0f});
  const FloatView b = make_view({1.0f});
  const FloatView mask = make_view({nan, nan});
  const FloatView c = make_view({7.0f, 7.0f});
  Epilogue epilogue;
  epilogue.relu = true;
  epilogue.relu_mask = mask.data();
  multiply(ExecSpace(), "quern::test::multiply", {c.data(), 2, 1, 1}, {a.data(), 2, 1, 1},
           {b.data(), 1, 1, 1}, epilogue);
  const auto values = read(c, 0, 2);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 1.0f);
}

TEST_P(Gemm, ElementsDoNotDependOnTheRowsAroundThem) {
  const auto [m, n, k] = GetParam();
  const FloatView a = make_view(random_values(static_cast<std::size_t>(m) * k, 1));
  const FloatView b = make_view(random_values(static_cast<std::size_t>(k) * n, 2));
  const std::size_t size = static_cast<std::size_t>(m) * n;
  const FloatView whole = make_view(std::vector<float>(size));
  const FloatView rows = make_view(std::vector<float>(size));

  multiply(ExecSpace(), "quern::test::multiply", {whole.data(), m, n, n}, {a.data(), m, k, k},
           {b.data(), k, n, n}, {});
  for (int i = 0; i < m; ++i) {
    multiply(ExecSpace(), "quern::test::multiply", {rows.data() + i * n, 1, n, n},
             {a.data() + i * k, 1, k, k}, {b.data(), k, n, n}, {});
  }

  EXPECT_EQ(read(whole, 0, size), read(rows, 0, size));
}

TEST_P(Gemm, BlockSumsFollowTheTree) {
  const int m = GetParam().m, n = GetParam().n, k = GetParam().k;
  const int block_rows = 3;
  const int blocks = ceil_div(k, block_rows);
  const int num_rows = blocks * block_rows;
  const auto a = random_values(static_cast<std::size_t>(num_rows) * m, 4);
  const auto b = random_values(static_cast<std::size_t>(num_rows) * n, 5);
  const FloatView a_view = make_view(a);
  const FloatView b_view = make_view(b);
  const std::size_t size = static_cast<std::size_t>(m) * n;

  // One rank owns everything; or the tree is cut after the first third.
  const auto run = [&](int first, int last, std::vector<std::vector<float>>* partial_sums) {
    const BlockSchedule schedule = make_block_schedule(first, last, blocks, block_rows);
    const std::int64_t stride = static_cast<std::int64_t>(size) + 16;
    const FloatView out = make_view(std::vector<float>(stride * (schedule.num_partial_sums + 1)));
    multiply_blocks(ExecSpace(), "quern::test::multiply_blocks", schedule, {out, stride}, {16, n},
                    {a_view.data() + first * block_rows * m, schedule.rows(), m, m},
                    {b_view.data() + first * block_rows * n, schedule.rows(), n, n});
    for (int p = 0; p < schedule.num_partial_sums; ++p) {
      partial_sums->push_back(read(out, 16 + p * stride, size));
    }
  };
  std::vector<std::vector<float>> whole;
  run(0, blocks, &whole);
  std::vector<std::vector<float>> pieces;
  const int cut = blocks / 3;
  run(0, cut, &pieces);
  run(cut, blocks, &pieces);

  ASSERT_EQ(whole.size(), 1u);
  std::vector<float> a_t(static_cast<std::size_t>(m) * num_rows);
  for (int s = 0; s < num_rows; ++s) {
    for (int i = 0; i < m; ++i) a_t[i * num_rows + s] = a[s * m + i];
  }
  expect_close(reference::multiply(m, n, num_rows, a_t, b, {}), whole[0], num_rows);

  const BlockTree tree(blocks);
  std::vector<TreeNode> nodes = tree.traverse_blocks(0, cut).roots;
  for (const TreeNode& node : tree.traverse_blocks(cut, blocks).roots) nodes.push_back(node);
  const auto merges = tree.traverse_nodes(nodes).merges;
  std::vector<std::vector<float>> stack;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    stack.push_back(pieces[p]);
    for (int merge = 0; merge < merges[p]; ++merge) {
      const std::vector<float> right = stack.back();
      stack.pop_back();
      for (std::size_t i = 0; i < size; ++i) stack.back()[i] = stack.back()[i] + right[i];
    }
  }
  EXPECT_EQ(stack.front(), whole[0]);
}

// `rows`, a row-major [k, n], in panels.
FloatView panels_of(const std::vector<float>& rows, int k, int n) {
  const FloatView view("quern::test::panels", static_cast<std::size_t>(k * round_up_to_lanes(n)));
  const auto host = Kokkos::create_mirror_view(view);
  const auto panels = in_panels(host.data(), k, n);
  for (int r = 0; r < k; ++r) {
    for (int c = 0; c < n; ++c) panels.data[panels.place(r, c)] = rows[r * n + c];
  }
  Kokkos::deep_copy(view, host);
  return view;
}

std::vector<float> rows_of(const FloatView& view, int k, int n) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  const auto panels = in_panels(host.data(), k, n);
  std::vector<float> rows;
  for (int r = 0; r < k; ++r) {
    for (int c = 0; c < n; ++c) rows.push_back(panels.data[panels.place(r, c)]);
  }
  return rows;
}

class GemmInPanels : public Gemm {
 protected:
  void SetUp() override {
    if (runs_device_kernels()) GTEST_SKIP() << "panels are for CPUs";
  }
};

TEST_P(GemmInPanels, ProductHasTheBitsOfRowMajor) {
  const int m = GetParam().m, n = GetParam().n, k = GetParam().k;
  const auto a = random_values(static_cast<std::size_t>(m) * k, 1);
  const FloatView a_rows = make_view(a);
  const FloatView a_panels = panels_of(a, m, k);
  const auto b = random_values(static_cast<std::size_t>(k) * n, 2);
  const FloatView b_rows = make_view(b);
  const FloatView b_panels = panels_of(b, k, n);
  const auto size = static_cast<std::size_t>(m) * n;
  const auto run = [&](const ConstMatrix& left, const ConstMatrix& right) {
    const FloatView c = make_view(std::vector<float>(size));
    multiply(ExecSpace(), "quern::test::multiply", {c.data(), m, n, n}, left, right, {});
    return read(c, 0, size);
  };
  const ConstMatrix in_rows{a_rows.data(), m, k, k};
  const auto b_in_panels = in_panels<const float>(b_panels.data(), k, n);
  const auto expected = run(in_rows, {b_rows.data(), k, n, n});
  EXPECT_EQ(run(in_rows, b_in_panels), expected);
  EXPECT_EQ(run(in_panels<const float>(a_panels.data(), m, k), b_in_panels), expected);
}

TEST_P(GemmInPanels, BlockSumsHaveTheBitsOfRowMajor) {
  const auto [m, n, k] = GetParam();
  const BlockSchedule schedule = make_block_schedule(0, k, k, 2);
  const int num_rows = schedule.rows();
  const auto a = random_values(static_cast<std::size_t>(num_rows) * m, 4);
  const auto b = random_values(static_cast<std::size_t>(num_rows) * n, 5);
  const FloatView a_rows = make_view(a);
  const FloatView b_rows = make_view(b);
  const FloatView a_panels = panels_of(a, num_rows, m);
  const FloatView b_panels = panels_of(b, num_rows, n);
  const auto run = [&](const FloatView& gradient, const GradientPlace& place,
                       const ConstMatrix& left, const ConstMatrix& right) {
    multiply_blocks(ExecSpace(), "quern::test::multiply_blocks", schedule, {gradient, 0}, place,
                    left, right);
  };
  const auto size = static_cast<std::size_t>(m) * n;
  const FloatView rows = make_view(std::vector<float>(size));
  run(rows, {0, n}, {a_rows.data(), num_rows, m, m}, {b_rows.data(), num_rows, n, n});
  const FloatView panels = panels_of(std::vector<float>(size), m, n);
  run(panels, {0, kLanes, std::int64_t{m} * kLanes},
      in_panels<const float>(a_panels.data(), num_rows, m),
      in_panels<const float>(b_panels.data(), num_rows, n));
  EXPECT_EQ(read(rows, 0, size), rows_of(panels, m, n));
}

INSTANTIATE_TEST_SUITE_P(OddSizes, GemmInPanels,
                         ::testing::Values(Size{1, 1, 1}, Size{3, 17, 5}, Size{17, 33, 3},
                                           Size{33, 65, 17}, Size{7, 257, 3}, Size{257, 10, 33},
                                           Size{6, 64, 16}));

INSTANTIATE_TEST_SUITE_P(OddSizes, Gemm,
                         ::testing::Values(Size{1, 1, 1}, Size{3, 17, 5}, Size{17, 3, 33},
                                           Size{33, 65, 17}, Size{7, 257, 3}, Size{257, 10, 33},
                                           Size{13, 100, 257}, Size{6, 64, 16}));

}  // namespace
}  // namespace quern
