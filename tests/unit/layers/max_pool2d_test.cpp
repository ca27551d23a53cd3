// SPDX-License-Identifier: Apache-2.0
#include "layers/pool2d.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "layers/reference/pool2d.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/layers/pool_cases.hpp"

namespace quern {
namespace {

constexpr int kRows = 48;

// Few different values, so that windows have ties.
std::vector<float> inputs_with_ties(const Shape& shape) {
  auto values = test::random_values(static_cast<std::size_t>(kRows * shape.units()), 1, -3, 3);
  for (float& value : values) value = std::floor(value);
  return values;
}

struct Result {
  std::vector<float> y;
  std::vector<float> dx;
};

Result run(Pool2d& layer, int rows, const std::vector<float>& inputs,
           const std::vector<float>& gradients) {
  const Shape in = layer.input_shape();
  const Shape out = layer.output_shape();
  const Activation x = test::make_activation(in, Layout::nchw16n, rows, inputs);
  const Activation dy = test::make_activation(out, Layout::nchw16n, rows, gradients);
  const Activation y = test::filled_activation(out, Layout::nchw16n, rows, 777);
  const Activation dx = test::filled_activation(in, Layout::nchw16n, rows, 777);
  const ExecSpace exec;
  layer.forward(exec, {}, {x, y});
  layer.backward(exec, {}, {x, y, dy, dx});
  exec.fence("test: read results");
  return {test::values_of(y), test::values_of(dx)};
}

TEST(MaxPool2d, MatchesTheReferenceTiesIncluded) {
  for (const test::PoolCase& pool : test::kPoolCases) {
    SCOPED_TRACE(to_string(pool.input) + " size " + std::to_string(pool.size));
    Pool2d layer(test::pool_spec(LayerType::max_pool2d, pool), pool.input);
    const int units = pool.input.units();
    const int out_units = layer.output_shape().units();
    const std::vector<float> inputs = inputs_with_ties(pool.input);
    const std::vector<float> gradients =
        test::random_values(static_cast<std::size_t>(kRows * out_units), 2);
    const Result result = run(layer, kRows, inputs, gradients);
    for (int s = 0; s < kRows; ++s) {
      const std::vector<float> x = test::sample_of(inputs, units, s);
      EXPECT_EQ(test::sample_of(result.y, out_units, s),
                reference::max_pool2d(pool.input, {pool.size, pool.stride, pool.padding}, x));
      EXPECT_EQ(test::sample_of(result.dx, units, s),
                reference::max_pool2d_backward(pool.input, {pool.size, pool.stride, pool.padding},
                                               x, test::sample_of(gradients, out_units, s)));
    }
  }
}

// The derivative of the ReLU that the inputs come out of is applied here.
TEST(MaxPool2d, HandsNothingOnToWhatAReluHasCut) {
  for (const test::PoolCase& pool : test::kPoolCases) {
    SCOPED_TRACE(to_string(pool.input) + " size " + std::to_string(pool.size));
    Pool2d layer(test::pool_spec(LayerType::max_pool2d, pool), pool.input);
    LayerSetup after_relu;
    after_relu.with_input_relu = true;
    layer.set_up(after_relu);
    const int units = pool.input.units();
    const int out_units = layer.output_shape().units();
    std::vector<float> inputs = inputs_with_ties(pool.input);
    for (float& value : inputs) value = std::max(value - 1, 0.0f);
    const std::vector<float> gradients =
        test::random_values(static_cast<std::size_t>(kRows * out_units), 2);
    const Result result = run(layer, kRows, inputs, gradients);
    for (int s = 0; s < kRows; ++s) {
      const std::vector<float> x = test::sample_of(inputs, units, s);
      std::vector<float> expected =
          reference::max_pool2d_backward(pool.input, {pool.size, pool.stride, pool.padding}, x,
                                         test::sample_of(gradients, out_units, s));
      for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i] <= 0) expected[i] = 0;
      EXPECT_EQ(test::sample_of(result.dx, units, s), expected);
    }
  }
}

TEST(MaxPool2d, DerivativesMatchDifferences) {
  for (const test::PoolCase& pool : test::kPoolCases) {
    Pool2d layer(test::pool_spec(LayerType::max_pool2d, pool), pool.input);
    test::check_layer_gradients(layer);
  }
}

// Python: torch.nn.MaxPool2d(3, 2, padding=1) of [[-4, -3], [-2, -1]], backward of the sum.
TEST(MaxPool2d, PaddingIsNeverTheMaximum) {
  const test::PoolCase pool{{1, 2, 2}, 3, 2, 1};
  Pool2d layer(test::pool_spec(LayerType::max_pool2d, pool), pool.input);
  std::vector<float> inputs(16 * 4, 0.0f);
  std::copy_n(std::vector<float>{-4, -3, -2, -1}.begin(), 4, inputs.begin());
  const Result result = run(layer, 16, inputs, std::vector<float>(16, 1.0f));
  EXPECT_EQ(result.y[0], -1);
  EXPECT_EQ(test::sample_of(result.dx, 4, 0), (std::vector<float>{0, 0, 0, 1}));
}

// Python: the same inputs through torch.nn.MaxPool2d(2), backward of the sum.
TEST(MaxPool2d, FirstMaximumAndLastNanWinAsInPyTorch) {
  const test::PoolCase pool{{1, 2, 2}, 2, 2};
  Pool2d layer(test::pool_spec(LayerType::max_pool2d, pool), pool.input);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> inputs(16 * 4, 0.0f);
  std::copy_n(std::vector<float>{1, 3, 3, 2}.begin(), 4, inputs.begin());
  std::copy_n(std::vector<float>{nan, 5, nan, 9}.begin(), 4, inputs.begin() + 4);
  std::fill_n(inputs.begin() + 8, 4, -infinity);
  const Result result = run(layer, 16, inputs, std::vector<float>(16, 1.0f));
  EXPECT_EQ(result.y[0], 3);
  EXPECT_TRUE(std::isnan(result.y[1]));
  EXPECT_EQ(result.y[2], -infinity);
  EXPECT_EQ(test::sample_of(result.dx, 4, 0), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(test::sample_of(result.dx, 4, 1), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(test::sample_of(result.dx, 4, 2), (std::vector<float>{1, 0, 0, 0}));
}

}  // namespace
}  // namespace quern
