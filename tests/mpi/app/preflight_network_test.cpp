// SPDX-License-Identifier: Apache-2.0
// What preflight measures between ranks: by MPI, and by comm/nccl on a stand-in for NCCL.
#include <gtest/gtest.h>

#include <chrono>

#include "app/preflight/network.hpp"
#include "comm/agree.hpp"
#include "comm/nccl/transport.hpp"
#include "mpi/comm/fake_nccl/fake_nccl.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::fake_nccl;
using testing::FakeNccl;
using testing::world;

constexpr std::chrono::seconds kLong{60};

void expect_sound(const NetworkInfo& info) {
  EXPECT_TRUE(info.all_reduce_is_right);
  EXPECT_EQ(info.bytes, 1 << 20);
  EXPECT_GT(info.latency_s, 0);
  EXPECT_GT(info.bytes_per_s, 0);
  const double share = 2.0 * (world().size() - 1) / world().size();
  EXPECT_DOUBLE_EQ(info.bus_bytes_per_s, info.bytes_per_s * share);
}

TEST(PreflightNetwork, IsMeasuredByMpi) {
  expect_sound(measure_network(world()));
}

TEST(PreflightNetwork, IsMeasuredByNccl) {
  fake_nccl() = FakeNccl();
  const auto transport = start_nccl(world(), kLong);
  expect_sound(measure_device_network(world(), *transport));
}

TEST(PreflightNetwork, WrongSumsOfOneRankAreSeenByAll) {
  const NetworkInfo info = measure_all_reduce(world(), [](std::span<float> values) {
    world().all_reduce_sum(values);
    if (world().rank() == world().size() - 1) values[1] += 1;
    return 1.0;
  });
  EXPECT_FALSE(info.all_reduce_is_right);
}

TEST(PreflightNetwork, TheQuickestRoundCounts) {
  int round = 0;
  const NetworkInfo info = measure_all_reduce(world(), [&](std::span<float> values) {
    world().all_reduce_sum(values);
    return 4.0 / ++round;
  });
  // One round to warm up and three that count.
  EXPECT_DOUBLE_EQ(info.bytes_per_s, 1 << 20);
}

TEST(PreflightNetwork, AFailureOfNcclIsHeardByAll) {
  if (world().size() == 1) GTEST_SKIP() << "several ranks only";
  fake_nccl() = FakeNccl();
  const auto transport = start_nccl(world(), kLong);
  if (world().rank() == 0) fake_nccl().async_error = ncclSystemError;
  EXPECT_THROW(measure_device_network(world(), *transport), AgreedError);
  fake_nccl().async_error = ncclSuccess;
}

}  // namespace
}  // namespace quern
