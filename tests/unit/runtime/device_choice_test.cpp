// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_choice.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quern::test {

namespace {

TransportInfo two_gpus() {
  return {CommBackend::automatic, 2, true, true, {"GPU-a", "GPU-b"}, false};
}

TransportInfo one_gpu_twice() {
  TransportInfo info = two_gpus();
  info.device_ids = {"GPU-a", "GPU-a"};
  return info;
}

}  // namespace

TEST(DeviceChoice, RanksOfANodeGoAroundTheDevicesTheySee) {
  EXPECT_EQ(device_of_rank(0, 4), 0);
  EXPECT_EQ(device_of_rank(3, 4), 3);
  EXPECT_EQ(device_of_rank(5, 4), 1);
  EXPECT_EQ(device_of_rank(3, 1), 0) << "the launcher shows each rank its own";
}

TEST(DeviceChoice, SharedDevicesAreNamedWithTheirRanks) {
  EXPECT_EQ(sharing_text({"GPU-a", "GPU-b"}), "");
  EXPECT_EQ(sharing_text({"", "", ""}), "") << "no devices";
  EXPECT_EQ(sharing_text({"GPU-b", "GPU-a", "GPU-b", "GPU-b"}),
            "ranks 0, 2, 3 share the device GPU-b");
  EXPECT_EQ(sharing_text({}), "");
}

TEST(TransportChoice, HostsAndSingleRanksNeedNone) {
  TransportInfo host{CommBackend::automatic, 4, false, true, {"", "", "", ""}, false};
  EXPECT_EQ(choose_transport(host), TransportKind::hosts);
  TransportInfo alone = two_gpus();
  alone.ranks = 1;
  alone.device_ids = {"GPU-a"};
  EXPECT_EQ(choose_transport(alone), TransportKind::hosts);
  alone.wanted = CommBackend::nccl;
  EXPECT_EQ(choose_transport(alone), TransportKind::hosts);
}

TEST(TransportChoice, NcclWhereItCan) {
  TransportInfo info = two_gpus();
  EXPECT_EQ(choose_transport(info), TransportKind::nccl);
  info.wanted = CommBackend::nccl;
  EXPECT_EQ(choose_transport(info), TransportKind::nccl);
  info.wanted = CommBackend::mpi;
  EXPECT_EQ(choose_transport(info), TransportKind::staged);
  info.wanted = CommBackend::automatic;
  info.has_nccl = false;
  EXPECT_EQ(choose_transport(info), TransportKind::staged);
}

TEST(TransportChoice, NcclThatCannotBeIsRefused) {
  TransportInfo info = two_gpus();
  info.wanted = CommBackend::nccl;
  info.has_nccl = false;
  expect_error([&] { choose_transport(info); }, ExitCode::bad_input,
               {"parallel.backend = \"nccl\"", "built without NCCL"});
  info.on_devices = false;
  expect_error([&] { choose_transport(info); }, ExitCode::bad_input, {"on processors"});
  info = one_gpu_twice();
  info.wanted = CommBackend::nccl;
  info.may_share = true;
  expect_error([&] { choose_transport(info); }, ExitCode::bad_input,
               {"ranks 0, 1 share the device GPU-a, which NCCL refuses"});
}

TEST(TransportChoice, RanksShareADeviceOnlyIfAskedFor) {
  TransportInfo info = one_gpu_twice();
  expect_error([&] { choose_transport(info); }, ExitCode::bad_input,
               {"ranks 0, 1 share the device GPU-a", "QUERN_SHARE_GPU=1"});
  info.may_share = true;
  EXPECT_EQ(choose_transport(info), TransportKind::staged);
}

}  // namespace quern::test
