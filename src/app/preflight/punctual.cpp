// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/punctual.hpp"

#include <cstdlib>

#include "app/preflight/absence.hpp"
#include "base/log.hpp"

namespace quern {

void Punctual::call_roll() {
  const std::vector<int> missing = ranks_.roll_call(deadline_.left());
  if (missing.empty()) return;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < size(); ++rank) hosts.push_back(host(rank));
  log::error(absence_text(missing, hosts, deadline_.text()));
  const std::string verdict = absence_verdict(missing, hosts);
  log::set_rank(0);  // which may be among the missing
  if (!verdict.empty()) log::print(verdict);
  ranks_.abort(ExitCode::failure);
}

// Of the roll, ranks come back one after the other, too far apart for what is timed after a
// barrier.
void Punctual::barrier() {
  call_roll();
  ranks_.barrier();
}

void Punctual::broadcast(std::span<std::byte> bytes, int root) {
  call_roll();
  ranks_.broadcast(bytes, root);
}

void Punctual::all_reduce_sum(std::span<std::int64_t> values) {
  call_roll();
  ranks_.all_reduce_sum(values);
}

void Punctual::all_reduce_max(std::span<std::int64_t> values) {
  call_roll();
  ranks_.all_reduce_max(values);
}

void Punctual::all_gather_v(std::span<const float> mine, std::span<float> all,
                            std::span<const std::int64_t> counts) {
  call_roll();
  ranks_.all_gather_v(mine, all, counts);
}

void Punctual::all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                            std::span<const std::int64_t> counts) {
  call_roll();
  ranks_.all_gather_v(mine, all, counts);
}

void Punctual::gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                        std::span<const std::int64_t> counts) {
  call_roll();
  ranks_.gather_v(mine, all, counts);
}

void Punctual::all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                            std::span<float> receive, std::span<const Segment> receive_from) {
  call_roll();
  ranks_.all_to_all_v(send, send_to, receive, receive_from);
}

std::unique_ptr<Communicator> Punctual::split(int colour) {
  call_roll();
  return ranks_.split(colour);
}

std::unique_ptr<Message> Punctual::make_send(std::span<const float> values, int to, int tag) {
  return ranks_.make_send(values, to, tag);
}

std::unique_ptr<Message> Punctual::make_receive(std::span<float> values, int from, int tag) {
  return ranks_.make_receive(values, from, tag);
}

std::unique_ptr<NodeShared> Punctual::allocate_node_shared(std::size_t bytes) {
  call_roll();
  return ranks_.allocate_node_shared(bytes);
}

void Punctual::abort(ExitCode code) {
  ranks_.abort(code);
  std::_Exit(static_cast<int>(code));
}

}  // namespace quern
