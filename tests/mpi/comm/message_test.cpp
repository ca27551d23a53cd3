// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks.
#include "comm/message.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

// Each rank hands its floats to the next one, in a ring, so many times.
TEST(Message, CarriesItsBufferEachTime) {
  const int next = (world().rank() + 1) % world().size();
  const int previous = (world().rank() + world().size() - 1) % world().size();
  std::vector<float> sent(1001);
  std::vector<float> received(1001);
  const auto send = world().make_send(sent, next, 7);
  const auto receive = world().make_receive(received, previous, 7);
  for (int round = 0; round < 20; ++round) {
    std::iota(sent.begin(), sent.end(), static_cast<float>(1000 * round + world().rank()));
    receive->start();
    send->start();
    receive->wait();
    send->wait();
    for (int i = 0; i < 1001; ++i) {
      EXPECT_EQ(received[static_cast<std::size_t>(i)],
                static_cast<float>(1000 * round + previous + i));
    }
  }
}

TEST(Message, OfAnotherTagIsAnother) {
  if (world().rank() > 1) return;
  const int other = 1 - world().rank();
  float forward = world().rank() == 0 ? 1.0f : 0.0f;
  float backward = world().rank() == 0 ? 2.0f : 0.0f;
  const std::span<float> a(&forward, 1);
  const std::span<float> b(&backward, 1);
  if (world().rank() == 0) {
    const auto first = world().make_send(a, other, 1);
    const auto second = world().make_send(b, other, 2);
    first->start();
    second->start();
    first->wait();
    second->wait();
  } else {
    const auto second = world().make_receive(b, other, 2);
    const auto first = world().make_receive(a, other, 1);
    second->start();
    first->start();
    second->wait();
    first->wait();
  }
  EXPECT_EQ(forward, 1.0f);
  EXPECT_EQ(backward, 2.0f);
}

TEST(Message, OfAnotherSizeIsAnError) {
  if (world().rank() > 1) return;
  std::vector<float> floats(4);
  if (world().rank() == 0) {
    const auto send = world().make_send(std::span(floats).first(3), 1, 0);
    send->start();
    send->wait();
  } else {
    const auto receive = world().make_receive(floats, 0, 0);
    receive->start();
    EXPECT_THROW(receive->wait(), Error);
  }
}

TEST(Message, ThatIsGivenUpWritesNothing) {
  if (world().rank() > 1) return;
  std::vector<float> floats(4, 1.0f);
  if (world().rank() == 1) {
    world().make_receive(floats, 0, 5)->start();
    EXPECT_EQ(floats, std::vector<float>(4, 1.0f));
  }
  // Its place is free for another.
  const int other = 1 - world().rank();
  std::vector<float> next(4, world().rank() == 0 ? 3.0f : 0.0f);
  const auto message = world().rank() == 0 ? world().make_send(next, other, 6)
                                           : world().make_receive(next, other, 6);
  message->start();
  message->wait();
  EXPECT_EQ(next, std::vector<float>(4, 3.0f));
}

TEST(Message, IsRefusedWhereNobodyIs) {
  float value = 0;
  const std::span<float> one(&value, 1);
  const int rank = world().rank();
  EXPECT_THROW(static_cast<void>(world().make_send(one, rank, 0)), Error);
  EXPECT_THROW(static_cast<void>(world().make_receive(one, world().size(), 0)), Error);
  EXPECT_THROW(static_cast<void>(world().make_send(one, (rank + 1) % world().size(), -1)), Error);
}

}  // namespace
}  // namespace quern
