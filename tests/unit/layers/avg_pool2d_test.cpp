// SPDX-License-Identifier: Apache-2.0
#include "layers/pool2d.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/reference/pool2d.hpp"
#include "support/expect_error.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/layers/pool_cases.hpp"

namespace quern {
namespace {

constexpr int kRows = 48;

std::vector<float> random_for(const Shape& shape, std::uint64_t seed) {
  return test::random_values(static_cast<std::size_t>(kRows * shape.units()), seed);
}

TEST(AvgPool2d, MatchesTheReference) {
  for (const test::PoolCase& pool : test::kPoolCases) {
    SCOPED_TRACE(to_string(pool.input) + " size " + std::to_string(pool.size));
    Pool2d layer(test::pool_spec(LayerType::avg_pool2d, pool), pool.input);
    const Shape out = layer.output_shape();
    const std::vector<float> inputs = random_for(pool.input, 1);
    const std::vector<float> gradients = random_for(out, 2);
    const Activation x = test::make_activation(pool.input, Layout::nchw16n, kRows, inputs);
    const Activation dy = test::make_activation(out, Layout::nchw16n, kRows, gradients);
    const Activation y = test::filled_activation(out, Layout::nchw16n, kRows, 777);
    const Activation dx = test::filled_activation(pool.input, Layout::nchw16n, kRows, 777);
    const ExecSpace exec;
    layer.forward(exec, {}, {x, y});
    layer.backward(exec, {}, {x, y, dy, dx});
    exec.fence("test: read results");
    for (int s = 0; s < kRows; ++s) {
      const auto expected =
          reference::avg_pool2d(pool.input, {pool.size, pool.stride, pool.padding},
                                test::sample_of(inputs, pool.input.units(), s));
      EXPECT_THAT(test::sample_of(test::values_of(y), out.units(), s),
                  testing::Pointwise(testing::FloatNear(1e-6f), expected));
      const auto gradient =
          reference::avg_pool2d_backward(pool.input, {pool.size, pool.stride, pool.padding},
                                         test::sample_of(gradients, out.units(), s));
      EXPECT_THAT(test::sample_of(test::values_of(dx), pool.input.units(), s),
                  testing::Pointwise(testing::FloatNear(1e-6f), gradient));
    }
  }
}

TEST(AvgPool2d, DerivativesMatchDifferences) {
  for (const test::PoolCase& pool : test::kPoolCases) {
    Pool2d layer(test::pool_spec(LayerType::avg_pool2d, pool), pool.input);
    test::check_layer_gradients(layer);
  }
}

// Python: torch.nn.AvgPool2d(2, 1, padding=1) of [[1, 2], [3, 4]].
TEST(AvgPool2d, PaddingCountsAsInPyTorch) {
  const test::PoolCase pool{{1, 2, 2}, 2, 1, 1};
  Pool2d layer(test::pool_spec(LayerType::avg_pool2d, pool), pool.input);
  ASSERT_EQ(layer.output_shape(), (Shape{1, 3, 3}));
  std::vector<float> inputs(16 * 4, 0.0f);
  std::copy_n(std::vector<float>{1, 2, 3, 4}.begin(), 4, inputs.begin());
  const Activation x = test::make_activation(pool.input, Layout::nchw16n, 16, inputs);
  const Activation y = test::filled_activation(layer.output_shape(), Layout::nchw16n, 16, 777);
  const ExecSpace exec;
  layer.forward(exec, {}, {x, y});
  exec.fence("test: read results");
  EXPECT_EQ(test::sample_of(test::values_of(y), 9, 0),
            (std::vector<float>{0.25, 0.75, 0.5, 1, 2.5, 1.5, 0.75, 1.75, 1}));
}

// The network says so in the words of the recipe before.
TEST(AvgPool2d, TheWindowHasToFit) {
  const LayerSpec spec = test::pool_spec(LayerType::avg_pool2d, {{20, 2, 8}, 3, 3});
  test::expect_error(
      [&] {
        Pool2d layer(spec, {20, 2, 8});
      },
      ExitCode::failure, {"a pool's window inside its input"});
}

}  // namespace
}  // namespace quern
