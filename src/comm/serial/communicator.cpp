// SPDX-License-Identifier: Apache-2.0
#include "comm/serial/communicator.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/host_name.hpp"
#include "comm/segments.hpp"
#include "comm/serial/node_shared.hpp"

namespace quern {

namespace {

template <class T>
void copy_unless_in_place(std::span<const T> from, std::span<T> to) {
  if (from.data() != to.data()) std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

SerialCommunicator::SerialCommunicator() : host_(host_name()) {}

const std::string& SerialCommunicator::host(int rank) const {
  expect(rank == 0, "a rank of this communicator");
  return host_;
}

void SerialCommunicator::broadcast(std::span<std::byte>, int root) {
  expect(root == 0, "a root of this communicator");
}

void SerialCommunicator::all_gather_v(std::span<const float> mine, std::span<float> all,
                                      std::span<const std::int64_t> counts) {
  check_gather(mine.size(), all.size(), counts, 0, 1);
  copy_unless_in_place(mine, all);
}

void SerialCommunicator::all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                                      std::span<const std::int64_t> counts) {
  check_gather(mine.size(), all.size(), counts, 0, 1);
  copy_unless_in_place(mine, all);
}

void SerialCommunicator::all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                                      std::span<float> receive,
                                      std::span<const Segment> receive_from) {
  check_segments(send_to, send.size(), 1);
  check_segments(receive_from, receive.size(), 1);
  expect(send_to[0].count == receive_from[0].count, "equal counts at both ends");
  const auto count = static_cast<std::size_t>(send_to[0].count);
  copy_unless_in_place(send.subspan(static_cast<std::size_t>(send_to[0].offset), count),
                       receive.subspan(static_cast<std::size_t>(receive_from[0].offset), count));
}

std::unique_ptr<Communicator> SerialCommunicator::split(int colour) {
  expect(colour >= 0, "a colour that is not negative");
  return std::make_unique<SerialCommunicator>();
}

std::unique_ptr<Message> SerialCommunicator::make_send(std::span<const float>, int, int) {
  throw Error("a message needs another rank, and there is one rank");
}

std::unique_ptr<Message> SerialCommunicator::make_receive(std::span<float>, int, int) {
  throw Error("a message needs another rank, and there is one rank");
}

std::unique_ptr<NodeShared> SerialCommunicator::allocate_node_shared(std::size_t bytes) {
  return std::make_unique<SerialNodeShared>(bytes);
}

void SerialCommunicator::abort(ExitCode code) {
  std::_Exit(static_cast<int>(code));
}

}  // namespace quern
