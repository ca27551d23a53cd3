// SPDX-License-Identifier: Apache-2.0
#include "train/spread_array.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

namespace {

std::int64_t total(const std::vector<BlockRange>& ranges) {
  std::int64_t floats = 0;
  for (const BlockRange& range : ranges) floats += range.size();
  return floats;
}

std::span<float> part(const HostFloats& floats, std::int64_t begin, std::int64_t count) {
  return std::span(floats.data(), floats.extent(0))
      .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
}

// The pieces, one after the other.
HostFloats joined(const std::vector<FloatView>& pieces, std::int64_t size) {
  const HostFloats floats("quern::train::own_state", static_cast<std::size_t>(size));
  std::size_t at = 0;
  for (const FloatView& piece : pieces) {
    const std::size_t end = at + piece.extent(0);
    Kokkos::deep_copy(Kokkos::subview(floats, std::pair(at, end)), piece);
    at = end;
  }
  return floats;
}

void put(std::span<const float> floats, const std::vector<BlockRange>& ranges,
         const HostFloats& whole) {
  for (const BlockRange& range : ranges) {
    const auto from = floats.first(static_cast<std::size_t>(range.size()));
    std::copy(from.begin(), from.end(), whole.data() + range.begin);
    floats = floats.subspan(from.size());
  }
}

}  // namespace

HostFloats collect_array(Communicator& comm, const std::vector<std::vector<BlockRange>>& owners,
                         const std::vector<FloatView>& pieces, std::int64_t size) {
  const bool is_root = comm.rank() == 0;
  const std::int64_t own_size = total(owners.at(static_cast<std::size_t>(comm.rank())));
  const HostFloats own = joined(pieces, own_size);
  std::vector<Segment> send(owners.size());
  std::vector<Segment> receive(owners.size());
  if (!is_root) send[0] = {0, own_size};
  std::int64_t received = 0;
  for (std::size_t rank = 1; is_root && rank < owners.size(); ++rank) {
    receive[rank] = {received, total(owners[rank])};
    received += receive[rank].count;
  }
  const HostFloats from_others("quern::train::state_of_others", static_cast<std::size_t>(received));
  comm.all_to_all_v(part(own, 0, own_size), send, part(from_others, 0, received), receive);
  if (!is_root) return {};
  const HostFloats whole("quern::train::whole_state", static_cast<std::size_t>(size));
  put(part(own, 0, own_size), owners[0], whole);
  for (std::size_t rank = 1; rank < owners.size(); ++rank)
    put(part(from_others, receive[rank].offset, receive[rank].count), owners[rank], whole);
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
