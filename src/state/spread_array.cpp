// SPDX-License-Identifier: Apache-2.0
#include "state/spread_array.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "tensor/float_span.hpp"

namespace quern {

namespace {

std::int64_t total(const std::vector<BlockRange>& ranges) {
  std::int64_t floats = 0;
  for (const BlockRange& range : ranges) floats += range.size();
  return floats;
}

// The pieces, one after the other.
HostFloats joined(const std::vector<FloatView>& pieces, std::int64_t size) {
  const HostFloats floats("quern::state::own_state", static_cast<std::size_t>(size));
  std::size_t at = 0;
  for (const FloatView& piece : pieces) {
    const std::size_t end = at + piece.extent(0);
    Kokkos::deep_copy(Kokkos::subview(floats, std::pair(at, end)), piece);
    at = end;
  }
  return floats;
}

// A rank's floats from `begin` on, of its ranges one after the other, into their places.
void put(std::span<const float> floats, const std::vector<BlockRange>& ranges, std::int64_t begin,
         const HostFloats& whole) {
  for (const BlockRange& range : ranges) {
    if (floats.empty()) return;
    if (begin >= range.size()) {
      begin -= range.size();
      continue;
    }
    const auto count = std::min(range.size() - begin, std::ssize(floats));
    const auto from = floats.first(static_cast<std::size_t>(count));
    std::copy(from.begin(), from.end(), whole.data() + range.begin + begin);
    floats = floats.subspan(from.size());
    begin = 0;
  }
}

}  // namespace

HostFloats collect_array(Communicator& comm, const std::vector<std::vector<BlockRange>>& owners,
                         const std::vector<FloatView>& pieces, std::int64_t size,
                         std::int64_t floats_at_once) {
  expect(floats_at_once > 0, "some floats at a time");
  const bool is_root = comm.rank() == 0;
  std::vector<std::int64_t> sizes;
  for (const std::vector<BlockRange>& ranges : owners) sizes.push_back(total(ranges));
  const std::int64_t own_size = sizes.at(static_cast<std::size_t>(comm.rank()));
  const HostFloats own = joined(pieces, own_size);
  const HostFloats whole("quern::state::whole_state", static_cast<std::size_t>(is_root ? size : 0));
  if (is_root) put(float_span(own, 0, own_size), owners[0], 0, whole);

  // Of each rank so much at a time that rank 0 receives at most floats_at_once, or one of each.
  const std::int64_t step = std::max<std::int64_t>(1, floats_at_once / std::ssize(owners));
  const std::int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<Segment> send(owners.size());
  std::vector<Segment> receive(owners.size());
  std::vector<float> from_others;
  for (std::int64_t begin = 0; begin < longest; begin += step) {
    const auto count = [&](std::int64_t of) {
      return std::clamp<std::int64_t>(of - begin, 0, step);
    };
    const std::int64_t mine = is_root ? 0 : count(own_size);
    send[0] = {0, mine};
    std::int64_t received = 0;
    for (std::size_t rank = 1; is_root && rank < owners.size(); ++rank) {
      receive[rank] = {received, count(sizes[rank])};
      received += receive[rank].count;
    }
    from_others.resize(static_cast<std::size_t>(received));
    comm.all_to_all_v(float_span(own, mine > 0 ? begin : 0, mine), send, from_others, receive);
    for (std::size_t rank = 1; is_root && rank < owners.size(); ++rank) {
      const Segment& segment = receive[rank];
      put(std::span(from_others)
              .subspan(static_cast<std::size_t>(segment.offset),
                       static_cast<std::size_t>(segment.count)),
          owners[rank], begin, whole);
    }
  }
  return whole;
}

void distribute_array(Communicator& comm, const std::vector<std::vector<BlockRange>>& owners,
                      std::span<const float> whole, std::int64_t size,
                      const std::vector<FloatView>& pieces, std::span<float> buffer) {
  expect(!buffer.empty(), "room for some floats");
  const std::vector<BlockRange>& own = owners.at(static_cast<std::size_t>(comm.rank()));
  const auto step = static_cast<std::int64_t>(buffer.size());
  for (std::int64_t begin = 0; begin < size; begin += step) {
    const std::int64_t end = std::min(begin + step, size);
    const std::span<float> floats = buffer.first(static_cast<std::size_t>(end - begin));
    if (comm.rank() == 0) std::copy_n(whole.begin() + begin, floats.size(), floats.begin());
    comm.broadcast(std::as_writable_bytes(floats), 0);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::int64_t from = std::max(begin, own[i].begin);
      const std::int64_t to = std::min(end, own[i].end);
      if (from >= to) continue;
      const HostFloats source(floats.data() + (from - begin), static_cast<std::size_t>(to - from));
      Kokkos::deep_copy(
          Kokkos::subview(pieces[i], std::pair(from - own[i].begin, to - own[i].begin)), source);
    }
  }
}

}  // namespace quern
