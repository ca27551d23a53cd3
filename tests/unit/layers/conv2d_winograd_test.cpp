// SPDX-License-Identifier: Apache-2.0
// Convolutions of a CPU by Winograd's algorithm.
#include <gtest/gtest.h>

#include "layers/host/conv2d_winograd.hpp"
#include "layers/reference/conv2d_winograd.hpp"
#include "support/fused_products.hpp"
#include "unit/layers/conv_layer_case.hpp"

namespace quern {
namespace {

using test::relative_difference;
using Case = test::ConvLayerCase;
using Inputs = test::ConvInputs;

// S, C, H, W, O, K, stride, padding; samples per micro-block.
const Case kCases[] = {
    {{1, 16, 1, 1, 16, 3, 1, 1}, 1},    {{3, 16, 7, 9, 17, 3, 1, 1}, 2},
    {{17, 33, 8, 6, 21, 3, 1, 0}, 16},  {{2, 17, 5, 31, 16, 3, 1, 2}, 2},
    {{40, 16, 6, 7, 18, 3, 1, 1}, 40},  {{2, 70, 14, 29, 67, 3, 1, 1}, 2},
    {{33, 19, 9, 10, 23, 3, 1, 1}, 33}, {{50, 65, 5, 4, 129, 3, 1, 1}, 48},
    {{2, 16, 3, 3, 16, 3, 1, 0}, 1},    {{1, 24, 57, 58, 20, 3, 1, 1}, 1},
};

KernelChoice winograd() {
  KernelChoice choice;
  choice.winograd = true;
  return choice;
}

class Conv2dWinograd : public ::testing::TestWithParam<Case> {};

TEST_P(Conv2dWinograd, HasTheBitsOfItsReference) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const auto run = test::run_conv_layer(GetParam(), in, winograd());
  EXPECT_EQ(run.y, reference::conv2d_winograd_forward(d, in.x, in.weight, in.bias));
  EXPECT_EQ(run.dx, reference::conv2d_winograd_input_gradient(d, in.weight, in.dy));
}

TEST_P(Conv2dWinograd, IsTheConvolution) {
  const reference::Conv2dShape& d = GetParam().shape;
  const Inputs in(d);
  const auto run = test::run_conv_layer(GetParam(), in, winograd());
  const auto expected = reference::conv2d_backward(d, in.x, in.weight, in.dy);
  EXPECT_LT(relative_difference(reference::conv2d_forward(d, in.x, in.weight, in.bias), run.y),
            3e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 3e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("conv.weight")), 3e-6);
  EXPECT_LT(relative_difference(expected.bias, run.gradients.at("conv.bias")), 3e-6);
}

TEST_P(Conv2dWinograd, AppliesReluAndItsDerivative) {
  test::expect_relu_and_its_derivative(GetParam(), winograd());
}

TEST_P(Conv2dWinograd, WithoutBiasHasTheBitsOfABiasOfZeros) {
  test::expect_bits_of_a_bias_of_zeros(GetParam(), winograd());
}

INSTANTIATE_TEST_SUITE_P(OddSizes, Conv2dWinograd, ::testing::ValuesIn(kCases));

class NotByWinograd : public ::testing::TestWithParam<Case> {};

TEST_P(NotByWinograd, HasTheBitsOfTheDirectConvolution) {
  const Case& c = GetParam();
  const Inputs in(c.shape);
  const auto expected = test::run_conv_layer(c, in, {});
  const auto actual = test::run_conv_layer(c, in, winograd());
  EXPECT_EQ(actual.y, expected.y);
  EXPECT_EQ(actual.dx, expected.dx);
  EXPECT_EQ(actual.gradients, expected.gradients);
}

// Fewer channels, strides, other kernels, wider borders; few samples in a group and many.
INSTANTIATE_TEST_SUITE_P(
    Others, NotByWinograd,
    ::testing::Values(Case{{3, 15, 7, 9, 17, 3, 1, 1}, 2}, Case{{17, 16, 7, 9, 15, 3, 1, 1}, 16},
                      Case{{3, 16, 7, 9, 17, 3, 2, 1}, 2}, Case{{17, 16, 7, 9, 17, 5, 1, 2}, 16},
                      Case{{3, 16, 7, 9, 17, 1, 1, 0}, 2}, Case{{17, 16, 4, 5, 17, 3, 1, 3}, 16}));

TEST(Conv2dWinogradGradient, IsTheSameForOneRankAndTwo) {
  const ConvShape shape{21, 11, 13, 18, 9, 11, 3, 1, 1};
  for (const int block_rows : {16, 32, 48}) {
    ASSERT_TRUE(host::suits_winograd_gradient(shape, block_rows));
    test::expect_same_weight_gradient_for_one_rank_and_two(host::conv2d_winograd_kernels(), shape,
                                                           block_rows);
  }
}

}  // namespace
}  // namespace quern
