// SPDX-License-Identifier: Apache-2.0
// Where a network is cut when values are computed again, and what that saves.
#include "network/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

constexpr int kRows = 32;

Network network_with(const NetworkSpec& spec, bool recompute) {
  NetworkSetup setup;
  setup.recompute = recompute;
  return Network(spec, setup);
}

std::int64_t value_floats(const Network& network) {
  const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), kRows);
  return std::accumulate(plan.value_floats.begin(), plan.value_floats.end(), plan.segment_floats);
}

LayerSpec named(LayerSpec layer, const std::string& name) {
  layer.name = name;
  return layer;
}

NetworkSpec chain(int layers) {
  NetworkSpec spec = network_of({256, 1, 1}, {});
  for (int i = 0; i < layers; ++i)
    spec.layers.push_back(named(linear(256), "fc" + std::to_string(i)));
  return spec;
}

/// Blocks of ResNet-50: 1 x 1, 3 x 3, 1 x 1 to four times the channels, and the input added.
NetworkSpec bottlenecks(int blocks) {
  NetworkSpec spec = network_of({3, 8, 8}, {});
  std::string before = "stem";
  spec.layers.push_back(named(conv2d(64, 3, 1, 1), before));
  for (int b = 0; b < blocks; ++b) {
    const std::string name = "block" + std::to_string(b) + ".";
    const auto convolution = [&](int number, int channels, int kernel) {
      const std::string n = std::to_string(number);
      spec.layers.push_back(named(conv2d(channels, kernel, 1, kernel / 2), name + "conv" + n));
      spec.layers.push_back(named(simple(LayerType::batch_norm), name + "bn" + n));
    };
    convolution(1, 16, 1);
    spec.layers.push_back(named(relu, name + "relu1"));
    convolution(2, 16, 3);
    spec.layers.push_back(named(relu, name + "relu2"));
    convolution(3, 64, 1);
    spec.layers.push_back(named(add({name + "bn3", before}), name + "add"));
    before = name + "relu";
    spec.layers.push_back(named(relu, before));
  }
  spec.layers.push_back(named(flatten, "flatten"));
  spec.layers.push_back(named(linear(10), "fc"));
  return spec;
}

}  // namespace

TEST(Segments, CoverAllNodesInOrder) {
  for (const NetworkSpec& spec : {chain(1), chain(2), chain(30), bottlenecks(1), bottlenecks(7)}) {
    const Network network = network_with(spec, true);
    int end = 0;
    for (const NodeRange& segment : network.fusion().segments) {
      EXPECT_EQ(segment.begin, end);
      EXPECT_LT(segment.begin, segment.end);
      end = segment.end;
    }
    EXPECT_EQ(end, static_cast<int>(network.graph().nodes().size()));
  }
}

TEST(Segments, AreOneWhereCuttingDoesNotHelpOrIsNotAskedFor) {
  EXPECT_EQ(network_with(chain(2), true).num_recomputed_segments(), 0);
  EXPECT_EQ(network_with(chain(30), false).num_recomputed_segments(), 0);
}

// Of n equal values sqrt(n) are kept, and sqrt(n) are in a segment.
TEST(Segments, OfAChainTakeTheMemoryOfTwiceItsRoot) {
  const Network kept = network_with(chain(100), false);
  const Network again = network_with(chain(100), true);
  EXPECT_EQ(value_floats(kept) / 101, value_floats(network_with(chain(1), false)) / 2);
  EXPECT_LE(value_floats(again), value_floats(kept) / 101 * (2 * 10 + 1));
  EXPECT_LE(again.num_recomputed_segments(), 12);
}

TEST(Segments, HalveTheMemoryOfResidualBlocks) {
  const Network kept = network_with(bottlenecks(12), false);
  const Network again = network_with(bottlenecks(12), true);
  EXPECT_LT(value_floats(again), value_floats(kept) / 2);
  EXPECT_LT(again.memory_bytes(kRows), kept.memory_bytes(kRows) * 2 / 3);
  // Cut between blocks: what stands in front of a cut is a block's output.
  for (const NodeRange& segment : again.fusion().segments) {
    if (segment.begin == 0) continue;
    const std::string& last = again.graph().node(segment.begin - 1).name;
    EXPECT_TRUE(last == "stem" || last.ends_with(".relu")) << last;
  }
}

// A value that is kept was not touched, nor what its layers keep of it.
TEST(Segments, LayersWhoseOutputsAreKeptDoNotRunAgain) {
  const Network network = network_with(bottlenecks(6), true);
  const BufferPlan plan = plan_buffers(network.graph(), network.fusion(), kRows);
  const std::vector<NodeRange>& segments = network.fusion().segments;
  ASSERT_GT(segments.size(), 2u);
  for (std::size_t s = 0; s + 1 < segments.size(); ++s) {
    const auto begin = plan.runs_again.begin() + segments[s].begin;
    const auto end = plan.runs_again.begin() + segments[s].end;
    EXPECT_TRUE(s == 0 || std::find(begin, end, true) != end);
    EXPECT_FALSE(*(end - 1)) << "the block's last ReLU, in the memory of its sum";
  }
  EXPECT_EQ(std::find(plan.runs_again.begin() + segments.back().begin, plan.runs_again.end(), true),
            plan.runs_again.end());
}

// What an earlier segment left in the memory of a later one must not matter.
TEST(Segments, ReadNothingOfWhatLiesInTheirMemory) {
  const TestBatch batch{7, 3, 16};
  NetworkSpec flat = network_of({19, 1, 1}, {});
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    flat.layers.push_back(named(linear(21), "fc" + n));
    flat.layers.push_back(named(simple(LayerType::layer_norm), "norm" + n));
    flat.layers.push_back(named(gelu, "gelu" + n));
    flat.layers.push_back(named(dropout(0.5), "dropout" + n));
  }
  for (const NetworkSpec& spec : {bottlenecks(4), flat}) {
    const Network network = network_with(spec, true);
    ASSERT_GT(network.num_recomputed_segments(), 0);
    Activations arrays = network.allocate(batch.rows());
    arrays.set_rows(batch.rows());
    const auto gradients_over = [&](float garbage) {
      const StepContext step = make_test_step(batch, network.table().block_size());
      Kokkos::deep_copy(step.parameters,
                        to_view(random_values(step.parameters.extent(0), 9, -0.2f, 0.2f)));
      for (int n = 0; n < static_cast<int>(network.graph().nodes().size()); ++n)
        if (arrays.node(n).runs_again) Kokkos::deep_copy(arrays.node(n).layer.y.data, garbage);
      const auto fill = [&](const Activation& to, unsigned seed) {
        const auto count = static_cast<std::size_t>(to.rows * to.shape.units());
        set_values(to, random_values(count, seed, -1, 1));
      };
      fill(arrays.input(), 1);
      network.forward(ExecSpace(), step, arrays);
      fill(arrays.d_output(), 2);
      network.backward(ExecSpace(), step, arrays);
      return to_vector(step.gradients.data);
    };
    EXPECT_EQ(gradients_over(std::numeric_limits<float>::quiet_NaN()), gradients_over(0));
  }
}

}  // namespace quern::test
