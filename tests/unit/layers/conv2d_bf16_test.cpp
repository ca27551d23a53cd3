// SPDX-License-Identifier: Apache-2.0
// Convolutions of a CPU with operands rounded to bfloat16.
#include <gtest/gtest.h>

#include "layers/conv2d_kernels.hpp"
#include "layers/reference/conv2d.hpp"
#include "linalg/reference/bf16_tiles.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"
#include "unit/layers/conv_layer_case.hpp"

namespace quern {
namespace {

using test::relative_difference;
using Case = test::ConvLayerCase;
using Inputs = test::ConvInputs;
using Values = std::vector<float>;

Values rounded(Values values) {
  for (float& value : values) value = reference::from_bf16(reference::to_bf16(value));
  return values;
}

// S, C, H, W, O, K, stride, padding; samples per micro-block.
const Case kCases[] = {
    {{1, 1, 1, 1, 1, 1, 1, 0}, 1},
    {{3, 2, 5, 7, 3, 3, 1, 0}, 2},
    {{5, 1, 28, 28, 20, 3, 1, 0}, 4},
    {{50, 20, 13, 13, 50, 5, 1, 0}, 33},
    {{18, 5, 9, 8, 17, 7, 1, 0}, 16},
    {{3, 35, 6, 5, 33, 3, 1, 0}, 1},
    {{17, 3, 11, 9, 7, 3, 2, 1}, 16},
    {{2, 3, 9, 8, 17, 4, 3, 2}, 1},
    {{3, 2, 12, 12, 9, 7, 1, 3}, 2},
    {{2, 1, 10, 10, 3, 6, 2, 0}, 2},
    {{33, 2, 4, 4, 2, 2, 2, 0}, 8},
    {{2, 2, 3, 33, 3, 1, 1, 1}, 2},
    {{17, 3, 19, 23, 9, 7, 2, 3}, 16},
    {{3, 70, 5, 7, 137, 1, 1, 0}, 2},
    {{18, 33, 7, 9, 66, 1, 2, 0}, 16},
    {{3, 67, 9, 7, 35, 3, 1, 1}, 1},
    {{2, 131, 8, 9, 33, 3, 2, 1}, 2},
    {{1, 2100, 2, 5, 9, 1, 1, 0}, 1},
    {{2, 300, 3, 41, 5, 3, 1, 1}, 2},
    {{1, 5, 4, 75, 700, 3, 2, 1}, 1},
    {{1, 3, 2, 131, 4, 5, 3, 2}, 1},
    {{40, 4, 6, 7, 18, 3, 1, 1}, 40},
    {{2, 3, 5, 5, 4, 1, 2, 1}, 2},
    {{1, 7, 5, 6, 3, 5, 1, 4}, 1},
    {{1, 1, 1, 1, 1, 1, 1, 1}, 1},
    {{2, 40, 30, 70, 40, 3, 1, 1}, 2},
    // The input channels of an item in runs of 16; an item with the rest.
    {{2, 48, 6, 7, 20, 3, 2, 1}, 2},
    {{3, 80, 5, 9, 33, 1, 1, 0}, 3},
    {{1, 600, 3, 4, 40, 3, 1, 1}, 1},
};

constexpr auto kTiles = OperandPrecision::bf16;
constexpr auto kPairs = OperandPrecision::bf16_pairs;

class Conv2dBf16 : public ::testing::TestWithParam<Case> {};

TEST_P(Conv2dBf16, IsTheProductOfRoundedOperands) {
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const Values x = rounded(in.x);
  const Values weight = rounded(in.weight);
  const auto expected = reference::conv2d_backward(d, x, weight, rounded(in.dy));
  for (const OperandPrecision precision : {kTiles, kPairs}) {
    const auto run = test::run_conv_layer(GetParam(), in, {precision});
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
  const auto expected = test::run_conv_layer(c, in, {unit.precision}, setup);
  const test::WithTileUnit with_vectors(vectors);
  const auto actual = test::run_conv_layer(c, in, {vectors.precision}, setup);
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

ConvShape shape_of(const reference::Conv2dShape& d) {
  return {d.C,
          d.H + 2 * d.padding,
          d.W + 2 * d.padding,
          d.O,
          d.out_height(),
          d.out_width(),
          d.K,
          d.stride,
          d.padding};
}

struct Passes {
  Values y, dx, d_weight;
};

// Of 48 rows, blocks of 16 and of 48, so that sums of blocks are merged or not.
Passes run_kernels(const Conv2dKernels& kernels, const ConvShape& shape, const FloatView& x,
                   const FloatView& dy) {
  constexpr int kGroups = 3;
  const ExecSpace exec;
  const auto array = [](std::int64_t floats) {
    return FloatView("test::array", static_cast<std::size_t>(floats));
  };
  const auto weight_floats = std::int64_t{shape.taps()} * shape.out_channels;
  const FloatView weight =
      test::to_view(test::random_values(static_cast<std::size_t>(weight_floats), 2));
  const FloatView forward = array(kernels.forward_floats(shape));
  const FloatView gradient = array(kernels.gradient_floats(shape));
  const FloatView y = array(kGroups * shape.out_group() / (shape.rounded_y ? 2 : 1));
  const FloatView dx = array(kGroups * shape.image_group() / (shape.rounded_dx ? 2 : 1));
  const FloatView d_weight = array(2 * weight_floats);
  kernels.pack_forward(exec, shape, weight.data(), forward.data());
  kernels.forward(exec, shape, kGroups * kLanes, x.data(), forward.data(), nullptr, false,
                  y.data());
  kernels.pack_gradient(exec, shape, weight.data(), gradient.data());
  kernels.input_gradient(exec, shape, kGroups * kLanes, dy.data(), gradient.data(), nullptr,
                         dx.data());
  const FloatView workspace = array(kernels.workspace_floats(shape, kGroups * kLanes));
  for (const int blocks : {1, kGroups}) {
    const BlockSchedule schedule =
        make_block_schedule(0, blocks, blocks, kGroups / blocks * kLanes);
    kernels.weight_gradient(exec, shape, schedule, x.data(), dy.data(), {d_weight, 0},
                            blocks == 1 ? 0 : weight_floats, workspace);
  }
  exec.fence("test: results");
  return {test::to_vector(y), test::to_vector(dx), test::to_vector(d_weight)};
}

TEST_P(Conv2dBf16, ReadsAndWritesArraysOfBfloat16) {
  const ConvShape shape = shape_of(GetParam().shape);
  const auto values = [](std::int64_t group, std::uint64_t seed) {
    return test::random_values(static_cast<std::size_t>(3 * group), seed);
  };
  const Values x = values(shape.image_group(), 1);
  const Values dy = values(shape.out_group(), 3);
  for (const OperandPrecision precision : {kTiles, kPairs}) {
    const Conv2dKernels& kernels = conv2d_kernels({precision});
    ASSERT_TRUE(kernels.rounds);
    const Passes expected = run_kernels(kernels, shape, test::to_view(x), test::to_view(dy));
    for (const bool rounds_x : {false, true}) {
      ConvShape rounded = shape;
      rounded.rounded_x = rounds_x;
      rounded.rounded_dy = true;
      rounded.rounded_y = !rounds_x;
      rounded.rounded_dx = rounds_x;
      const Passes actual =
          run_kernels(kernels, rounded, test::to_view(rounds_x ? test::stored_as_bf16(x) : x),
                      test::to_view(test::stored_as_bf16(dy)));
      EXPECT_EQ(test::bits_of(actual.y),
                test::bits_of(rounds_x ? expected.y : test::stored_as_bf16(expected.y)));
      EXPECT_EQ(test::bits_of(actual.dx),
                test::bits_of(rounds_x ? test::stored_as_bf16(expected.dx) : expected.dx));
      EXPECT_EQ(test::bits_of(actual.d_weight), test::bits_of(expected.d_weight));
    }
  }
}

// What the layer adds to, and where its input was not above 0.
TEST_P(Conv2dBf16, AddsToTheInputGradientOfOthers) {
  const ConvShape shape = shape_of(GetParam().shape);
  constexpr int kRows = 32;
  const auto values = [](std::int64_t count, std::uint64_t seed) {
    return test::to_view(test::random_values(static_cast<std::size_t>(count), seed));
  };
  const std::int64_t images = kRows / kLanes * shape.image_group();
  const FloatView dy = values(kRows / kLanes * shape.out_group(), 1);
  const FloatView weight = values(std::int64_t{shape.taps()} * shape.out_channels, 2);
  const FloatView x = values(images, 3);
  const ExecSpace exec;
  for (const OperandPrecision precision : {kTiles, kPairs}) {
    const Conv2dKernels& kernels = conv2d_kernels({precision});
    const FloatView packed("test::packed",
                           static_cast<std::size_t>(kernels.gradient_floats(shape)));
    kernels.pack_gradient(exec, shape, weight.data(), packed.data());
    const FloatView own("test::own", static_cast<std::size_t>(images));
    kernels.input_gradient(exec, shape, kRows, dy.data(), packed.data(), nullptr, own.data());
    for (const float* mask :
         {static_cast<const float*>(nullptr), static_cast<const float*>(x.data())}) {
      const FloatView sum = values(images, 4);
      Values expected = test::to_vector(sum);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = mask && x(i) <= 0 ? 0 : expected[i] + own(i);
      kernels.add_input_gradient(exec, shape, kRows, dy.data(), packed.data(), mask, sum.data());
      exec.fence("test: results");
      EXPECT_EQ(test::bits_of(test::to_vector(sum)), test::bits_of(expected));
    }
  }
}

TEST_P(Conv2dBf16, AppliesReluAndItsDerivative) {
  test::expect_relu_and_its_derivative(GetParam(), {kTiles});
}

TEST_P(Conv2dBf16, WithoutBiasHasTheBitsOfABiasOfZeros) {
  test::expect_bits_of_a_bias_of_zeros(GetParam(), {kTiles});
}

INSTANTIATE_TEST_SUITE_P(Sizes, Conv2dBf16, ::testing::ValuesIn(kCases));

TEST(Conv2dBf16Gradient, IsTheSameForOneRankAndTwo) {
  const ConvShape shape{3, 12, 11, 9, 10, 9, 3, 1};
  for (const OperandPrecision precision : {kTiles, kPairs})
    for (const int block_rows : {16, 32, 48})
      test::expect_same_weight_gradient_for_one_rank_and_two(conv2d_kernels({precision}), shape,
                                                             block_rows);
}

}  // namespace
}  // namespace quern
