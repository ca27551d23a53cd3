// SPDX-License-Identifier: Apache-2.0
#include "layers/elementwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/error.hpp"
#include "layers/reference/elementwise.hpp"
#include "spec/words.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

constexpr LayerType kTypes[] = {LayerType::relu, LayerType::tanh, LayerType::sigmoid,
                                LayerType::gelu, LayerType::silu, LayerType::leaky_relu};

LayerSpec spec_of(LayerType type) {
  LayerSpec spec;
  spec.type = type;
  spec.name = to_string(type);
  return spec;
}

double tolerance_of(LayerType type, double expected) {
  return type == LayerType::relu ? 0 : 1e-6 * (1 + std::abs(expected));
}

void expect_matches_reference(LayerType type, Layout layout, int rows, const Shape& shape) {
  SCOPED_TRACE(std::string(to_string(type)) + " " + to_string(shape));
  const auto layer = make_elementwise(spec_of(type), shape);
  const auto count = static_cast<std::size_t>(rows * shape.units());
  const std::vector<float> inputs = test::random_values(count, 1, -4, 4);
  const std::vector<float> gradients = test::random_values(count, 2);
  const Activation x = test::make_activation(shape, layout, rows, inputs);
  const Activation dy = test::make_activation(shape, layout, rows, gradients);
  const Activation y = test::filled_activation(shape, layout, rows, 777);
  const Activation dx = test::filled_activation(shape, layout, rows, 777);
  const ExecSpace exec;
  layer->forward(exec, {}, {x, y});
  layer->backward(exec, {}, {x, y, dy, dx});
  exec.fence("test: read results");
  const std::vector<float> outputs = test::values_of(y);
  const std::vector<float> derivatives = test::values_of(dx);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = reference::elementwise<double>(type, inputs[i]);
    const double gradient =
        gradients[i] * reference::elementwise_derivative<double>(type, inputs[i]);
    ASSERT_NEAR(outputs[i], value, tolerance_of(type, value)) << i;
    ASSERT_NEAR(derivatives[i], gradient, tolerance_of(type, gradient)) << i;
  }
}

TEST(Elementwise, MatchesTheReferenceOnOddSizes) {
  for (const LayerType type : kTypes) {
    for (const Layout layout : test::flat_layouts())
      for (const int rows : {1, 3, 17, 33})
        for (const int units : {1, 3, 17, 33, 257})
          expect_matches_reference(type, layout, rows, {units});
    for (const int rows : {16, 48})
      expect_matches_reference(type, Layout::nchw16n, rows, {3, 5, 7});
  }
}

TEST(Elementwise, TestsHaveEveryType) {
  for (const auto& [word, type] : words_of<LayerType>()) {
    if (std::ranges::find(kTypes, type) != std::end(kTypes)) continue;
    EXPECT_THROW(make_elementwise(spec_of(type), {3}), Error) << word;
    EXPECT_THROW(reference::elementwise(type, 1.0), Error) << word;
    EXPECT_THROW(reference::elementwise_derivative(type, 1.0), Error) << word;
  }
}

TEST(Elementwise, DerivativesMatchDifferences) {
  for (const LayerType type : kTypes) {
    const auto layer = make_elementwise(spec_of(type), {2, 3, 5});
    test::check_layer_gradients(*layer);
  }
}

TEST(Elementwise, ReferenceDerivativesMatchDifferences) {
  for (const LayerType type : kTypes)
    for (const double x : {-3.1, -0.7, 0.2, 2.5}) {
      const auto f = [&](const std::vector<double>& at) {
        return reference::elementwise(type, at[0]);
      };
      EXPECT_NEAR(reference::elementwise_derivative(type, x), test::central_differences(f, {x})[0],
                  1e-8);
    }
}

// Python: torch.nn.functional.silu(torch.tensor([-3.0, -0.5, 0.0, 1.0, 4.0])), and
// leaky_relu(..., 0.2)
TEST(Elementwise, SiluAndLeakyReluArePyTorchs) {
  LayerSpec leaky = spec_of(LayerType::leaky_relu);
  leaky.negative_slope = 0.2;
  const std::vector<std::pair<LayerSpec, std::vector<float>>> expected = {
      {spec_of(LayerType::silu), {-0.14227763f, -0.18877034f, 0.0f, 0.73105860f, 3.92805505f}},
      {leaky, {-0.60000002f, -0.1f, 0.0f, 1.0f, 4.0f}}};
  for (const auto& [spec, outputs] : expected) {
    const Activation x =
        test::make_activation({5}, Layout::nc, 1, {-3.0f, -0.5f, 0.0f, 1.0f, 4.0f});
    const Activation y = test::filled_activation({5}, Layout::nc, 1, 777);
    const ExecSpace exec;
    make_elementwise(spec, {5})->forward(exec, {}, {x, y});
    exec.fence("test: read y");
    const std::vector<float> values = test::values_of(y);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_NEAR(values[i], outputs[i], 1e-6);
  }
}

// Python: torch.nn.functional.gelu(torch.tensor([-3.0, -0.5, 0.0, 1.0, 4.0]))
TEST(Elementwise, GeluIsPyTorchsExactOne) {
  const std::vector<float> expected = {-0.00405023f, -0.15426877f, 0.0f, 0.84134471f, 3.99987364f};
  const Activation x = test::make_activation({5}, Layout::nc, 1, {-3.0f, -0.5f, 0.0f, 1.0f, 4.0f});
  const Activation y = test::filled_activation({5}, Layout::nc, 1, 777);
  const ExecSpace exec;
  make_elementwise(spec_of(LayerType::gelu), {5})->forward(exec, {}, {x, y});
  exec.fence("test: read y");
  const std::vector<float> values = test::values_of(y);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6);
}

TEST(Elementwise, NanStaysNanAndSaturationStaysFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const LayerType type : kTypes) {
    const Activation x = test::make_activation({3}, Layout::nc, 1, {nan, -200.0f, 200.0f});
    const Activation y = test::filled_activation({3}, Layout::nc, 1, 777);
    const ExecSpace exec;
    make_elementwise(spec_of(type), {3})->forward(exec, {}, {x, y});
    exec.fence("test: read y");
    const std::vector<float> values = test::values_of(y);
    EXPECT_TRUE(std::isnan(values[0])) << to_string(type);
    EXPECT_TRUE(std::isfinite(values[1]) && std::isfinite(values[2])) << to_string(type);
  }
}

TEST(Elementwise, EveryFloatInUseIsWrittenPaddingIncluded) {
  for (const Layout layout : test::all_layouts()) {
    const Activation x = test::filled_activation({3}, layout, 16, 0.5f);
    const Activation y = test::filled_activation({3}, layout, 16, 777);
    const ExecSpace exec;
    make_elementwise(spec_of(LayerType::relu), {3})->forward(exec, {}, {x, y});
    exec.fence("test: read y");
    const std::vector<float> raw = test::to_vector(y.data);
    for (std::int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(raw[static_cast<std::size_t>(i)], 0.5f);
    EXPECT_EQ(raw[static_cast<std::size_t>(y.size())], 777.0f) << "and nothing after them";
  }
}

TEST(Elementwise, LeakyReluWorksInPlace) {
  const std::vector<float> inputs = test::random_values(4000, 5);
  const std::vector<float> gradients = test::random_values(4000, 6);
  const auto layer = make_elementwise(spec_of(LayerType::leaky_relu), {4000});
  const Activation x = test::make_activation({4000}, Layout::nc, 1, inputs);
  const Activation dy = test::make_activation({4000}, Layout::nc, 1, gradients);
  const ExecSpace exec;
  layer->forward(exec, {}, {x, x});
  layer->backward(exec, {}, {x, x, dy, dy});
  exec.fence("test: read x");
  const std::vector<float> derivatives = test::values_of(dy);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ASSERT_EQ(derivatives[i], inputs[i] < 0 ? 0.01f * gradients[i] : gradients[i]) << i;
}

TEST(Elementwise, ReluWorksInPlace) {
  const std::vector<float> inputs = test::random_values(4000, 5);
  const Activation x = test::make_activation({4000}, Layout::nc, 1, inputs);
  const ExecSpace exec;
  make_elementwise(spec_of(LayerType::relu), {4000})->forward(exec, {}, {x, x});
  exec.fence("test: read x");
  const std::vector<float> values = test::values_of(x);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], std::max(inputs[i], 0.0f)) << i;
}

}  // namespace
}  // namespace quern
