// SPDX-License-Identifier: Apache-2.0
// comm/nccl on a stand-in for NCCL (fake_nccl/nccl.h says what that can show).
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/nccl/transport.hpp"
#include "mpi/comm/fake_nccl/fake_nccl.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using std::chrono::milliseconds;
using testing::fake_nccl;
using testing::FakeNccl;
using testing::world;

constexpr milliseconds kLong{60000};

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override { fake_nccl() = FakeNccl(); }
};

// The message of the AgreedError that all ranks get.
template <class F>
std::string agreed_error(F&& f, ExitCode code) {
  try {
    f();
  } catch (const AgreedError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "expected an error on all ranks";
  return "";
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(Nccl, RanksJoinWithTheIdOfRankZeroAndLeaveInOrder) {
  {
    const auto transport = start_nccl(world(), kLong);
    EXPECT_EQ(transport->rank(), world().rank());
    EXPECT_EQ(transport->size(), world().size());
    EXPECT_STREQ(transport->name(), "NCCL 2.28.9");
    EXPECT_TRUE(transport->is_capturable());
    EXPECT_EQ(fake_nccl().ids_made, world().rank() == 0 ? 1 : 0);
    EXPECT_FALSE(fake_nccl().ids_differ);
    EXPECT_GT(fake_nccl().polls, 1) << "a communicator that does not block is polled";
    transport->check();
  }
  EXPECT_EQ(fake_nccl().finalised, 1);
  EXPECT_EQ(fake_nccl().destroyed, 1);
  EXPECT_EQ(fake_nccl().aborted, 0);
}

TEST_F(Nccl, ExchangesMoveWhatTheyPromise) {
  const auto transport = start_nccl(world(), kLong);
  const int size = world().size();
  const int rank = world().rank();

  std::vector<float> sum(5, static_cast<float>(rank + 1));
  transport->all_reduce_sum(sum, {});
  EXPECT_EQ(sum, std::vector<float>(5, static_cast<float>(size * (size + 1) / 2)));

  std::vector<float> all(static_cast<std::size_t>(3 * size), -1.0f);
  for (int i = 0; i < 3; ++i)
    all[static_cast<std::size_t>(3 * rank + i)] = static_cast<float>(rank);
  transport->all_gather(all, {});
  for (int r = 0; r < size; ++r)
    EXPECT_EQ(all[static_cast<std::size_t>(3 * r + 2)], static_cast<float>(r));

  // r + 1 floats of rank r.
  std::vector<std::int64_t> counts;
  std::vector<float> parts;
  std::vector<float> expected;
  for (int r = 0; r < size; ++r) {
    counts.push_back(r + 1);
    parts.insert(parts.end(), static_cast<std::size_t>(r + 1),
                 r == rank ? static_cast<float>(r) : -1.0f);
    expected.insert(expected.end(), static_cast<std::size_t>(r + 1), static_cast<float>(r));
  }
  transport->all_gather_v(parts, counts, {});
  EXPECT_EQ(parts, expected);

  // Rank r sends r * 100 + d to rank d, d + 1 times; nothing to itself.
  std::vector<Segment> to;
  std::vector<Segment> from;
  std::vector<float> send;
  for (int d = 0; d < size; ++d) {
    const std::int64_t count = d == rank ? 0 : d + 1;
    to.push_back({static_cast<std::int64_t>(send.size()), count});
    send.insert(send.end(), static_cast<std::size_t>(count), static_cast<float>(100 * rank + d));
    from.push_back({std::int64_t{d} * (rank + 1), d == rank ? 0 : rank + 1});
  }
  std::vector<float> received(static_cast<std::size_t>(size * (rank + 1)), -1.0f);
  transport->all_to_all_v(send, to, received, from, {});
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i <= rank; ++i) {
      EXPECT_EQ(received[static_cast<std::size_t>(r * (rank + 1) + i)],
                r == rank ? -1.0f : static_cast<float>(100 * r + rank));
    }
  }
  if (size > 1) {
    EXPECT_THROW(transport->all_gather(std::span(all).first(all.size() - 1), {}), Error);
  }
}

// It may need long to load its kernels, when all others are at their first exchange already.
TEST_F(Nccl, RankThatComesLateToAFirstExchangeIsWaitedFor) {
  const auto transport = start_nccl(world(), milliseconds{1000});
  const auto size = static_cast<std::size_t>(world().size());
  std::vector<float> floats(size, 1.0f);
  std::vector<float> received(size);
  std::vector<Segment> each;
  for (std::size_t rank = 0; rank < size; ++rank) each.push_back({static_cast<int>(rank), 1});
  each[static_cast<std::size_t>(world().rank())].count = 0;
  const std::function<void()> kinds[] = {
      [&] { transport->all_reduce_sum(floats, {}); },
      [&] { transport->all_gather(floats, {}); },
      [&] { transport->all_to_all_v(floats, each, received, each, {}); },
  };
  for (const auto& exchange : kinds) {
    if (world().rank() == 0) std::this_thread::sleep_for(milliseconds{1500});
    EXPECT_NO_THROW(exchange());
  }
}

TEST_F(Nccl, LibraryThatIsTooOldIsRefusedBeforeAnythingElse) {
  fake_nccl().version = 21900;
  const std::string message = agreed_error([] { start_nccl(world(), kLong); }, ExitCode::bad_input);
  expect_in(message, "NCCL 2.19.0");
  expect_in(message, "expected 2.20.0 or later");
  EXPECT_EQ(fake_nccl().ids_made, 0);
  fake_nccl().version = 30000;
  agreed_error([] { start_nccl(world(), kLong); }, ExitCode::bad_input);
  fake_nccl().version = 23100;  // newer than known: a warning, and on
  start_nccl(world(), kLong);
  EXPECT_EQ(fake_nccl().destroyed, 1);
}

TEST_F(Nccl, RankThatIsMissingEndsTheWaitOfAll) {
  fake_nccl().init_hangs = true;
  const auto start = std::chrono::steady_clock::now();
  const std::string message =
      agreed_error([] { start_nccl(world(), milliseconds{200}); }, ExitCode::failure);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  expect_in(message, "ncclCommInitRankConfig took longer than");
  expect_in(message, "QUERN_NCCL_TIMEOUT");
  EXPECT_EQ(fake_nccl().aborted, 1) << "every rank gives up";
  EXPECT_EQ(fake_nccl().finalised, 0);
}

TEST_F(Nccl, RankThatCannotJoinIsNamed) {
  const int culprit = world().size() - 1;
  if (world().rank() == culprit) {
    fake_nccl().init_result = ncclSystemError;
  } else {
    fake_nccl().init_hangs = true;  // it waits for the other
  }
  const std::string message =
      agreed_error([] { start_nccl(world(), milliseconds{200}); }, ExitCode::failure);
  if (world().size() == 1) expect_in(message, "failed on rank 0");
  // Not one of those that waited for it.
  if (world().size() > 1) expect_in(message, "rank " + std::to_string(culprit) + " on ");
  expect_in(message, "a system call failed");
  EXPECT_EQ(fake_nccl().finalised, 0);
}

TEST_F(Nccl, ErrorThatComesLaterIsFoundByPollingAndNamesTheRank) {
  auto transport = start_nccl(world(), kLong);
  fake_nccl().async_error = ncclRemoteError;
  try {
    transport->check();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    expect_in(error.what(), "an exchange by NCCL failed on rank " + std::to_string(world().rank()));
    expect_in(error.what(), "another rank failed: the stand-in's last words");
  }
  transport->abort();
  transport->abort();  // once is enough
  EXPECT_THROW(transport->check(), Error) << "nothing may be called any more";
  transport.reset();
  EXPECT_EQ(fake_nccl().aborted, 1);
}

// NCCL's own abort does, and they are its caller's.
TEST_F(Nccl, AbortDoesNotWaitForRecordedGraphs) {
  auto transport = start_nccl(world(), kLong);
  testing::recorded_graphs() = 1;
  transport->abort();
  EXPECT_EQ(fake_nccl().aborted, 0);
  testing::recorded_graphs() = 0;
  transport.reset();
  EXPECT_EQ(fake_nccl().aborted, 1);
}

TEST_F(Nccl, ExceptionAbortsInsteadOfWaitingForTheOthers) {
  try {
    const auto transport = start_nccl(world(), kLong);
    throw Error("something else");
  } catch (const Error&) {
  }
  EXPECT_EQ(fake_nccl().aborted, 1);
  EXPECT_EQ(fake_nccl().finalised, 0);
}

}  // namespace
}  // namespace quern
