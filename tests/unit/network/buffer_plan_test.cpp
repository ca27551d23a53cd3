// SPDX-License-Identifier: Apache-2.0
// What a network says it will allocate is what it allocates.
#include "network/buffer_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {

namespace {

namespace tools = Kokkos::Tools::Experimental;

constexpr int kRows = 48;
constexpr std::int64_t kRounding = 8;  // Kokkos allocates views in steps of so many bytes

std::int64_t allocated = 0;
std::int64_t allocations = 0;

void count_allocation(const Kokkos::Tools::SpaceHandle, const char*, const void*,
                      const std::uint64_t bytes) {
  allocated += static_cast<std::int64_t>(bytes);
  ++allocations;
}

std::vector<std::string> labels;

void keep_label(const Kokkos::Tools::SpaceHandle, const char* label, const void*,
                const std::uint64_t) {
  labels.emplace_back(label);
}

void expect_memory_as_said(const NetworkSpec& spec, bool recompute = false, int block_rows = 1,
                           bool loss_overwrites_output = false) {
  const BatchLimit most(kRows, block_rows);
  NetworkSetup setup;
  setup.recompute = recompute;
  setup.loss_overwrites_output = loss_overwrites_output;
  const Network network(spec, setup);
  allocated = allocations = 0;
  tools::set_allocate_data_callback(count_allocation);
  const Activations arrays = network.allocate(most);
  tools::set_allocate_data_callback(nullptr);
  const std::int64_t said = plan_buffers(network.graph(), network.fusion(), most).bytes();
  EXPECT_GE(allocated, said);
  EXPECT_LE(allocated, said + kRounding * allocations);
}

LayerSpec block_norm() {
  LayerSpec spec = simple(LayerType::batch_norm);
  spec.statistics = Statistics::block;
  return spec;
}

NetworkSpec chain_of_linear(int count) {
  NetworkSpec spec = network_of({19, 1, 1}, {});
  for (int i = 1; i <= count; ++i) {
    spec.layers.push_back(linear(33));
    spec.layers.back().name = "linear" + std::to_string(i);
  }
  return spec;
}

}  // namespace

TEST(BufferPlan, MemoryIsLabelledByItsLayer) {
  const NetworkSpec spec = network_of(
      {1, 9, 12}, {conv2d(7, 3, 1, 1), relu, pool(LayerType::max_pool2d, 3), conv2d(5, 3, 1, 2)});
  const Network network(spec);
  labels.clear();
  tools::set_allocate_data_callback(keep_label);
  const Activations arrays = network.allocate(kRows);
  tools::set_allocate_data_callback(nullptr);
  for (const Layer* layer : network.layers()) {
    if (layer->own_floats(kRows) == 0) continue;
    const std::string label = "quern::network::" + layer->name() + "_own";
    EXPECT_EQ(std::ranges::count(labels, label), 1) << label;
  }
  EXPECT_EQ(std::ranges::count(labels, "quern::network::input"), 1);
  EXPECT_GE(network.layers()[0]->own_floats(kRows), 1) << "the padded image";
}

// What threads allocate when they first need it (layers/host/scratch.hpp): the most of any layer.
TEST(BufferPlan, CountsTheScratchOfEachThread) {
  const NetworkSpec spec =
      network_of({2, 10, 8}, {conv2d(5, 3, 1, 1), conv2d(40, 3), conv2d(2, 1)});
  const Network network(spec);
  std::int64_t most = 0;
  for (const Layer* layer : network.layers()) most = std::max(most, layer->scratch_floats(kRows));
  EXPECT_EQ(most > 0, !runs_device_kernels());
  const std::int64_t arrays = plan_buffers(network.graph(), network.fusion(), kRows).bytes();
  EXPECT_EQ(network.memory_bytes(kRows),
            arrays + kernel_threads() * most * std::int64_t{sizeof(float)});
}

// Numbers for each micro-block, not for each row.
TEST(BufferPlan, NormalisationOfFlatSamplesKnowsItsBlocks) {
  const Network network(network_of({19, 1, 1}, {linear(512), block_norm()}));
  const Network alone(network_of({19, 1, 1}, {linear(512)}));
  const auto of_norm = [&](const BatchLimit& most) {
    return network.memory_bytes(most) - alone.memory_bytes(most);
  };
  // Its set and its share in the batch's statistics; two rows of the workspace.
  const std::int64_t sets = (3 * (2 * 512 + kLanes) + 2 * 512) * std::int64_t{sizeof(float)};
  EXPECT_EQ(of_norm({4096, 1}) - of_norm({4096, 32}), sets * (4096 - 4096 / 32));
}

TEST(BufferPlan, TakeTheMemoryThatWasSaid) {
  expect_memory_as_said(network_of({19, 1, 1}, {linear(33), relu, dropout(0.5), linear(7)}));
  // Both with padding, the first one with its pool and the second without.
  expect_memory_as_said(
      network_of({1, 9, 12}, {conv2d(7, 3, 1, 1), relu, pool(LayerType::max_pool2d, 3),
                              conv2d(5, 3, 1, 2), tanh_layer, flatten, linear(3)}));
  expect_memory_as_said(
      network_of({2, 10, 8}, {conv2d(5, 3), relu, pool(LayerType::avg_pool2d, 2), gelu}));
  expect_memory_as_said(network_of({2, 6, 6}, {relu, conv2d(18, 5, 2, 2), relu}));
  expect_memory_as_said(chain_of_linear(12), true);
  expect_memory_as_said(network_of({19, 1, 1}, {linear(33), block_norm(), relu}), false, 8);
  expect_memory_as_said(network_of({19, 1, 1}, {linear(33), gelu, linear(33)}), false, 1, true);
}

}  // namespace quern::test
