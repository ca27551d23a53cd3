// SPDX-License-Identifier: Apache-2.0
#include "network/cut.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "network/layer_list.hpp"

namespace quern {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// A layer in front of which a network can be cut, or its end.
struct Place {
  int layer;
  std::int64_t macs;   ///< of a training step, of all layers before
  std::int64_t units;  ///< that cross
};

/// All places at which a stage can begin or end, the begin and the end of the network included.
std::vector<Place> places_of(const NetworkSpec& spec) {
  const Graph graph = build_graph(spec);
  std::map<std::string, std::int64_t> macs;
  std::map<std::string, std::int64_t> units;
  for (const Node& node : graph.nodes()) {
    units[node.name] = graph.value(node.output).shape.units();
    if (!node.layer) continue;
    macs[node.name] += (graph.value(node.inputs[0]).wants_gradient ? 3 : 2) * node.layer->macs();
  }
  std::vector<int> cuts = possible_cuts(spec);
  cuts.push_back(static_cast<int>(spec.layers.size()));
  std::vector<Place> places = {{0, 0, 0}};
  for (const int cut : cuts) {
    std::int64_t total = places.back().macs;
    for (int i = places.back().layer; i < cut; ++i)
      total += macs[spec.layers[static_cast<std::size_t>(i)].name];
    places.push_back({cut, total, units[spec.layers[static_cast<std::size_t>(cut) - 1].name]});
  }
  places.back().units = 0;
  return places;
}

/// cheapest[k]: the smallest value with which the first stages end at place k.
using Row = std::vector<std::int64_t>;

/// The ends of the stages, by place, with the smallest total; `total(before, from, to)` of a stage
/// between two places with `before` in front of it, kNever where it may not be.
template <class Total>
std::vector<std::size_t> best_ends(std::size_t num_places, int stages, const Total& total) {
  std::vector<Row> cheapest = {Row(num_places, kNever)};
  std::vector<std::vector<std::size_t>> begins;
  cheapest[0][0] = 0;
  for (int stage = 0; stage < stages; ++stage) {
    Row row(num_places, kNever);
    std::vector<std::size_t> begin(num_places, 0);
    for (std::size_t to = 1; to < num_places; ++to) {
      // From behind: of equal cuts the last, which leaves layers without products before it.
      for (std::size_t from = to; from-- > 0;) {
        const std::int64_t before = cheapest.back()[from];
        if (before == kNever) continue;
        const std::int64_t with = total(before, from, to);
        if (with < row[to]) {
          row[to] = with;
          begin[to] = from;
        }
      }
    }
    cheapest.push_back(std::move(row));
    begins.push_back(std::move(begin));
  }
  std::vector<std::size_t> ends(static_cast<std::size_t>(stages), num_places - 1);
  for (std::size_t stage = ends.size() - 1; stage > 0; --stage)
    ends[stage - 1] = begins[stage][ends[stage]];
  return ends;
}

std::vector<LayerRange> balanced(const std::vector<Place>& places, int stages) {
  const auto macs = [&](std::size_t from, std::size_t to) {
    return places[to].macs - places[from].macs;
  };
  std::vector<std::size_t> ends =
      best_ends(places.size(), stages, [&](std::int64_t before, std::size_t from, std::size_t to) {
        return std::max(before, macs(from, to));
      });
  std::int64_t most = 0;
  for (std::size_t stage = 0, from = 0; stage < ends.size(); from = ends[stage++])
    most = std::max(most, macs(from, ends[stage]));
  ends =
      best_ends(places.size(), stages, [&](std::int64_t before, std::size_t from, std::size_t to) {
        return macs(from, to) > most ? kNever : before + places[to].units;
      });
  std::vector<LayerRange> ranges;
  for (std::size_t stage = 0, from = 0; stage < ends.size(); from = ends[stage++])
    ranges.push_back({places[from].layer, places[ends[stage]].layer});
  return ranges;
}

/// Before which layer the stage begins that is said to begin with `name`.
int find_cut(const NetworkSpec& spec, const std::string& name) {
  const auto is_named = [&](const LayerSpec& layer) {
    return layer.name == name || layer.name.starts_with(name + ".");
  };
  const auto found = std::ranges::find_if(spec.layers, is_named);
  if (found == spec.layers.end()) {
    throw InputError("parallel.cut names '" + name +
                     "', which is no layer and no block of the network");
  }
  const auto layer = static_cast<int>(found - spec.layers.begin());
  const std::vector<int> cuts = possible_cuts(spec);
  if (std::ranges::find(cuts, layer) == cuts.end()) {
    throw InputError("parallel.cut: the network cannot be cut in front of '" + found->name + "'" +
                     (layer == 0 ? ", its first layer"
                                 : ": more than one value crosses there (expected the begin of a "
                                   "block or a layer that no connection passes by)"));
  }
  return layer;
}

std::vector<LayerRange> named(const NetworkSpec& spec, int stages,
                              const std::vector<std::string>& first_layers) {
  if (static_cast<int>(first_layers.size()) != stages - 1) {
    throw InputError("parallel.cut names " + count_text(std::ssize(first_layers), "layer") +
                     ", expected " + std::to_string(stages - 1) + ": the first of each of " +
                     std::to_string(stages) + " stages but the first");
  }
  std::vector<LayerRange> ranges;
  int begin = 0;
  for (const std::string& name : first_layers) {
    const int cut = find_cut(spec, name);
    if (cut <= begin) {
      throw InputError("parallel.cut: '" + name +
                       "' does not stand after the layers in front of it (expected the order of "
                       "the network)");
    }
    ranges.push_back({begin, cut});
    begin = cut;
  }
  ranges.push_back({begin, static_cast<int>(spec.layers.size())});
  return ranges;
}

}  // namespace

std::vector<int> possible_cuts(const NetworkSpec& spec) {
  const LayerList layers(spec);
  std::vector<int> cuts;
  for (int cut = 1; cut < layers.count(); ++cut) {
    std::set<int> crossing;
    for (int reader = cut; reader < layers.count(); ++reader)
      for (const int input : layers.inputs(reader))
        if (input < cut) crossing.insert(input);
    if (crossing == std::set<int>{cut - 1}) cuts.push_back(cut);
  }
  return cuts;
}

std::vector<LayerRange> cut_network(const NetworkSpec& spec, int stages,
                                    const std::vector<std::string>& first_layers) {
  const auto most = static_cast<int>(possible_cuts(spec).size()) + 1;
  if (stages > most) {
    throw InputError("parallel.pipeline = " + std::to_string(stages) +
                     ": the network can be cut in " + std::to_string(most - 1) +
                     " places, expected at most " + std::to_string(most) + " stages");
  }
  if (!first_layers.empty()) return named(spec, stages, first_layers);
  return balanced(places_of(spec), stages);
}

}  // namespace quern
