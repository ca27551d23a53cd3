// SPDX-License-Identifier: Apache-2.0
#include "layers/global_avg_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/reference/pool2d.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

constexpr int kRows = 48;
constexpr Shape kShapes[] = {{1, 1, 1}, {3, 7, 7}, {5, 2, 9}, {17, 3, 1}, {2, 13, 11}, {7, 1, 1}};

LayerSpec spec() {
  LayerSpec layer;
  layer.type = LayerType::global_avg_pool;
  layer.name = "pool1";
  return layer;
}

std::vector<float> random_for(const Shape& shape, std::uint64_t seed) {
  return test::random_values(static_cast<std::size_t>(kRows * shape.units()), seed);
}

TEST(GlobalAvgPool, MatchesTheReference) {
  for (const Shape& input : kShapes) {
    for (const bool with_input_relu : {false, true}) {
      SCOPED_TRACE(to_string(input));
      GlobalAvgPool layer(spec(), input);
      LayerSetup setup;
      setup.with_input_relu = with_input_relu;
      layer.set_up(setup);
      const Shape out = layer.output_shape();
      ASSERT_EQ(out, Shape{input.channels});
      const std::vector<float> inputs = random_for(input, 1);
      const std::vector<float> gradients = random_for(out, 2);
      const Activation x = test::make_activation(input, Layout::nchw16n, kRows, inputs);
      const Activation dy = test::make_activation(out, Layout::nchw16n, kRows, gradients);
      const Activation y = test::filled_activation(out, Layout::nchw16n, kRows, 777);
      const Activation dx = test::filled_activation(input, Layout::nchw16n, kRows, 777);
      const ExecSpace exec;
      layer.forward(exec, {}, {x, y});
      layer.backward(exec, {}, {x, y, dy, dx});
      exec.fence("test: read results");
      for (int s = 0; s < kRows; ++s) {
        const std::vector<float> sample = test::sample_of(inputs, input.units(), s);
        EXPECT_THAT(test::sample_of(test::values_of(y), out.units(), s),
                    testing::Pointwise(testing::FloatNear(1e-6f),
                                       reference::global_avg_pool(input, sample)));
        auto gradient =
            reference::global_avg_pool_backward(input, test::sample_of(gradients, out.units(), s));
        for (std::size_t i = 0; i < gradient.size(); ++i)
          if (with_input_relu && sample[i] <= 0) gradient[i] = 0;
        EXPECT_THAT(test::sample_of(test::values_of(dx), input.units(), s),
                    testing::Pointwise(testing::FloatNear(1e-6f), gradient));
      }
    }
  }
}

TEST(GlobalAvgPool, DerivativesMatchDifferences) {
  for (const Shape& input : kShapes) {
    GlobalAvgPool layer(spec(), input);
    test::check_layer_gradients(layer);
  }
}

}  // namespace
}  // namespace quern
