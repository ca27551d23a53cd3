// SPDX-License-Identifier: Apache-2.0
// The kernel of products with rounded operands on teams as a device has them: 128 threads at once,
// four warps of 32 that share tiles. The same bits as on the single thread that a CPU has for a
// team.
#include <gtest/gtest.h>

#include "layers/device/conv2d_tensor.hpp"
#include "layers/device/conv2d_tensor_gradient.hpp"
#include "layers/device/conv2d_tensor_products.hpp"
#include "linalg/device/dense_problems.hpp"
#include "support/random_values.hpp"
#include "support/thread_team.hpp"
#include "support/views.hpp"

namespace quern::device {
namespace {

using test::random_values;
using Values = std::vector<float>;

constexpr ConvShape kShape{5, 9, 9, 50, 7, 7, 3, 1};
constexpr int kGroups = 2;

/// What `problem` writes to `out`, by teams of one thread and by whole ones.
template <class Operand, class Problem>
void expect_same(std::int64_t teams, const Problem& problem, Values& out) {
  std::fill(out.begin(), out.end(), 7.0f);
  for_each_team(ExecSpace(), "quern::test::one_thread", teams,
                TensorProduct<Problem, Operand, 1, 1>{problem});
  const Values expected = out;
  std::fill(out.begin(), out.end(), 7.0f);
  test::run_thread_teams(teams, TensorProduct<Problem, Operand, 128, 32>{problem});
  EXPECT_EQ(expected, out);
}

struct Packed {
  explicit Packed(std::int64_t floats) : values(static_cast<std::size_t>(floats) + 16) {}
  float* data() {
    auto* begin = values.data();
    return begin + (64 - reinterpret_cast<std::uintptr_t>(begin) % 64) % 64 / sizeof(float);
  }
  Values values;
};

template <class Operand>
class TensorTeam : public ::testing::Test {};
using Operands = ::testing::Types<Tf32Operand, Bf16Operand>;
TYPED_TEST_SUITE(TensorTeam, Operands);

TYPED_TEST(TensorTeam, ForwardOfAConvolution) {
  using Kernels = TensorConv2d<TypeParam>;
  const FloatView x = test::to_view(random_values(kGroups * kShape.in_group(), 1));
  const Values weight = random_values(50 * kShape.taps(), 2);
  const Values bias = random_values(50, 3);
  Packed packed(Kernels::forward_floats(kShape));
  Kernels::pack_forward(ExecSpace(), kShape, weight.data(), packed.data());
  const ForwardPatches patches{kShape, x.data(), reinterpret_cast<const int*>(packed.data())};
  const int depth = whole_panels(kShape.taps()) * kPanelDepth;
  Values y(static_cast<std::size_t>(kGroups * kShape.out_group()));
  const auto check = [&]<int RowTiles>() {
    const PixelTeams<RowTiles> teams{50, patches.tiles().teams(), kGroups, depth / kPanelDepth};
    const ForwardProblem<RowTiles> problem{
        {packed.data() + round_up_to_lanes(kShape.taps()), depth},
        patches,
        teams,
        bias.data(),
        true,
        y.data()};
    expect_same<TypeParam>(teams.count(), problem, y);
  };
  check.template operator()<2>();
  check.template operator()<4>();
}

TYPED_TEST(TensorTeam, InputGradientOfAConvolution) {
  using Kernels = TensorConv2d<TypeParam>;
  const FloatView dy = test::to_view(random_values(kGroups * kShape.out_group(), 1));
  const Values weight = random_values(50 * kShape.taps(), 2);
  Packed packed(Kernels::gradient_floats(kShape));
  Kernels::pack_gradient(ExecSpace(), kShape, weight.data(), packed.data());
  const GradientPatches patches{kShape, dy.data()};
  const int depth = 9 * patches.panels_of_tap() * kPanelDepth;
  Values dx(static_cast<std::size_t>(kGroups * kShape.in_group()));
  const PixelTeams<2> teams{5, patches.tiles().teams(), kGroups, depth / kPanelDepth};
  const InputGradientProblem<2> problem{{packed.data(), depth}, patches, teams, nullptr, dx.data()};
  expect_same<TypeParam>(teams.count(), problem, dx);
}

TYPED_TEST(TensorTeam, WeightGradientOfAConvolution) {
  const FloatView x = test::to_view(random_values(kGroups * kShape.in_group(), 1));
  const FloatView dy = test::to_view(random_values(kGroups * kShape.out_group(), 2));
  const ChannelLanes a{{dy.data(), kShape.out_group(), 7, 1, 7, 7}, 50, kLanes * 49};
  const TapLanes b{{x.data(), kShape.in_group(), 9, 1, 7, 7}, kShape};
  const BlockSlices cut{1, 49, 2, 25};
  Values sums(static_cast<std::size_t>(kGroups * 2 * 50 * kShape.taps()));
  const WeightGradientProblem<4> problem{a, b, cut, 0, kGroups, sums.data()};
  expect_same<TypeParam>(problem.num_teams(), problem, sums);
}

TYPED_TEST(TensorTeam, DenseProducts) {
  const int m = 37, n = 70, k = 81;
  const FloatView a = test::to_view(random_values(m * 84, 1));
  const FloatView b = test::to_view(random_values(k * 72, 2));
  const FloatView b_t = test::to_view(random_values(n * 84, 3));
  Values c(static_cast<std::size_t>(m) * 72);
  const Matrix result{c.data(), m, n, 72};
  const auto check = [&]<int RowTiles>() {
    const EpilogueProblem<RowTiles, false> problem{
        {a.data(), 84, m}, {b.data(), 72, n}, k, result, {}};
    expect_same<TypeParam>(problem.tiles().count(), problem, c);
    const EpilogueProblem<RowTiles, true> transposed{
        {a.data(), 84, m}, {b_t.data(), 84, n}, k, result, {}};
    expect_same<TypeParam>(transposed.tiles().count(), transposed, c);
  };
  check.template operator()<1>();
  check.template operator()<4>();

  const FloatView x = test::to_view(random_values(40 * 40, 4));
  Values sums(static_cast<std::size_t>(2 * m) * 72);
  const FloatView dy = test::to_view(random_values(40 * 72, 5));
  const BlocksProblem<4> blocks{{x.data(), 40, m}, {dy.data(), 72, n}, 72, 20, 0, 2, sums.data()};
  expect_same<TypeParam>(blocks.num_teams(), blocks, sums);
}

}  // namespace
}  // namespace quern::device
