// SPDX-License-Identifier: Apache-2.0
// A convolution that has taken over a ReLU and a pool gives the bits of the three layers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "layers/conv2d.hpp"
#include "layers/pool2d.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"
#include "support/views.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {
namespace {

struct Case {
  Shape input;
  LayerSpec convolution;
  int window;
};

// Tiles of one to several channels, strips of rows and of columns, every size of kernel that is
// fused with either window.
const Case kCases[] = {
    {{1, 28, 28}, conv2d(20, 5), 2},       {{1, 8, 8}, conv2d(3, 3), 2},
    {{3, 13, 9}, conv2d(17, 4, 1, 0), 2},  {{4, 11, 29}, conv2d(7, 3, 1, 0), 3},
    {{2, 12, 12}, conv2d(6, 2, 2, 0), 3},  {{3, 9, 54}, conv2d(9, 1, 1, 0), 3},
    {{2, 8, 56}, conv2d(13, 3, 1, 1), 2},  {{1, 10, 10}, conv2d(5, 5, 1, 2), 2},
    {{3, 15, 15}, conv2d(33, 5, 2, 2), 2}, {{1, 2, 2}, conv2d(1, 1), 2},
    {{2, 9, 113}, conv2d(5, 3, 2, 0), 2},  {{4, 14, 14}, conv2d(6, 5), 2},
    {{2, 9, 9}, conv2d(8, 2, 1, 0), 2},    {{1, 9, 12}, conv2d(5, 4, 1, 0), 3},
    {{2, 10, 13}, conv2d(7, 5, 1, 0), 3},  {{3, 8, 6}, conv2d(9, 1, 1, 0), 2},
};

std::unique_ptr<Layer> make_pool(LayerType type, const Shape& input, int window) {
  LayerSpec spec = pool(type, window);
  spec.name = "pool";
  return std::make_unique<Pool2d>(spec, input);
}

// The parts of a step's numbers that do not depend on what is fused.
struct Numbers {
  std::vector<float> y;
  std::vector<float> gradients;
};

// Equal bits, or both not a number.
void expect_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<unsigned>(actual[i]), std::bit_cast<unsigned>(expected[i]))
        << what << ' ' << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

// Zero in the rows without a sample, as the gradient of a loss is; what layers put out there is
// nobody's.
void clear_empty_rows(const Activation& a, const TestBatch& batch) {
  const ActivationIndex at(a);
  const std::vector<std::int64_t> samples = sample_of_row(batch);
  for (int row = 0; row < batch.rows(); ++row) {
    if (samples[static_cast<std::size_t>(row)] >= 0) continue;
    for (int unit = 0; unit < a.shape.units(); ++unit) a.data(at(row, unit)) = 0.0f;
  }
}

class TakenOver : public ::testing::TestWithParam<std::tuple<LayerType, OperandPrecision>> {
 protected:
  // One step of both: `poison` is written over the first pixels of the second sample.
  void run(const Case& c, const TestBatch& batch, const std::vector<float>& poison) {
    LayerSpec spec = c.convolution;
    spec.name = "conv";
    const KernelChoice choice{.precision = std::get<1>(GetParam())};
    Conv2d plain(spec, c.input, choice);
    Conv2d fused(spec, c.input, choice);
    const Shape middle = plain.output_shape();
    const std::unique_ptr<Layer> pool = make_pool(std::get<0>(GetParam()), middle, c.window);
    const std::optional<Pool> window = pool->traits().pool;
    ASSERT_EQ(fused.can_compute(*window), !runs_device_kernels());
    if (runs_device_kernels()) return;  // nothing is taken over there

    const auto filled = [&](const Shape& shape, std::uint64_t seed) {
      return make_activation(
          shape, Layout::nchw16n, batch.rows(),
          random_values(static_cast<std::size_t>(batch.rows() * shape.units()), seed));
    };
    Activation x = filled(c.input, 1);
    const ActivationIndex at(x);
    for (std::size_t i = 0; i < poison.size(); ++i) {
      if (static_cast<int>(i) < c.input.units()) x.data(at(1, static_cast<int>(i))) = poison[i];
    }
    const Activation dy = filled(pool->output_shape(), 2);
    clear_empty_rows(dy, batch);
    const Activation y_plain = filled(pool->output_shape(), 3);
    const Activation y_fused = filled(pool->output_shape(), 4);
    const Activation between = filled(middle, 5);
    const Activation gradient = filled(middle, 6);

    LayerSetup with_relu;
    with_relu.with_relu = true;
    LayerSetup with_pool = with_relu;
    with_pool.pool = window;
    LayerSetup after_relu;
    after_relu.with_input_relu = true;
    pool->set_up(after_relu);
    const Numbers expected =
        step(plain, with_relu, batch, [&](LayerArrays& arrays, const StepContext& s) {
          arrays.x = x;
          arrays.y = between;
          plain.forward(exec_, s, arrays);
          pool->forward(exec_, s, {between, y_plain});
          pool->backward(exec_, s, {between, y_plain, dy, gradient});
          arrays.dy = gradient;
          plain.backward(exec_, s, arrays);
          return y_plain;
        });
    const Numbers actual =
        step(fused, with_pool, batch, [&](LayerArrays& arrays, const StepContext& s) {
          arrays.x = x;
          arrays.y = y_fused;
          fused.forward(exec_, s, arrays);
          arrays.dy = dy;
          fused.backward(exec_, s, arrays);
          return y_fused;
        });
    expect_bits(actual.y, expected.y, "y");
    expect_bits(actual.gradients, expected.gradients, "gradient");
  }

 private:
  template <class Work>
  Numbers step(Layer& layer, const LayerSetup& setup, const TestBatch& batch, const Work& work) {
    ParameterTable table;
    layer.add_parameters(table);
    layer.set_up(setup);
    LayerArrays arrays = allocate_memory(layer, batch.rows());
    StepContext context = make_test_step(batch, table.block_size());
    context.parameters =
        to_view(random_values(static_cast<std::size_t>(table.block_size()), 7, -0.3f, 0.3f));
    const Activation y = work(arrays, context);
    exec_.fence("test: results are there");
    clear_empty_rows(y, batch);
    return {values_of(y), to_vector(context.gradients.data)};
  }

  ExecSpace exec_;
};

TEST_P(TakenOver, GivesTheBitsOfThreeLayers) {
  for (const Case& c : kCases) {
    for (const TestBatch& batch : {TestBatch{7, 3, 16}, TestBatch{35, 17, 32}}) {
      SCOPED_TRACE(to_string(c.input) + " window " + std::to_string(c.window));
      run(c, batch, {});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(TakenOver, AlsoOfEqualPixels) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_string(c.input) + " window " + std::to_string(c.window));
    run(c, {7, 3, 16}, std::vector<float>(static_cast<std::size_t>(c.input.units()), 0.5f));
    if (HasFatalFailure()) return;
  }
}

TEST_P(TakenOver, AlsoOfWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const Case& c : kCases) {
    SCOPED_TRACE(to_string(c.input) + " window " + std::to_string(c.window));
    run(c, {7, 3, 16}, {nan, 0.0f, -0.0f, inf, nan, -inf});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pools, TakenOver,
    ::testing::Combine(::testing::Values(LayerType::avg_pool2d, LayerType::max_pool2d),
                       ::testing::Values(OperandPrecision::fp32, OperandPrecision::bf16,
                                         OperandPrecision::bf16_pairs)),
    [](const auto& type) {
      const OperandPrecision precision = std::get<1>(type.param);
      return std::string(to_string(std::get<0>(type.param))) +
             (precision == OperandPrecision::fp32         ? ""
              : precision == OperandPrecision::bf16_pairs ? "_pairs"
                                                          : "_bf16");
    });

TEST(FusedPool, OnlyWhereThereAreKernels) {
  const auto takes_over = [](const Shape& input, const LayerSpec& spec, const LayerSpec& window) {
    Conv2d convolution(spec, input);
    return convolution.can_compute(*Pool2d(window, convolution.output_shape()).traits().pool);
  };
  const LayerSpec two = pool(LayerType::avg_pool2d, 2);
  EXPECT_EQ(takes_over({1, 10, 10}, conv2d(3, 3), two), !runs_device_kernels());
  EXPECT_FALSE(takes_over({1, 12, 12}, conv2d(3, 7), two)) << "large kernel";
  EXPECT_FALSE(takes_over({5, 10, 10}, conv2d(3, 3), two)) << "many channels";
  LayerSpec without_bias = conv2d(3, 3);
  without_bias.bias = false;
  EXPECT_FALSE(takes_over({1, 10, 10}, without_bias, two)) << "no bias";
  EXPECT_FALSE(takes_over({1, 11, 11}, conv2d(3, 3), two)) << "a row that no window covers";
  EXPECT_FALSE(takes_over({1, 10, 10}, conv2d(3, 3), pool(LayerType::avg_pool2d, 2, 1)));
  EXPECT_FALSE(takes_over({1, 10, 10}, conv2d(3, 3), pool(LayerType::avg_pool2d, 4)));
  EXPECT_FALSE(Conv2d(conv2d(3, 3), {1, 10, 10}).traits().pool);
}

}  // namespace
}  // namespace quern::test
