// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "layers/reference/linear.hpp"
#include "support/gradient_check.hpp"
#include "support/layer_run.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

using test::random_values;
using test::relative_difference;

LayerSpec linear_spec(int out) {
  LayerSpec spec;
  spec.name = "fc";
  spec.features = out;
  return spec;
}

struct Size {
  int samples, in, out, block;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.samples << " samples, " << size.in << " -> " << size.out << ", blocks of "
       << size.block;
}

class LinearLayer : public ::testing::TestWithParam<Size> {};

TEST_P(LinearLayer, AgreesWithItsReference) {
  const auto [samples, in, out, block] = GetParam();
  const auto x = random_values(static_cast<std::size_t>(samples) * in, 1);
  const auto dy = random_values(static_cast<std::size_t>(samples) * out, 2);
  const auto weight = random_values(static_cast<std::size_t>(in) * out, 3);
  const auto bias = random_values(static_cast<std::size_t>(out), 4);
  Linear layer(linear_spec(out), Shape{in});

  const auto run =
      test::run_layer(layer, samples, block, x, dy, {{"fc.weight", weight}, {"fc.bias", bias}});

  const auto expected = reference::linear_backward(samples, in, out, x, weight, dy);
  EXPECT_LT(
      relative_difference(reference::linear_forward(samples, in, out, x, weight, bias), run.y),
      2e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 2e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("fc.weight")), 2e-6);
  EXPECT_LT(relative_difference(expected.bias, run.gradients.at("fc.bias")), 2e-6);
}

TEST_P(LinearLayer, WithoutBiasAgreesWithItsReference) {
  const auto [samples, in, out, block] = GetParam();
  const auto x = random_values(static_cast<std::size_t>(samples) * in, 1);
  const auto dy = random_values(static_cast<std::size_t>(samples) * out, 2);
  const auto weight = random_values(static_cast<std::size_t>(in) * out, 3);
  LayerSpec spec = linear_spec(out);
  spec.bias = false;
  Linear layer(spec, Shape{in});

  const auto run = test::run_layer(layer, samples, block, x, dy, {{"fc.weight", weight}});

  const std::vector<float> none(static_cast<std::size_t>(out));
  const auto expected = reference::linear_backward(samples, in, out, x, weight, dy);
  EXPECT_LT(
      relative_difference(reference::linear_forward(samples, in, out, x, weight, none), run.y),
      2e-6);
  EXPECT_LT(relative_difference(expected.dx, run.dx), 2e-6);
  EXPECT_LT(relative_difference(expected.weight, run.gradients.at("fc.weight")), 2e-6);
  EXPECT_EQ(run.gradients.count("fc.bias"), 0u);
}

INSTANTIATE_TEST_SUITE_P(OddSizes, LinearLayer,
                         ::testing::Values(Size{1, 1, 1, 1}, Size{3, 17, 33, 2}, Size{17, 33, 3, 4},
                                           Size{33, 3, 17, 32}, Size{30, 257, 10, 8},
                                           Size{40, 10, 257, 16}));

TEST(LinearLayerGradients, AgreeWithCentralDifferences) {
  Linear layer(linear_spec(5), Shape{7});
  test::check_layer_gradients(layer);
}

}  // namespace
}  // namespace quern
