// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_choice.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quern::test {

namespace {

TransportFacts two_gpus() {
  return {CommBackend::automatic, 2, true, true, {"GPU-a", "GPU-b"}, false};
}

TransportFacts one_gpu_twice() {
  TransportFacts facts = two_gpus();
  facts.device_ids = {"GPU-a", "GPU-a"};
  return facts;
}

}  // namespace

TEST(DeviceChoice, RanksOfANodeGoAroundTheDevicesTheySee) {
  EXPECT_EQ(device_of_rank(0, 4), 0);
  EXPECT_EQ(device_of_rank(3, 4), 3);
  EXPECT_EQ(device_of_rank(5, 4), 1);
  EXPECT_EQ(device_of_rank(3, 1), 0) << "the launcher shows each rank its own";
}

TEST(DeviceChoice, SharedDevicesAreNamedWithTheirRanks) {
  EXPECT_FALSE(is_any_shared({"GPU-a", "GPU-b"}));
  EXPECT_FALSE(is_any_shared({"", "", ""})) << "no devices";
  EXPECT_TRUE(is_any_shared({"GPU-a", "GPU-b", "GPU-a"}));
  EXPECT_EQ(sharing_text({"GPU-b", "GPU-a", "GPU-b", "GPU-b"}),
            "ranks 0, 2, 3 share the device GPU-b");
  EXPECT_EQ(sharing_text({}), "");
}

TEST(TransportChoice, HostsAndSingleRanksNeedNone) {
  TransportFacts host{CommBackend::automatic, 4, false, true, {"", "", "", ""}, false};
  EXPECT_EQ(choose_transport(host), TransportKind::hosts);
  TransportFacts alone = two_gpus();
  alone.ranks = 1;
  alone.device_ids = {"GPU-a"};
  EXPECT_EQ(choose_transport(alone), TransportKind::hosts);
  alone.wanted = CommBackend::nccl;
  EXPECT_EQ(choose_transport(alone), TransportKind::hosts);
}

TEST(TransportChoice, NcclWhereItCan) {
  TransportFacts facts = two_gpus();
  EXPECT_EQ(choose_transport(facts), TransportKind::nccl);
  facts.wanted = CommBackend::nccl;
  EXPECT_EQ(choose_transport(facts), TransportKind::nccl);
  facts.wanted = CommBackend::mpi;
  EXPECT_EQ(choose_transport(facts), TransportKind::staged);
  facts.wanted = CommBackend::automatic;
  facts.has_nccl = false;
  EXPECT_EQ(choose_transport(facts), TransportKind::staged);
}

TEST(TransportChoice, NcclThatCannotBeIsRefused) {
  TransportFacts facts = two_gpus();
  facts.wanted = CommBackend::nccl;
  facts.has_nccl = false;
  expect_error([&] { choose_transport(facts); }, ExitCode::bad_input,
               {"parallel.backend = \"nccl\"", "built without NCCL"});
  facts.on_devices = false;
  expect_error([&] { choose_transport(facts); }, ExitCode::bad_input, {"on processors"});
  facts = one_gpu_twice();
  facts.wanted = CommBackend::nccl;
  facts.may_share = true;
  expect_error([&] { choose_transport(facts); }, ExitCode::bad_input,
               {"ranks 0, 1 share the device GPU-a, which NCCL refuses"});
}

TEST(TransportChoice, RanksShareADeviceOnlyIfAskedFor) {
  TransportFacts facts = one_gpu_twice();
  expect_error([&] { choose_transport(facts); }, ExitCode::bad_input,
               {"ranks 0, 1 share the device GPU-a", "QUERN_SHARE_GPU=1"});
  facts.may_share = true;
  EXPECT_EQ(choose_transport(facts), TransportKind::staged);
}

}  // namespace quern::test
