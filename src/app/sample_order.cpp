// SPDX-License-Identifier: Apache-2.0
#include "app/sample_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "dataset/permutation.hpp"

namespace quern {

namespace {

/// Of `set`, and of another one the array of the same kind: work(array, other's).
template <class Work>
void for_each_array(SampleSet& set, SampleSet& other, const Work& work) {
  work(set.images, other.images);
  work(set.values, other.values);
  work(set.labels, other.labels);
  work(set.targets, other.targets);
  work(set.image_files, other.image_files);
}

}  // namespace

void shuffle_samples(SampleSet& set, std::uint64_t seed) {
  const Permutation sample_at(seed, 0, set.count);
  for_each_array(set, set, [&](auto& array, auto&) {
    const std::int64_t width = std::ssize(array) / set.count;  // 0 where the set has no such array
    std::decay_t<decltype(array)> ordered(array.size());
    for (std::int64_t position = 0; position < set.count; ++position) {
      const auto from = array.begin() + sample_at(position) * width;
      std::move(from, from + width, ordered.begin() + position * width);
    }
    array = std::move(ordered);
  });
}

SampleSet split_off(SampleSet& set, std::int64_t count) {
  SampleSet rest;
  rest.content = set.content;
  rest.empty_class = set.empty_class;
  rest.losses = set.losses;
  rest.count = count;
  rest.range = {0, count};
  for_each_array(set, rest, [&](auto& array, auto& others) {
    const auto end = array.end() - std::ssize(array) / set.count * count;
    others.assign(std::make_move_iterator(end), std::make_move_iterator(array.end()));
    array.erase(end, array.end());
  });
  set.count -= count;
  set.range = {0, set.count};
  return rest;
}

void check_share(double share) {
  if (share > 0 && share < 1) return;
  throw InputError(
      fmt::format("--hold-out {}: expected a share of the samples between 0 and 1, as 0.1", share));
}

std::int64_t held_out_samples(double share, std::int64_t count) {
  const auto held_out = static_cast<std::int64_t>(std::round(share * static_cast<double>(count)));
  if (held_out > 0 && held_out < count) return held_out;
  throw InputError(
      fmt::format("--hold-out {}: that is {} of {} samples, expected at least one on "
                  "either side",
                  share, held_out, count));
}

}  // namespace quern
