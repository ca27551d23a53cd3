// SPDX-License-Identifier: Apache-2.0
#include "bench/absent_ranks.hpp"

#include <algorithm>
#include <numeric>

#include "comm/segments.hpp"

namespace quern {

namespace {

class AbsentMessage final : public Message {
 public:
  void start() override {}
  void wait() override {}
};

/// A rank's own part, unless it lies there.
template <class T>
void gather_own(std::span<const T> mine, std::span<T> all, std::span<const std::int64_t> counts,
                int rank, int size) {
  check_gather(mine.size(), all.size(), counts, rank, size);
  const auto begin = std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
  const std::span<T> own = all.subspan(static_cast<std::size_t>(begin), mine.size());
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
}

}  // namespace

void AbsentRanks::all_gather_v(std::span<const float> mine, std::span<float> all,
                               std::span<const std::int64_t> counts) {
  gather_own(mine, all, counts, rank_, size_);
}

void AbsentRanks::all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                               std::span<const std::int64_t> counts) {
  gather_own(mine, all, counts, rank_, size_);
}

void AbsentRanks::all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                               std::span<float> receive, std::span<const Segment> receive_from) {
  check_segments(send_to, send.size(), size_);
  check_segments(receive_from, receive.size(), size_);
  const Segment from = send_to[static_cast<std::size_t>(rank_)];
  const Segment to = receive_from[static_cast<std::size_t>(rank_)];
  std::copy_n(send.begin() + from.offset, from.count, receive.begin() + to.offset);
}

std::unique_ptr<Communicator> AbsentRanks::split(int) {
  return std::make_unique<AbsentRanks>(rank_, size_);
}

std::unique_ptr<Message> AbsentRanks::make_send(std::span<const float>, int, int) {
  return std::make_unique<AbsentMessage>();
}

std::unique_ptr<Message> AbsentRanks::make_receive(std::span<float>, int, int) {
  return std::make_unique<AbsentMessage>();
}

std::unique_ptr<NodeShared> AbsentRanks::allocate_node_shared(std::size_t bytes) {
  return alone_.allocate_node_shared(bytes);
}

}  // namespace quern
