// SPDX-License-Identifier: Apache-2.0
#include "optim/weight_decay.hpp"

#include "optim/spread_chunks.hpp"

namespace quern {

WeightDecay make_weight_decay(const OptimizerSpec& spec, const ParameterTable& table,
                              const OptimizerPart& part) {
  WeightDecay decay;
  decay.strength = static_cast<float>(spec.weight_decay);
  if (spec.decay == DecayScope::all || decay.strength == 0) return decay;
  const auto group_of = [&](std::int64_t place) {
    return static_cast<std::size_t>(std::min(place, table.trained_size()) / kLanes);
  };
  const View<unsigned char> applies("quern::optim::decay_applies", group_of(table.trained_size()));
  const auto host = Kokkos::create_mirror_view(applies);
  for_each_trained(table, [&](const ParameterEntry& entry, const BlockRange& range) {
    for (std::size_t group = group_of(range.begin); group < group_of(range.end); ++group)
      host(group) = entry.kind == ParameterKind::weight ? 1 : 0;
  });
  Kokkos::deep_copy(applies, host);
  decay.applies = Kokkos::subview(applies, std::pair(group_of(part.begin), group_of(part.end)));
  return decay;
}

}  // namespace quern
