// SPDX-License-Identifier: Apache-2.0
#include "strategy/clip_exchange.hpp"

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

/// Calls visit(entry, floats of it in the block) for what is trained, in the order of the block.
template <class Visit>
void for_each_trained(const ParameterTable& table, const Visit& visit) {
  const ParameterEntry* before = nullptr;
  for (const ParameterEntry& entry : table.entries()) {
    if (!entry.is_trained()) continue;
    if (before) visit(*before, entry.offset - before->offset);
    before = &entry;
  }
  if (before) visit(*before, table.trained_size() - before->offset);
}

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
  for_each_trained(whole, [&](const ParameterEntry& entry, std::int64_t floats) {
    places[{entry.number, entry.first_row}] = {entry.offset, entry.offset + floats};
  });
  Ranges ranges;
  for_each_trained(own, [&](const ParameterEntry& entry, std::int64_t floats) {
    const auto place = places.find({entry.number, entry.first_row});
    expect(place != places.end() && place->second.size() == floats, "a tensor of the network");
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

ClipExchange::ClipExchange(const ProcessGrid& grid, const ParameterTable& whole,
                           const ParameterTable& own, const GradientReducer& reducer)
    : grid_(grid), block_size_(whole.trained_size()) {
  const bool over_data = reducer.spreads_state();
  axes_ = {{&grid_.tensor(), {}}, {&grid_.pipeline(), {}}};
  if (over_data) axes_.push_back({&grid_.data(), {}});
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

void ClipExchange::allocate(const FloatView& all) {
  host_ = Kokkos::create_mirror_view(Kokkos::HostSpace(), all);
  std::size_t count = all.extent(0) / ranges_.size();
  for (Axis& axis : axes_) {
    const auto ranks = static_cast<std::size_t>(axis.comm->size());
    axis.counts.assign(ranks, static_cast<std::int64_t>(count));
    count *= ranks;
  }
}

void ClipExchange::all_gather(const ExecSpace& exec, const FloatView& all) {
  if (host_.extent(0) != all.extent(0)) allocate(all);
  Kokkos::deep_copy(exec, host_, all);
  exec.fence("quern::strategy::clip_parts");
  const std::span<float> floats(host_.data(), host_.extent(0));
  // After each axis the rank has what all ranks have that differ from it along the axes so far.
  std::size_t begin = static_cast<std::size_t>(rank_) * (floats.size() / ranges_.size());
  for (const Axis& axis : axes_) {
    const auto count = static_cast<std::size_t>(axis.counts[0]);
    const std::size_t group = begin - static_cast<std::size_t>(axis.comm->rank()) * count;
    axis.comm->all_gather_v(floats.subspan(begin, count),
                            floats.subspan(group, count * axis.counts.size()), axis.counts);
    begin = group;
  }
  Kokkos::deep_copy(exec, all, host_);
}

}  // namespace quern
