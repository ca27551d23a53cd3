// SPDX-License-Identifier: Apache-2.0
#include "optim/parameter_groups.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "optim/spread_chunks.hpp"
#include "spec/network_spec.hpp"

namespace quern {

namespace {

// With weight decay or without it.
constexpr std::size_t kMaxGroups = 2 * kMaxLrFactors;
static_assert(kMaxGroups <= 256, "numbers of one byte");

/// The number of `group`, which joins `groups` if it is new.
std::size_t number_of(const ParameterGroup& group, std::vector<ParameterGroup>& groups) {
  const auto found = std::ranges::find(groups, group);
  if (found != groups.end()) return static_cast<std::size_t>(found - groups.begin());
  expect(groups.size() < kMaxGroups, "no more groups than a byte can number");
  groups.push_back(group);
  return groups.size() - 1;
}

}  // namespace

ParameterGroups make_parameter_groups(const OptimizerSpec& spec, const ParameterTable& table,
                                      const OptimizerPart& part) {
  const auto strength = static_cast<float>(spec.weight_decay);
  const auto group_of = [&](const ParameterEntry& entry) {
    const bool decays = spec.decay == DecayScope::all || entry.kind == ParameterKind::weight;
    return ParameterGroup{decays ? strength : 0, entry.lr_factor};
  };
  const auto lanes_at = [&](std::int64_t place) {
    return static_cast<std::size_t>(std::min(place, table.trained_size()) / kLanes);
  };
  std::vector<ParameterGroup> groups;
  const View<unsigned char> numbers("quern::optim::group_of_lanes", lanes_at(table.trained_size()));
  const auto host_numbers = Kokkos::create_mirror_view(numbers);
  for_each_trained(table, [&](const ParameterEntry& entry, const BlockRange& range) {
    const std::size_t number = number_of(group_of(entry), groups);
    for (std::size_t lanes = lanes_at(range.begin); lanes < lanes_at(range.end); ++lanes)
      host_numbers(lanes) = static_cast<unsigned char>(number);
  });
  ParameterGroups result;
  if (groups.size() < 2) {
    result.all = groups.empty() ? ParameterGroup{strength, 1} : groups.front();
    return result;
  }
  Kokkos::deep_copy(numbers, host_numbers);
  result.group_of_lanes =
      Kokkos::subview(numbers, std::pair(lanes_at(part.begin), lanes_at(part.end)));
  const View<ParameterGroup> device_groups("quern::optim::groups", groups.size());
  const auto host_groups = Kokkos::create_mirror_view(device_groups);
  for (std::size_t i = 0; i < groups.size(); ++i) host_groups(i) = groups[i];
  Kokkos::deep_copy(device_groups, host_groups);
  result.groups = device_groups;
  return result;
}

}  // namespace quern
