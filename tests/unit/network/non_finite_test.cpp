// SPDX-License-Identifier: Apache-2.0
// Which layer a report of divergence names.
#include <gtest/gtest.h>

#include <limits>

#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "support/test_step.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

// Four units a row; `empty` in the rows without a sample.
std::vector<float> ones(const TestBatch& batch, float empty) {
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row(batch))
    values.insert(values.end(), 4, sample < 0 ? empty : 1.0f);
  return values;
}

}  // namespace

TEST(FirstNonFiniteLayer, IsTheFirstInOrder) {
  const TestBatch batch;
  const Network network(network_of({4, 1, 1}, {linear(6), tanh_layer, linear(3)}));
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  const StepContext step = make_test_step(batch, network.table().block_size());
  const auto culprit = [&](float filled, float empty) {
    std::vector<float> values = ones(batch, empty);
    values[0] = filled;
    set_values(arrays.input(), values);
    return network.first_non_finite_layer(ExecSpace(), step, arrays);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(culprit(1, 0), "");
  EXPECT_EQ(culprit(1, nan), "") << "empty rows do not count";
  EXPECT_EQ(culprit(nan, 0), "linear1");
  const std::int64_t bias = network.table().entries().at(3).offset;
  Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias)),
                    std::numeric_limits<float>::infinity());
  EXPECT_EQ(culprit(1, 0), "linear2");
}

// Also where the sum overwrites its output, or later segments that of the layer.
TEST(FirstNonFiniteLayer, IsFoundUnderASumAndWhereValuesAreNotKept) {
  const TestBatch batch;
  NetworkSpec spec = network_of(
      {4, 1, 1}, {linear(6), reading(linear(6), {"input"}), linear(6), add({"linear1", "linear3"}),
                  linear(3), linear(8), linear(8), linear(8), linear(8), linear(8)});
  for (const bool recompute : {false, true}) {
    NetworkSetup setup;
    setup.recompute = recompute;
    const Network network(spec, setup);
    EXPECT_EQ(network.num_recomputed_segments() > 0, recompute);
    Activations arrays = network.allocate(batch.rows());
    arrays.set_rows(batch.rows());
    const StepContext step = make_test_step(batch, network.table().block_size());
    for (const std::size_t layer : {3, 2, 1, 0}) {  // a later one does not hide it
      set_values(arrays.input(), ones(batch, 0));
      const ParameterEntry& bias = network.table().entries().at(2 * layer + 1);
      Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias.offset)),
                        std::numeric_limits<float>::infinity());
      EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays) + ".bias", bias.name);
    }
  }
}

TEST(FirstNonFiniteLayer, LooksBehindAConcat) {
  const TestBatch batch;
  const Network network(
      network_of({4, 1, 1}, {linear(6), reading(linear(5), {"input"}),
                             concat({"linear1", "linear2"}), reading(linear(5), {"concat1"})}));
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  const StepContext step = make_test_step(batch, network.table().block_size());
  set_values(arrays.input(), ones(batch, 0));
  EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays), "");
  for (const std::size_t layer : {2, 1, 0}) {
    const ParameterEntry& bias = network.table().entries().at(2 * layer + 1);
    Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias.offset)),
                      std::numeric_limits<float>::infinity());
    EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays) + ".bias", bias.name);
  }
}

// Infinity in the last channel of the last sample, where the values are bfloat16.
TEST(FirstNonFiniteLayer, IsFoundAmongRoundedValues) {
  if (runs_device_kernels()) GTEST_SKIP() << "images in bfloat16 are for CPUs";
  const TestBatch batch{17, 17, 32};
  NetworkSetup setup;
  setup.kernels.precision = OperandPrecision::bf16;
  const Network network(network_of({3, 4, 5}, {simple(LayerType::batch_norm), relu, conv2d(2, 3)}),
                        setup);
  EXPECT_TRUE(network.fusion().node(0).rounds_output);
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  StepContext step = make_test_step(batch, network.table().block_size());
  step.mode = Mode::evaluate;
  const ParameterEntry& scale = network.table().entries().at(0);
  Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(scale.position(2))),
                    1.0f);
  std::vector<float> values(static_cast<std::size_t>(batch.rows()) * 60, 1.0f);
  set_values(arrays.input(), values);
  EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays), "");
  values[16 * 60 + 59] = std::numeric_limits<float>::infinity();
  set_values(arrays.input(), values);
  EXPECT_EQ(network.first_non_finite_layer(ExecSpace(), step, arrays), "batch_norm1");
}

}  // namespace quern::test
