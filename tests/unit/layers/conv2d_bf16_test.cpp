// SPDX-License-Identifier: Apache-2.0
// Convolutions of a CPU with operands rounded to bfloat16.
#include <gtest/gtest.h>

#include <ostream>

#include "layers/conv2d.hpp"
#include "layers/conv2d_kernels.hpp"
#include "layers/reference/conv2d.hpp"
#include "linalg/reference/bf16_tiles.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"

namespace quern {
namespace {

using test::make_view;
using test::random_values;
using test::read;
using test::relative_difference;

using Values = std::vector<float>;

Values rounded(Values values) {
  for (float& value : values) value = reference::from_bf16(reference::to_bf16(value));
  return values;
}

struct Case {
  reference::Conv2dShape shape;
  int block;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  const auto& d = c.shape;
  for (const int number : {d.S, d.C, d.H, d.W, d.O, d.K, d.stride, d.padding, c.block})
    out << number << ' ';
  return out;
}

// S, C, H, W, O, K, stride, padding; samples per micro-block.
const Case kCases[] = {
    {{1, 1, 1, 1, 1, 1, 1, 0}, 1},     {{3, 2, 5, 7, 3, 3, 1, 0}, 2},
    {{5, 1, 28, 28, 20, 3, 1, 0}, 4},  {{50, 20, 13, 13, 50, 5, 1, 0}, 33},
    {{18, 5, 9, 8, 17, 7, 1, 0}, 16},  {{3, 35, 6, 5, 33, 3, 1, 0}, 1},
    {{17, 3, 11, 9, 7, 3, 2, 1}, 16},  {{2, 3, 9, 8, 17, 4, 3, 2}, 1},
    {{3, 2, 12, 12, 9, 7, 1, 3}, 2},   {{2, 1, 10, 10, 3, 6, 2, 0}, 2},
    {{33, 2, 4, 4, 2, 2, 2, 0}, 8},    {{2, 2, 3, 33, 3, 1, 1, 1}, 2},
    {{17, 3, 19, 23, 9, 7, 2, 3}, 16}, {{3, 70, 5, 7, 137, 1, 1, 0}, 2},
    {{18, 33, 7, 9, 66, 1, 2, 0}, 16}, {{3, 67, 9, 7, 35, 3, 1, 1}, 1},
    {{2, 131, 8, 9, 33, 3, 2, 1}, 2},  {{1, 2100, 2, 5, 9, 1, 1, 0}, 1},
    {{2, 300, 3, 41, 5, 3, 1, 1}, 2},  {{1, 5, 4, 75, 700, 3, 2, 1}, 1},
    {{1, 3, 2, 131, 4, 5, 3, 2}, 1},   {{40, 4, 6, 7, 18, 3, 1, 1}, 40},
    {{2, 3, 5, 5, 4, 1, 2, 1}, 2},     {{1, 7, 5, 6, 3, 5, 1, 4}, 1},
    {{1, 1, 1, 1, 1, 1, 1, 1}, 1},     {{2, 40, 30, 70, 40, 3, 1, 1}, 2},
};

LayerSpec spec_of(const Case& c, bool bias = true) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.name = "conv";
  spec.channels = c.shape.O;
  spec.kernel = c.shape.K;
  spec.stride = c.shape.stride;
  spec.padding = c.shape.padding;
  spec.bias = bias;
  return spec;
}

constexpr auto kTiles = OperandPrecision::bf16;
constexpr auto kPairs = OperandPrecision::bf16_pairs;

struct Inputs {
  Values x, dy, weight, bias;

  explicit Inputs(const reference::Conv2dShape& d)
      : x(random_values(d.x_size(), 1)),
        dy(random_values(d.y_size(), 2)),
        weight(random_values(d.weight_size(), 3)),
        bias(random_values(static_cast<std::size_t>(d.O), 4)) {}
};

test::LayerRun run_case(const Case& c, const Inputs& in, const LayerSetup& setup = {},
                        bool bias = true, OperandPrecision precision = kTiles) {
  Conv2d layer(spec_of(c, bias), Shape{c.shape.C, c.shape.H, c.shape.W}, {precision});
  std::map<std::string, Values> parameters{{"conv.weight", in.weight}};
  if (bias) parameters["conv.bias"] = in.bias;
  return test::run_layer(layer, c.shape.S, c.block, in.x, in.dy, parameters, setup);
}

class Conv2dBf16 : public ::testing::TestWithParam<Case> {};

TEST_P(Conv2dBf16, IsTheProductOfRoundedOperands) {
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const Values x = rounded(in.x);
  const Values weight = rounded(in.weight);
  const auto expected = reference::conv2d_backward(d, x, weight, rounded(in.dy));
  for (const OperandPrecision precision : {kTiles, kPairs}) {
    const auto run = run_case(GetParam(), in, {}, true, precision);
    EXPECT_LT(relative_difference(reference::conv2d_forward(d, x, weight, in.bias), run.y), 3e-6);
    EXPECT_LT(relative_difference(expected.dx, run.dx), 3e-6);
    EXPECT_LT(relative_difference(expected.weight, run.gradients.at("conv.weight")), 3e-6);
    EXPECT_LT(relative_difference(reference::conv2d_backward(d, in.x, in.weight, in.dy).bias,
                                  run.gradients.at("conv.bias")),
              3e-6);
  }
}

// By `unit` as by vector registers.
void expect_same_bits(const Case& c, const host::TileUnit& unit, const host::TileUnit& vectors) {
  const Inputs in(c.shape);
  LayerSetup setup;
  setup.with_relu = true;
  const test::WithTileUnit with_unit(unit);
  const auto expected = run_case(c, in, setup, true, unit.precision);
  const test::WithTileUnit with_vectors(vectors);
  const auto actual = run_case(c, in, setup, true, vectors.precision);
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dx, expected.dx);
  EXPECT_EQ(actual.gradients, expected.gradients);
}

TEST_P(Conv2dBf16, HasTheSameBitsWithoutATileUnit) {
  if (!host::amx_tile_unit()) GTEST_SKIP() << "no tile unit here";
  expect_same_bits(GetParam(), *host::amx_tile_unit(), host::vector_tile_unit());
}

TEST_P(Conv2dBf16, HasTheSameBitsWithoutAvx512Bf16) {
  if (!host::avx512_bf16_unit()) GTEST_SKIP() << "no AVX512_BF16 here";
  expect_same_bits(GetParam(), *host::avx512_bf16_unit(), host::vector_pair_unit());
}

TEST_P(Conv2dBf16, AppliesReluAndItsDerivative) {
  const Case& c = GetParam();
  const Inputs in(c.shape);
  const auto plain = run_case(c, in);
  LayerSetup setup;
  setup.with_relu = true;
  setup.with_input_relu = c.shape.padding == 0;
  const auto relu = run_case(c, in, setup);
  for (std::size_t i = 0; i < relu.y.size(); ++i) ASSERT_EQ(relu.y[i], std::max(plain.y[i], 0.0f));
  if (!setup.with_input_relu) return;
  for (std::size_t i = 0; i < relu.dx.size(); ++i) {
    ASSERT_EQ(relu.dx[i], in.x[i] > 0 ? plain.dx[i] : 0.0f);
  }
}

TEST_P(Conv2dBf16, WithoutBiasHasTheBitsOfABiasOfZeros) {
  const Case& c = GetParam();
  Inputs in(c.shape);
  in.bias.assign(in.bias.size(), 0.0f);
  auto expected = run_case(c, in);
  const auto actual = run_case(c, in, {}, false);
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dx, expected.dx);
  expected.gradients.erase("conv.bias");
  EXPECT_EQ(actual.gradients, expected.gradients);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Conv2dBf16, ::testing::ValuesIn(kCases));

/// The weight gradient of the blocks [first, last), one partial sum.
Values weight_gradient(const ConvShape& shape, OperandPrecision precision, int first, int last,
                       int blocks, int block_rows, const Values& x, const Values& dy) {
  const Conv2dKernels& kernels = conv2d_kernels({precision});
  const BlockSchedule schedule = make_block_schedule(first, last, blocks, block_rows);
  EXPECT_EQ(schedule.num_partial_sums, 1);
  const std::int64_t group = std::int64_t{first} * block_rows / kLanes;
  const FloatView x_view = make_view(x);
  const FloatView dy_view = make_view(dy);
  const auto size = static_cast<std::size_t>(shape.taps()) * shape.out_channels;
  const FloatView sums = make_view(Values(size, 7.0f));
  const FloatView workspace(
      "", static_cast<std::size_t>(kernels.workspace_floats(shape, schedule.rows())));
  kernels.weight_gradient(ExecSpace(), shape, schedule, x_view.data() + group * shape.in_group(),
                          dy_view.data() + group * shape.out_group(), {sums, 0}, 0, workspace);
  return read(sums, 0, size);
}

TEST(Conv2dBf16Gradient, IsTheSameForOneRankAndTwo) {
  const ConvShape shape{3, 12, 11, 9, 10, 9, 3, 1};
  for (const OperandPrecision precision : {kTiles, kPairs}) {
    for (const int block_rows : {16, 32, 48}) {
      const std::int64_t groups = 8 * block_rows / kLanes;
      const Values x = random_values(static_cast<std::size_t>(groups * shape.in_group()), 1);
      const Values dy = random_values(static_cast<std::size_t>(groups * shape.out_group()), 2);
      const auto of_blocks = [&](int first, int last) {
        return weight_gradient(shape, precision, first, last, 8, block_rows, x, dy);
      };
      Values sum = of_blocks(0, 4);
      const Values right = of_blocks(4, 8);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
      EXPECT_EQ(of_blocks(0, 8), sum);
    }
  }
}

}  // namespace
}  // namespace quern
