// SPDX-License-Identifier: Apache-2.0
// Layers spread over the ranks as on devices: by their kernels, with transports between the ranks.
#include <gtest/gtest.h>

#include "device/tensor_cores.hpp"
#include "runtime/host_staged_transport.hpp"
#include "support/fused_products.hpp"
#include "support/tensor_networks.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

/// Trains on the grid with all that moves handed to transports; compares with one rank.
void expect_same_through_transports(const Recipe& recipe, const Samples& samples,
                                    const Trained& expected) {
  const ProcessGrid ranks = make_grid(world(), recipe);
  HostStagedTransport data(ranks.data());
  HostStagedTransport tensor(ranks.tensor());
  GridTraining spread(world(), recipe, samples, {&data, &tensor});
  spread.train(3);
  expect_same(spread, expected);
}

TEST(TensorDevices, HaveTheBitsOfOneRank) {
  if (kHostExecution) QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const Samples samples = image_samples(18, kImage, 5);
  for (const Sets& network :
       {Sets{kSlicedLeNet, kAdam}, Sets{kSlicedMlp, kAdam}, Sets{kSlicedResNet, kSgd}}) {
    SCOPED_TRACE(network.front());
    const WithKernels host(false);
    const Trained expected = train_alone(sliced_recipe(network), samples, 3);
    for (const Grid& grid : grids(world().size())) {
      SCOPED_TRACE(to_string(grid));
      for (const bool for_devices : {false, true}) {
        const WithKernels kernels(for_devices);
        for (const Sets& more : {Sets{}, Sets{"parallel.shard_optimizer=true"}}) {
          expect_same_through_transports(on(grid, sliced_recipe(with(network, more))), samples,
                                         expected);
        }
      }
    }
  }
}

TEST(TensorDevices, HaveThemWithRoundedOperands) {
  if (!kHostExecution && !kTensorCores) GTEST_SKIP() << "a device without tensor cores";
  const Samples samples = image_samples(18, kImage, 5);
  for (const char* precision : {"train.precision=bf16", "train.precision=tf32"}) {
    for (const Sets& network : {Sets{kSlicedLeNet, kSgd}, Sets{kSlicedMlp, kAdam}}) {
      SCOPED_TRACE(network.front() + " " + precision);
      const WithKernels for_devices(true);
      const Recipe recipe = sliced_recipe(with(network, {precision}));
      const Trained expected = train_alone(recipe, samples, 3);
      EXPECT_NE(expected.losses, train_alone(sliced_recipe(network), samples, 3).losses);
      for (const Grid& grid : grids(world().size())) {
        SCOPED_TRACE(to_string(grid));
        expect_same_through_transports(on(grid, recipe), samples, expected);
      }
    }
  }
}

}  // namespace

}  // namespace quern::test
