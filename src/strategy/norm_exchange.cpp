// SPDX-License-Identifier: Apache-2.0
#include "strategy/norm_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

using Ranges = std::vector<SpreadRange>;

std::string to_bytes(const Ranges& ranges) {
  return {reinterpret_cast<const char*>(ranges.data()), ranges.size() * sizeof(SpreadRange)};
}

Ranges from_bytes(const std::string& bytes) {
  Ranges ranges(bytes.size() / sizeof(SpreadRange));
  std::memcpy(ranges.data(), bytes.data(), bytes.size());
  return ranges;
}

/// Where the trained floats of `own` would lie in a block of table `whole`.
Ranges places_in(const ParameterTable& whole, const ParameterTable& own) {
  std::map<std::pair<int, std::int64_t>, BlockRange> places;
  for_each_trained(whole, [&](const ParameterEntry& entry, const BlockRange& range) {
    places[{entry.number, entry.first_row}] = range;
  });
  Ranges ranges;
  for_each_trained(own, [&](const ParameterEntry& entry, const BlockRange& in_own) {
    const auto place = places.find({entry.number, entry.first_row});
    expect(place != places.end() && place->second.size() == in_own.size(),
           "a tensor of the network");
    const BlockRange& range = place->second;
    if (!ranges.empty() && ranges.back().range.end == range.begin &&
        ranges.back().from + ranges.back().range.size() == entry.offset)
      ranges.back().range.end = range.end;
    else
      ranges.push_back({range, entry.offset});
  });
  return ranges;
}

/// What of them lies in `ranges` of the own block.
Ranges within(const Ranges& places, const std::vector<BlockRange>& ranges) {
  Ranges cut;
  for (const SpreadRange& place : places) {
    for (const BlockRange& range : ranges) {
      const std::int64_t begin = std::max(range.begin, place.from);
      const std::int64_t end = std::min(range.end, place.from + place.range.size());
      const std::int64_t shift = place.range.begin - place.from;
      if (begin < end) cut.push_back({{begin + shift, end + shift}, begin});
    }
  }
  return cut;
}

}  // namespace

NormExchange::NormExchange(const ProcessGrid& grid, const ParameterTable& whole,
                           const ParameterTable& own, const GradientReducer& reducer)
    : grid_(grid), whole_(whole) {
  const bool over_data = reducer.spreads_state() || reducer.shares_state();
  expect(is_so_everywhere(grid.world(), over_data) || is_so_everywhere(grid.world(), !over_data),
         "reducers of one kind in all groups");
  const auto add_axis = [&](Communicator& comm) {
    axes_.push_back({&comm, std::vector<std::int64_t>(static_cast<std::size_t>(comm.size()))});
  };
  add_axis(grid_.tensor());
  add_axis(grid_.pipeline());
  if (over_data) add_axis(grid_.data());
  const std::vector<BlockRange> ranges =
      over_data ? reducer.own_ranges() : std::vector<BlockRange>{{0, own.trained_size()}};
  // Everybody's, axis by axis: the order in which all_gather() has them.
  std::vector<std::string> all = {to_bytes(within(places_in(whole, own), ranges))};
  for (const Axis& axis : axes_) {
    const std::size_t before = all.size();
    std::vector<std::vector<std::string>> columns;
    for (const std::string& text : all) columns.push_back(all_gather_strings(*axis.comm, text));
    all.clear();
    for (std::size_t r = 0; r < static_cast<std::size_t>(axis.comm->size()); ++r)
      for (const std::vector<std::string>& column : columns) all.push_back(column[r]);
    rank_ += axis.comm->rank() * static_cast<int>(before);
  }
  for (const std::string& text : all) ranges_.push_back(from_bytes(text));
}

NormExchange::Copy& NormExchange::copy_of(const FloatView& all) {
  for (Copy& copy : copies_)
    if (copy.of == all.data()) return copy;
  return copies_.emplace_back(
      Copy{all.data(), Kokkos::create_mirror_view(Kokkos::HostSpace(), all)});
}

void NormExchange::all_gather(const ExecSpace& exec, const FloatView& all) {
  const auto& host = copy_of(all).host;
  Kokkos::deep_copy(exec, host, all);
  exec.fence("quern::strategy::norm_parts");
  const std::span<float> floats(host.data(), host.extent(0));
  // After each axis the rank has what all ranks have that differ from it along the axes so far.
  std::size_t count = floats.size() / ranges_.size();
  std::size_t begin = static_cast<std::size_t>(rank_) * count;
  for (Axis& axis : axes_) {
    std::ranges::fill(axis.counts, static_cast<std::int64_t>(count));
    const std::size_t group = begin - static_cast<std::size_t>(axis.comm->rank()) * count;
    axis.comm->all_gather_v(floats.subspan(begin, count),
                            floats.subspan(group, count * axis.counts.size()), axis.counts);
    begin = group;
    count *= axis.counts.size();
  }
  Kokkos::deep_copy(exec, all, host);
}

}  // namespace quern
