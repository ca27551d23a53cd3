// SPDX-License-Identifier: Apache-2.0
#include "layers/upsample.hpp"

#include <gtest/gtest.h>

#include "layers/reference/upsample.hpp"
#include "support/gradient_check.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

constexpr int kRows = 48;
constexpr Shape kShapes[] = {{1, 1, 1}, {3, 7, 5}, {5, 2, 9}, {17, 3, 1}, {2, 13, 11}};

LayerSpec spec(int factor) {
  LayerSpec layer = test::upsample(factor);
  layer.name = "up1";
  return layer;
}

std::vector<float> random_for(const Shape& shape, std::uint64_t seed) {
  return test::random_values(static_cast<std::size_t>(kRows * shape.units()), seed);
}

// Sums in the order of the reference, so that the bits are the same.
TEST(Upsample, GivesTheBitsOfTheReference) {
  for (const Shape& input : kShapes) {
    for (const int factor : {2, 3, 5}) {
      for (const bool with_input_relu : {false, true}) {
        SCOPED_TRACE(to_string(input) + " times " + std::to_string(factor));
        Upsample layer(spec(factor), input);
        LayerSetup setup;
        setup.with_input_relu = with_input_relu;
        layer.set_up(setup);
        const Shape out = layer.output_shape();
        ASSERT_EQ(out, (Shape{input.channels, factor * input.height, factor * input.width}));
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
        const std::vector<float> outputs = test::values_of(y);
        const std::vector<float> input_gradients = test::values_of(dx);
        for (int s = 0; s < kRows; ++s) {
          const std::vector<float> sample = test::sample_of(inputs, input.units(), s);
          EXPECT_EQ(test::sample_of(outputs, out.units(), s),
                    reference::upsample(input, factor, sample));
          auto gradient = reference::upsample_backward(input, factor,
                                                       test::sample_of(gradients, out.units(), s));
          for (std::size_t i = 0; i < gradient.size(); ++i)
            if (with_input_relu && sample[i] <= 0) gradient[i] = 0;
          EXPECT_EQ(test::sample_of(input_gradients, input.units(), s), gradient);
        }
      }
    }
  }
}

TEST(Upsample, DerivativesMatchDifferences) {
  for (const Shape& input : kShapes) {
    for (const int factor : {2, 3}) {
      Upsample layer(spec(factor), input);
      test::check_layer_gradients(layer);
    }
  }
}

TEST(Upsample, NeedsThePixelsOfWhatIsRead) {
  const Upsample layer(spec(3), {2, 5, 4});
  EXPECT_EQ(layer.needed_input({2, 15, 12}), (Shape{2, 5, 4}));
  EXPECT_EQ(layer.needed_input({2, 13, 9}), (Shape{2, 5, 3}));
  EXPECT_EQ(layer.needed_input({2, 12, 10}), (Shape{2, 4, 4}));
}

}  // namespace
}  // namespace quern
