// SPDX-License-Identifier: Apache-2.0
// Waiting for exchanges between devices: who is late is waited for, what is stuck is not.
#include "comm/device_wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/agree.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

constexpr double kDeadline = 0.5;
constexpr double kLonger = 1.2;

void sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Of exchanges that never fail.
class Exchanges final : public DeviceTransport {
 public:
  int rank() const override { return world().rank(); }
  int size() const override { return world().size(); }
  const char* name() const override { return "a test"; }
  bool is_capturable() const override { return false; }
  void all_reduce_sum(std::span<float>, DeviceStream) override {}
  void all_gather(std::span<float>, DeviceStream) override {}
  void all_gather_v(std::span<float>, std::span<const std::int64_t>, DeviceStream) override {}
  void all_to_all_v(std::span<const float>, std::span<const Segment>, std::span<float>,
                    std::span<const Segment>, DeviceStream) override {}
  void send_and_receive(std::span<const float>, std::span<const RankSegment>, std::span<float>,
                        std::span<const RankSegment>, DeviceStream) override {}
  double deadline_s() const override { return kDeadline; }
};

// As rank 0 does that writes a checkpoint: the devices of all others wait for its own.
TEST(DeviceWait, RankThatComesLateIsWaitedFor) {
  Exchanges exchanges;
  const auto shared = world().allocate_node_shared(sizeof(std::uint32_t));
  std::atomic_ref has_come(*reinterpret_cast<std::uint32_t*>(shared->bytes().data()));
  if (world().rank() == 0) {
    sleep(kLonger);
    has_come.store(1);
  }
  EXPECT_NO_THROW(wait_on_all(
      world(), [&] { return has_come.load() == 1; }, &exchanges));
  world().barrier();  // the memory is in use until here
}

TEST(DeviceWait, DeviceThatIsStuckEndsTheWaitOfAll) {
  Exchanges exchanges;
  const int culprit = world().size() - 1;
  try {
    wait_on_all(
        world(), [&] { return world().rank() != culprit; }, &exchanges, [] { return 7; });
    ADD_FAILURE() << "expected an error on all ranks";
  } catch (const AgreedError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("another rank is gone or stuck"), std::string::npos) << message;
    EXPECT_NE(message.find("a test"), std::string::npos) << message;
  }
}

// More is in the queue than is done within the deadline.
TEST(DeviceWait, DeviceThatGetsOnHasNoDeadline) {
  Exchanges exchanges;
  const Stopwatch watch;
  EXPECT_NO_THROW(wait_on_all(
      world(), [&] { return watch.seconds() > kLonger; }, &exchanges,
      [&] { return static_cast<std::int64_t>(watch.seconds() / kDeadline * 16); }));
}

TEST(DeviceWait, WithoutTransportsNobodyIsWaitedFor) {
  if (world().rank() == 0) return;  // never comes
  await_ranks(world(), {});
}

}  // namespace
}  // namespace quern
