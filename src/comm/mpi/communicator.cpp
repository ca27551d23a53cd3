// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "comm/mpi/chunks.hpp"
#include "comm/mpi/message.hpp"
#include "comm/mpi/node_shared.hpp"
#include "comm/segments.hpp"
#include "comm/wait_clock.hpp"

namespace quern {

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::int64_t most_at_once)
    : most_at_once_(most_at_once), exceptions_at_start_(std::uncaught_exceptions()) {
  caller_.host = "start";
  caller_.check(MPI_Comm_dup(parent, &world_), "MPI_Comm_dup");
  caller_.check(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  caller_.check(MPI_Comm_rank(MPI_COMM_WORLD, &caller_.rank), "MPI_Comm_rank");
  caller_.check(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank");
  caller_.check(MPI_Comm_size(world_, &size_), "MPI_Comm_size");
  gather_hosts();
  caller_.check(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_),
                "MPI_Comm_split_type");
  caller_.check(MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  caller_.check(MPI_Comm_rank(node_, &node_rank_), "MPI_Comm_rank");
  caller_.check(MPI_Comm_size(node_, &node_size_), "MPI_Comm_size");
  gathered_ = CountTable(size_);
  segments_.emplace(world_, size_, most_at_once_);
  roll_call_.emplace(world_, rank_, size_);
}

void MpiCommunicator::gather_hosts() {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME + 1>;
  Name name{};
  int length = 0;
  caller_.check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  caller_.host = name.data();
  std::vector<Name> names(static_cast<std::size_t>(size_));
  caller_.check(MPI_Allgather(name.data(), sizeof(Name), MPI_BYTE, names.data(), sizeof(Name),
                              MPI_BYTE, world_),
                "MPI_Allgather");
  for (const Name& other : names) hosts_.emplace_back(other.data());
}

MpiCommunicator::~MpiCommunicator() {
  if (std::uncaught_exceptions() <= exceptions_at_start_) release();
}

void MpiCommunicator::release() {
  if (world_ == MPI_COMM_NULL) return;
  caller_.check_quietly(MPI_Comm_free(&node_), "MPI_Comm_free");
  caller_.check_quietly(MPI_Comm_free(&world_), "MPI_Comm_free");
}

const std::string& MpiCommunicator::host(int rank) const {
  expect(rank >= 0 && rank < size_, "a rank of this communicator");
  return hosts_[static_cast<std::size_t>(rank)];
}

void MpiCommunicator::barrier() {
  const WaitClock::Scope waiting;
  caller_.check(MPI_Barrier(world_), "MPI_Barrier");
}

std::vector<int> MpiCommunicator::roll_call(std::chrono::milliseconds most) {
  return roll_call_->run(caller_, most);
}

template <class T, class Call>
void MpiCommunicator::in_chunks(std::span<T> values, Call&& call) const {
  for_each_chunk(values, std::forward<Call>(call),
                 std::min(kMaxChunk, static_cast<std::size_t>(most_at_once_)));
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  expect(root >= 0 && root < size_, "a root of this communicator");
  const WaitClock::Scope waiting;
  in_chunks(bytes, [&](std::span<std::byte> chunk) {
    caller_.check(MPI_Bcast(chunk.data(), static_cast<int>(chunk.size()), MPI_BYTE, root, world_),
                  "MPI_Bcast");
  });
}

template <class T>
void MpiCommunicator::all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op op) {
  const WaitClock::Scope waiting;
  in_chunks(values, [&](std::span<T> chunk) {
    caller_.check(
        MPI_Allreduce(MPI_IN_PLACE, chunk.data(), static_cast<int>(chunk.size()), type, op, world_),
        "MPI_Allreduce");
  });
}

void MpiCommunicator::all_reduce_sum(std::span<float> values) {
  all_reduce(values, MPI_FLOAT, MPI_SUM);
}

void MpiCommunicator::all_reduce_sum(std::span<double> values) {
  all_reduce(values, MPI_DOUBLE, MPI_SUM);
}

void MpiCommunicator::all_reduce_sum(std::span<std::int64_t> values) {
  all_reduce(values, MPI_INT64_T, MPI_SUM);
}

void MpiCommunicator::all_reduce_max(std::span<std::int64_t> values) {
  all_reduce(values, MPI_INT64_T, MPI_MAX);
}

template <class T>
void MpiCommunicator::gather_long(std::span<const T> mine, std::span<T> all,
                                  std::span<const std::int64_t> counts) {
  std::size_t begin = 0;
  for (int root = 0; root < size_; ++root) {
    const auto count = static_cast<std::size_t>(counts[static_cast<std::size_t>(root)]);
    const std::span<T> part = all.subspan(begin, count);
    if (root == rank() && mine.data() != part.data()) {
      std::copy(mine.begin(), mine.end(), part.begin());
    }
    broadcast(std::as_writable_bytes(part), root);
    begin += count;
  }
}

void MpiCommunicator::tabulate(std::span<const std::int64_t> counts) {
  int offset = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    gathered_.counts[i] = static_cast<int>(counts[i]);
    gathered_.offsets[i] = offset;
    offset += gathered_.counts[i];
  }
}

template <class T>
void MpiCommunicator::gather(std::span<const T> mine, std::span<T> all,
                             std::span<const std::int64_t> counts, MPI_Datatype type) {
  const std::int64_t total = check_gather(mine.size(), all.size(), counts, rank(), size_);
  // The same decision everywhere, as all ranks have the same counts.
  if (total > most_at_once_) return gather_long(mine, all, counts);
  const WaitClock::Scope waiting;
  tabulate(counts);
  const bool in_place =
      mine.data() == all.data() + gathered_.offsets[static_cast<std::size_t>(rank())];
  caller_.check(
      MPI_Allgatherv(in_place ? MPI_IN_PLACE : mine.data(), static_cast<int>(mine.size()), type,
                     all.data(), gathered_.counts.data(), gathered_.offsets.data(), type, world_),
      "MPI_Allgatherv");
}

void MpiCommunicator::all_gather_v(std::span<const float> mine, std::span<float> all,
                                   std::span<const std::int64_t> counts) {
  gather(mine, all, counts, MPI_FLOAT);
}

void MpiCommunicator::all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                                   std::span<const std::int64_t> counts) {
  gather(mine, all, counts, MPI_BYTE);
}

void MpiCommunicator::gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                               std::span<const std::int64_t> counts) {
  const std::size_t room = rank_ == 0 ? all.size() : std::numeric_limits<std::size_t>::max() / 2;
  const std::int64_t total = check_gather(mine.size(), room, counts, rank_, size_);
  // The same decision everywhere, as all ranks have the same counts.
  if (total > most_at_once_) return Communicator::gather_v(mine, all, counts);
  const WaitClock::Scope waiting;
  tabulate(counts);
  caller_.check(MPI_Gatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(),
                            gathered_.counts.data(), gathered_.offsets.data(), MPI_BYTE, 0, world_),
                "MPI_Gatherv");
}

void MpiCommunicator::all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                                   std::span<float> receive,
                                   std::span<const Segment> receive_from) {
  check_segments(send_to, send.size(), size_);
  check_segments(receive_from, receive.size(), size_);
  const WaitClock::Scope waiting;
  segments_->run(caller_, send, send_to, receive, receive_from);
}

std::unique_ptr<Communicator> MpiCommunicator::split(int colour) {
  expect(colour >= 0, "a colour that is not negative");
  MPI_Comm part = MPI_COMM_NULL;
  caller_.check(MPI_Comm_split(world_, colour, rank_, &part), "MPI_Comm_split");
  auto group = std::make_unique<MpiCommunicator>(part, most_at_once_);
  caller_.check(MPI_Comm_free(&part), "MPI_Comm_free");
  return group;
}

void MpiCommunicator::check_message(int other, int tag) const {
  expect(other >= 0 && other < size_ && other != rank_, "another rank of this communicator");
  expect(tag >= 0 && tag < kRollCallTag, "a tag below 32766");
}

std::unique_ptr<Message> MpiCommunicator::make_send(std::span<const float> values, int to,
                                                    int tag) {
  check_message(to, tag);
  std::vector<MpiMessage::Part> parts;
  in_chunks(values, [&](std::span<const float> chunk) {
    MpiMessage::Part& part = parts.emplace_back(static_cast<int>(chunk.size()));
    caller_.check(
        MPI_Send_init(chunk.data(), part.count, MPI_FLOAT, to, tag, world_, &part.request),
        "MPI_Send_init");
  });
  return std::make_unique<MpiMessage>(std::move(parts), caller_, MpiMessage::End::send);
}

std::unique_ptr<Message> MpiCommunicator::make_receive(std::span<float> values, int from, int tag) {
  check_message(from, tag);
  std::vector<MpiMessage::Part> parts;
  in_chunks(values, [&](std::span<float> chunk) {
    MpiMessage::Part& part = parts.emplace_back(static_cast<int>(chunk.size()));
    caller_.check(
        MPI_Recv_init(chunk.data(), part.count, MPI_FLOAT, from, tag, world_, &part.request),
        "MPI_Recv_init");
  });
  return std::make_unique<MpiMessage>(std::move(parts), caller_, MpiMessage::End::receive);
}

std::unique_ptr<NodeShared> MpiCommunicator::allocate_node_shared(std::size_t bytes) {
  return std::make_unique<MpiNodeShared>(node_, caller_, bytes);
}

void MpiCommunicator::abort(ExitCode code) {
  caller_.check_quietly(MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code)), "MPI_Abort");
  std::_Exit(static_cast<int>(code));
}

}  // namespace quern
