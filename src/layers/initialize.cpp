// SPDX-License-Identifier: Apache-2.0
#include "layers/initialize.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "base/philox.hpp"

namespace quern {

namespace {

PhiloxBlock draw(std::uint64_t seed, int tensor, std::int64_t element) {
  return random_block(seed, RandomUse::weights, static_cast<std::uint32_t>(tensor),
                      static_cast<std::uint64_t>(element / 4));
}

float uniform(const PhiloxBlock& block, std::int64_t element, float bound) {
  return bound * (2 * uniform01(block.word[element % 4]) - 1);
}

/// Words 0 and 1 give the elements 0 and 1 of a block of four, words 2 and 3 the elements 2 and 3.
/// Box, Muller: "A note on the generation of random normal deviates", 1958.
double normal(const PhiloxBlock& block, std::int64_t element) {
  const std::int64_t pair = element % 4 / 2 * 2;
  const double u = (block.word[pair] + 1.0) * 0x1.0p-32;
  const double angle = 2 * std::numbers::pi * (block.word[pair + 1] * 0x1.0p-32);
  return std::sqrt(-2 * std::log(u)) * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

// Weights [O, C, K, K]: each input reaches K K pixels of O channels.
bool is_of_convolution(const ParameterEntry& entry) {
  return entry.kind == ParameterKind::weight && entry.shape.size() == 4;
}

double kaiming_deviation(const ParameterEntry& entry) {
  const std::int64_t reached = entry.whole_count() / entry.shape[1];
  return std::sqrt(2 / static_cast<double>(reached));
}

float initial_value(const InitSpec& init, const ParameterEntry& entry, const PhiloxBlock& block,
                    std::int64_t element) {
  if (entry.kind == ParameterKind::scale) return 1;
  if (entry.kind == ParameterKind::shift) return 0;
  if (init.type == InitType::kaiming && is_of_convolution(entry)) {
    return static_cast<float>(kaiming_deviation(entry) * normal(block, element));
  }
  if (init.type != InitType::normal) {
    const float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(entry.fan_in)));
    return uniform(block, element, bound);
  }
  if (entry.kind == ParameterKind::bias) return 0;
  return static_cast<float>(init.std * normal(block, element));
}

}  // namespace

void initialize_parameters(const ParameterTable& table, const InitSpec& init, std::uint64_t seed,
                           const FloatView& parameters) {
  expect(static_cast<std::int64_t>(parameters.extent(0)) >= table.block_size(),
         "room for all parameters");
  // On a CPU these are `parameters`.
  const auto host = Kokkos::create_mirror_view(parameters);
  std::fill_n(host.data(), host.extent(0), 0.0f);  // the gaps
  for (const ParameterEntry& entry : table.entries()) {
    expect(entry.fan_in >= 1, "a fan-in of at least 1");
    if (entry.is_buffer()) {
      for (std::int64_t i = 0; i < entry.count; ++i)
        host(entry.position(i)) = entry.average.initial;
      continue;
    }
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const std::int64_t element = entry.first_element() + i;
      host(entry.position(i)) =
          initial_value(init, entry, draw(seed, entry.number, element), element);
    }
  }
  if (host.data() != parameters.data()) Kokkos::deep_copy(parameters, host);
}

}  // namespace quern
