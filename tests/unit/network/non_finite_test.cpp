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
    network.forward(ExecSpace(), step, arrays);
    return network.first_non_finite_layer(step, arrays);
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

TEST(FirstNonFiniteLayer, IsNoneWhoseOutputAnAddOverwrote) {
  const TestBatch batch;
  const Network network(network_of({4, 1, 1}, {linear(6), reading(linear(6), {"input"}), linear(6),
                                               add({"linear1", "linear3"}), linear(3)}));
  Activations arrays = network.allocate(batch.rows());
  arrays.set_rows(batch.rows());
  const StepContext step = make_test_step(batch, network.table().block_size());
  set_values(arrays.input(), ones(batch, 0));
  const std::int64_t bias = network.table().entries().at(5).offset;
  Kokkos::deep_copy(Kokkos::subview(step.parameters, static_cast<std::size_t>(bias)),
                    std::numeric_limits<float>::infinity());
  network.forward(ExecSpace(), step, arrays);
  EXPECT_EQ(network.first_non_finite_layer(step, arrays), "linear3");
}

}  // namespace quern::test
