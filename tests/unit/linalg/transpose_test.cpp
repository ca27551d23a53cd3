// SPDX-License-Identifier: Apache-2.0
// The transpose of host/, between rows and between panels of odd sizes.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "linalg/host/gemm.hpp"
#include "support/activation_io.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;

constexpr float kPadding = 7;

/// That of `a` [m, n], values at their places, into memory of `size` floats.
std::vector<float> transposed(const std::vector<float>& values, ConstMatrix a, Matrix b,
                              std::size_t size) {
  const FloatView from = make_view(values);
  const FloatView to = make_view(std::vector<float>(size, kPadding));
  a.data = from.data();
  b.data = to.data();
  host::transpose(ExecSpace(), "quern::test::transpose", b, a);
  return read(to, 0, size);
}

class HostTranspose : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(HostTranspose, OfRowsLeavesThePaddingAlone) {
  const auto [m, n] = GetParam();
  const auto a = random_values(static_cast<std::size_t>(m) * n, 6);
  const int row = m + 3;
  const auto b =
      transposed(a, {nullptr, m, n, n}, {nullptr, n, m, row}, static_cast<std::size_t>(n) * row);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < row; ++i)
      ASSERT_EQ(b[j * row + i], i < m ? a[i * n + j] : kPadding) << i << ", " << j;
  }
}

TEST_P(HostTranspose, OfPanels) {
  const auto [m, n] = GetParam();
  const auto a_place = in_panels<const float>(nullptr, m, n);
  const auto b_place = in_panels<float>(nullptr, n, m);
  const auto a = random_values(static_cast<std::size_t>(m) * round_up_to_lanes(n), 6);
  const auto b =
      transposed(a, a_place, b_place, static_cast<std::size_t>(n) * round_up_to_lanes(m));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j)
      ASSERT_EQ(b[b_place.place(j, i)], a[a_place.place(i, j)]) << i << ", " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(OddSizes, HostTranspose,
                         ::testing::Values(std::pair(1, 1), std::pair(3, 17), std::pair(16, 16),
                                           std::pair(33, 65), std::pair(257, 10)));

}  // namespace
}  // namespace quern
