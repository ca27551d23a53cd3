// SPDX-License-Identifier: Apache-2.0
// Exchanges of more than one call of MPI counts, with communicators that let a call count to less.
// MPI's calls are watched: none may count or reach further.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi/communicator.hpp"
#include "support/world.hpp"

namespace {

// Elements that a call of MPI was asked for, or reached to, at most.
std::int64_t g_most = 0;

void note(std::int64_t count) {
  g_most = std::max(g_most, count);
}

void note(const int* counts, const int* offsets, MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  for (int rank = 0; rank < size; ++rank) note(std::int64_t{counts[rank]} + offsets[rank]);
}

}  // namespace

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  note(count);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  note(count);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Allgatherv(const void* from, int count, MPI_Datatype from_type, void* to, const int* counts,
                   const int* offsets, MPI_Datatype type, MPI_Comm comm) {
  note(counts, offsets, comm);
  return PMPI_Allgatherv(from, count, from_type, to, counts, offsets, type, comm);
}

int MPI_Alltoallv(const void* from, const int* from_counts, const int* from_offsets,
                  MPI_Datatype from_type, void* to, const int* counts, const int* offsets,
                  MPI_Datatype type, MPI_Comm comm) {
  note(from_counts, from_offsets, comm);
  note(counts, offsets, comm);
  return PMPI_Alltoallv(from, from_counts, from_offsets, from_type, to, counts, offsets, type,
                        comm);
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(count);
  return PMPI_Isend(from, count, type, rank, tag, comm, request);
}

int MPI_Irecv(void* to, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(count);
  return PMPI_Irecv(to, count, type, rank, tag, comm, request);
}

int MPI_Send_init(const void* from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  note(count);
  return PMPI_Send_init(from, count, type, rank, tag, comm, request);
}

int MPI_Recv_init(void* to, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  note(count);
  return PMPI_Recv_init(to, count, type, rank, tag, comm, request);
}

namespace quern {
namespace {

using testing::world;

constexpr std::int64_t kLimits[] = {4, 7, 24, 1000};
constexpr float kUntouched = -1;

float value(int from, int to, std::int64_t i) {
  return static_cast<float>(1000 * (10 * from + to) + i);
}

/// Segments with gaps between them, the last rank's first.
struct Side {
  std::vector<float> floats;
  std::vector<Segment> segments;
};

template <class Count>
Side side_of(int size, std::int64_t gap, const Count& count) {
  Side side;
  side.segments.resize(static_cast<std::size_t>(size));
  std::int64_t end = 3;
  for (int i = 0; i < size; ++i) {
    const int rank = size - 1 - i;
    side.segments[static_cast<std::size_t>(rank)] = {end, count(rank)};
    end += count(rank) + gap;
  }
  side.floats.assign(static_cast<std::size_t>(end), kUntouched);
  return side;
}

std::vector<float> floats_at(const Side& side, const Segment& segment) {
  const auto begin = side.floats.begin() + segment.offset;
  return {begin, begin + segment.count};
}

/// Everybody sends count(from, to) floats to everybody.
template <class Count>
void expect_all_to_all(Communicator& comm, std::int64_t gap, const Count& count) {
  const int own = comm.rank();
  Side send = side_of(comm.size(), gap, [&](int to) { return count(own, to); });
  Side receive = side_of(comm.size(), gap, [&](int from) { return count(from, own); });
  for (int to = 0; to < comm.size(); ++to) {
    const Segment& segment = send.segments[static_cast<std::size_t>(to)];
    for (std::int64_t i = 0; i < segment.count; ++i)
      send.floats[static_cast<std::size_t>(segment.offset + i)] = value(own, to, i);
  }
  comm.all_to_all_v(send.floats, send.segments, receive.floats, receive.segments);
  std::int64_t received = 0;
  for (int from = 0; from < comm.size(); ++from) {
    const Segment& segment = receive.segments[static_cast<std::size_t>(from)];
    std::vector<float> expected;
    for (std::int64_t i = 0; i < segment.count; ++i) expected.push_back(value(from, own, i));
    EXPECT_EQ(floats_at(receive, segment), expected) << "from rank " << from;
    received += segment.count;
  }
  EXPECT_EQ(std::ssize(receive.floats) - std::ranges::count(receive.floats, kUntouched), received)
      << "gaps stay";
}

TEST(LongExchange, MovesSegmentsOfAnyLengthFromAnywhere) {
  for (const std::int64_t limit : kLimits) {
    MpiCommunicator comm(MPI_COMM_WORLD, limit);
    g_most = 0;
    for (const std::int64_t gap : {0, 1, 29}) {
      SCOPED_TRACE(std::to_string(limit) + " at once, gaps of " + std::to_string(gap));
      expect_all_to_all(comm, gap, [](int from, int to) { return (7 * from + 11 * to + 5) % 23; });
      expect_all_to_all(comm, gap, [](int from, int to) { return (from + to) % 3 == 0 ? 61 : 1; });
      expect_all_to_all(comm, gap, [](int, int) { return 1; });
      // To one, and from one.
      expect_all_to_all(comm, gap, [](int from, int to) { return to == 0 ? 13 + from : 0; });
      expect_all_to_all(comm, gap, [](int from, int to) { return from == 0 ? 13 + to : 0; });
    }
    EXPECT_LE(g_most, limit);
    EXPECT_GT(g_most, 0) << "MPI's calls are watched";
  }
}

TEST(LongExchange, OneAfterTheOtherKeepTheirOrder) {
  MpiCommunicator comm(MPI_COMM_WORLD, 7);
  for (int round = 0; round < 20; ++round)
    expect_all_to_all(comm, 0, [&](int from, int to) { return (from + 2 * to + round) % 17; });
}

TEST(LongExchange, MessagesAreOfAnyLength) {
  const int next = (world().rank() + 1) % world().size();
  const int previous = (world().rank() + world().size() - 1) % world().size();
  if (next == world().rank()) return;
  MpiCommunicator comm(MPI_COMM_WORLD, 7);
  g_most = 0;
  for (const std::size_t size : {1, 6, 7, 8, 14, 100}) {
    std::vector<float> sent(size);
    std::vector<float> received(size);
    const auto send = comm.make_send(sent, next, 5);
    const auto receive = comm.make_receive(received, previous, 5);
    for (int round = 0; round < 3; ++round) {
      std::iota(sent.begin(), sent.end(), static_cast<float>(1000 * round + comm.rank()));
      receive->start();
      send->start();
      receive->wait();
      send->wait();
      std::vector<float> expected(size);
      std::iota(expected.begin(), expected.end(), static_cast<float>(1000 * round + previous));
      EXPECT_EQ(received, expected) << size << " floats";
    }
  }
  EXPECT_EQ(g_most, 7);
}

TEST(LongExchange, SumsAndGathersAndBroadcastsAreOfAnyLength) {
  MpiCommunicator comm(MPI_COMM_WORLD, 7);
  g_most = 0;
  std::vector<float> sum(23);
  std::iota(sum.begin(), sum.end(), 0.0f);
  comm.all_reduce_sum(sum);
  for (int i = 0; i < 23; ++i)
    EXPECT_EQ(sum[static_cast<std::size_t>(i)], static_cast<float>(i * comm.size()));

  std::vector<std::int64_t> counts;
  std::vector<float> expected;
  for (int rank = 0; rank < comm.size(); ++rank) {
    counts.push_back(5 + 3 * rank);
    for (int i = 0; i < 5 + 3 * rank; ++i) expected.push_back(value(rank, 0, i));
  }
  std::vector<float> mine(static_cast<std::size_t>(5 + 3 * comm.rank()));
  for (std::size_t i = 0; i < mine.size(); ++i)
    mine[i] = value(comm.rank(), 0, static_cast<std::int64_t>(i));
  std::vector<float> all(expected.size());
  comm.all_gather_v(mine, all, counts);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(g_most, 7);

  const std::string text = "longer than seven bytes";
  EXPECT_EQ(broadcast_string(comm, comm.rank() == 0 ? text : "", 0), text);
  const auto group = comm.split(0);
  EXPECT_EQ(all_gather_strings(*group, text).back(), text);
}

}  // namespace
}  // namespace quern
