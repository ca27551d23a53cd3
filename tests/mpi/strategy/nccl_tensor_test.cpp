// SPDX-License-Identifier: Apache-2.0
// Layers spread over all ranks by comm/nccl and a stand-in for NCCL, with the kernels for devices:
// the bits of one rank with a CPU's.
#include <gtest/gtest.h>

#include <chrono>

#include "comm/agree.hpp"
#include "comm/nccl/transport.hpp"
#include "mpi/comm/fake_nccl/fake_nccl.hpp"
#include "support/fused_products.hpp"
#include "support/tensor_networks.hpp"
#include "support/train_grid.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::fake_nccl;
using quern::testing::world;

TEST(NcclTensor, HasTheBitsOfOneRank) {
  QUERN_SKIP_WITHOUT_FUSED_PRODUCTS();
  const Samples samples = image_samples(18, kImage, 5);
  for (const Sets& network : {Sets{kSlicedLeNet, kAdam}, Sets{kSlicedResNet, kSgd}}) {
    SCOPED_TRACE(network.front());
    const WithKernels host(false);
    const Trained expected = train_alone(sliced_recipe(network), samples, 3);
    const WithKernels for_devices(true);
    const Grid grid{world().size(), 1};
    const auto transport = start_nccl(world(), std::chrono::seconds(60));
    GridTraining spread(world(), on(grid, sliced_recipe(network)), samples,
                        {nullptr, world().size() > 1 ? transport.get() : nullptr});
    spread.train(3);
    expect_same(spread, expected);
  }
}

// The step ends on all ranks, with the message of the one that has seen why.
TEST(NcclTensor, AFailedExchangeEndsTheStepOfAll) {
  if (world().size() == 1) return;
  const Samples samples = image_samples(18, kImage, 5);
  {
    const auto transport = start_nccl(world(), std::chrono::seconds(60));
    GridTraining spread(world(), on({world().size(), 1}, sliced_recipe({kSlicedLeNet, kSgd})),
                        samples, {nullptr, transport.get()});
    spread.train(1);
    if (world().rank() == 1) fake_nccl().async_error = ncclSystemError;
    try {
      spread.step.read(ExecSpace());
      ADD_FAILURE() << "expected an error on all ranks";
    } catch (const AgreedError& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
    }
  }
  // A thread aborts; the transport has waited for it.
  EXPECT_EQ(fake_nccl().aborted, world().rank() == 1 ? 1 : 0);
  fake_nccl().async_error = ncclSuccess;
}

}  // namespace

}  // namespace quern::test
