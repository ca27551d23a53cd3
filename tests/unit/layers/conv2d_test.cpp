// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "layers/reference/conv2d.hpp"
#include "support/gradient_check.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::random_values;
using test::relative_difference;

LayerSpec conv_spec(int channels, int kernel, int stride, int padding) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.name = "conv";
  spec.channels = channels;
  spec.kernel = kernel;
  spec.stride = stride;
  spec.padding = padding;
  return spec;
}

struct Case {
  reference::Conv2dShape shape;
  int block;
};
void PrintTo(const Case& c, std::ostream* out) {
  const reference::Conv2dShape& d = c.shape;
  *out << d.S << " samples of " << d.C << " x " << d.H << " x " << d.W << ", " << d.O
       << " channels, kernel " << d.K << ", stride " << d.stride << ", padding " << d.padding
       << ", blocks of " << c.block;
}

class Conv2dLayer : public ::testing::TestWithParam<Case> {};

TEST_P(Conv2dLayer, AgreesWithItsReference) {
  const auto& [d, block] = GetParam();
  const auto x = random_values(d.x_size(), 1);
  const auto dy = random_values(d.y_size(), 2);
  const auto weight = random_values(d.weight_size(), 3);
  const auto bias = random_values(static_cast<std::size_t>(d.O), 4);
  Conv2d layer(conv_spec(d.O, d.K, d.stride, d.padding), Shape{d.C, d.H, d.W});
  ASSERT_EQ(layer.output_shape(), (Shape{d.O, d.out_height(), d.out_width()}));

  const auto run =
      test::run_layer(layer, d.S, block, x, dy, {{"conv.weight", weight}, {"conv.bias", bias}});

  const auto expected = reference::conv2d_backward(d, x, weight, dy);
  EXPECT_LT(relative_difference(reference::conv2d_forward(d, x, weight, bias), run.y), 3e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 3e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("conv.weight")), 3e-6);
  EXPECT_LT(relative_difference(expected.bias, run.gradients.at("conv.bias")), 3e-6);
}

// S, C, H, W, O, K, stride, padding; samples per micro-block.
INSTANTIATE_TEST_SUITE_P(
    OddSizes, Conv2dLayer,
    ::testing::Values(Case{{1, 1, 1, 1, 1, 1, 1, 0}, 1}, Case{{3, 2, 5, 7, 3, 3, 1, 0}, 2},
                      Case{{17, 3, 11, 9, 5, 3, 2, 1}, 16}, Case{{5, 1, 28, 28, 20, 3, 1, 0}, 4},
                      Case{{18, 20, 13, 13, 50, 5, 1, 0}, 32}, Case{{2, 3, 9, 8, 17, 4, 3, 2}, 1},
                      Case{{3, 2, 12, 12, 9, 7, 1, 3}, 2}, Case{{2, 1, 10, 10, 3, 6, 2, 0}, 2},
                      Case{{33, 2, 4, 4, 2, 2, 2, 0}, 8}, Case{{2, 2, 3, 33, 3, 1, 1, 1}, 2}));

// No bias: a tensor less, and what a bias of zeros gives.
TEST(Conv2dWithoutBias, HasTheBitsOfABiasOfZeros) {
  for (const LayerSpec& with : {conv_spec(7, 3, 2, 1), conv_spec(5, 1, 1, 0)}) {
    const reference::Conv2dShape d{17,          3,           11,          9, with.channels,
                                   with.kernel, with.stride, with.padding};
    LayerSpec without = with;
    without.bias = false;
    const auto x = random_values(d.x_size(), 1);
    const auto dy = random_values(d.y_size(), 2);
    const std::map<std::string, std::vector<float>> parameters{
        {"conv.weight", random_values(d.weight_size(), 3)},
        {"conv.bias", std::vector<float>(static_cast<std::size_t>(d.O), 0.0f)}};
    for (const bool relu : {false, true}) {
      LayerSetup setup;
      setup.with_relu = relu;
      Conv2d zeros(with, Shape{d.C, d.H, d.W});
      Conv2d none(without, Shape{d.C, d.H, d.W});
      auto expected = test::run_layer(zeros, d.S, 16, x, dy, parameters, setup);
      const auto actual = test::run_layer(none, d.S, 16, x, dy, parameters, setup);
      EXPECT_EQ(actual.y, expected.y);
      EXPECT_EQ(actual.dx, expected.dx);
      expected.gradients.erase("conv.bias");
      EXPECT_EQ(actual.gradients, expected.gradients);
    }
  }
}

// The kinds of layers that residual networks have, with more channels than a work item takes, and
// rows too long for one panel.
INSTANTIATE_TEST_SUITE_P(
    ManyChannels, Conv2dLayer,
    ::testing::Values(Case{{3, 70, 5, 7, 137, 1, 1, 0}, 2}, Case{{18, 33, 7, 9, 66, 1, 2, 0}, 16},
                      Case{{3, 67, 9, 7, 35, 3, 1, 1}, 1}, Case{{2, 131, 8, 9, 33, 3, 2, 1}, 2},
                      Case{{17, 3, 19, 23, 9, 7, 2, 3}, 16}, Case{{1, 2100, 2, 5, 9, 1, 1, 0}, 1},
                      Case{{2, 300, 3, 41, 5, 3, 1, 1}, 2}, Case{{1, 5, 4, 75, 700, 3, 2, 1}, 1},
                      Case{{1, 3, 2, 131, 4, 5, 3, 2}, 1}));

// A block's sum must not depend on which other blocks the rank computes with it.
TEST(Conv2dBlocks, SamplesDoNotDependOnTheirNeighbours) {
  const reference::Conv2dShape d{8, 3, 9, 9, 7, 3, 1, 1};
  const auto x = random_values(d.x_size(), 1);
  const auto dy = random_values(d.y_size(), 2);
  const std::map<std::string, std::vector<float>> parameters{
      {"conv.weight", random_values(d.weight_size(), 3)}, {"conv.bias", random_values(7, 4)}};
  Conv2d together(conv_spec(7, 3, 1, 1), Shape{3, 9, 9});
  const auto whole = test::run_layer(together, 8, 4, x, dy, parameters);

  const std::size_t x_half = x.size() / 2;
  const std::size_t y_half = dy.size() / 2;
  std::map<std::string, std::vector<float>> sum;
  std::vector<float> dx;
  for (int half = 0; half < 2; ++half) {
    Conv2d alone(conv_spec(7, 3, 1, 1), Shape{3, 9, 9});
    const std::vector<float> x_part(x.begin() + half * x_half, x.begin() + (half + 1) * x_half);
    const std::vector<float> dy_part(dy.begin() + half * y_half, dy.begin() + (half + 1) * y_half);
    const auto part = test::run_layer(alone, 4, 4, x_part, dy_part, parameters);
    dx.insert(dx.end(), part.dx.begin(), part.dx.end());
    for (const auto& [name, values] : part.gradients) {
      std::vector<float>& total = sum[name];
      total.resize(values.size(), 0.0f);
      for (std::size_t i = 0; i < values.size(); ++i) total[i] += values[i];
    }
  }

  EXPECT_EQ(whole.dx, dx);
  EXPECT_EQ(whole.gradients, sum);
}

TEST(Conv2dGradients, AgreeWithCentralDifferences) {
  Conv2d plain(conv_spec(3, 3, 1, 0), Shape{2, 5, 6});
  test::check_layer_gradients(plain);
  Conv2d strided(conv_spec(2, 2, 2, 1), Shape{2, 5, 4});
  test::check_layer_gradients(strided);
  LayerSpec spec = conv_spec(3, 3, 2, 1);
  spec.bias = false;
  Conv2d without_bias(spec, Shape{2, 5, 6});
  test::check_layer_gradients(without_bias);
}

}  // namespace
}  // namespace quern
