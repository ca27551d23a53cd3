// SPDX-License-Identifier: Apache-2.0
#include "dataset/random_dataset.hpp"

#include "base/philox.hpp"

namespace quern {

namespace {

constexpr std::uint32_t kInputStream = 0;
constexpr std::uint32_t kTargetStream = 1;
constexpr std::uint32_t kLabelStream = 2;

void fill_uniform(std::uint64_t seed, std::uint32_t stream, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock block = random_block(seed, RandomUse::samples, stream, i / 4);
    values[i] = uniform01(block.word[i % 4]);
  }
}

}  // namespace

void fill_random_samples(std::uint64_t seed, std::span<float> inputs, std::span<float> targets) {
  fill_uniform(seed, kInputStream, inputs);
  fill_uniform(seed, kTargetStream, targets);
}

void fill_random_labels(std::uint64_t seed, int classes, std::span<std::int32_t> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const PhiloxBlock block = random_block(seed, RandomUse::samples, kLabelStream, i / 4);
    labels[i] = static_cast<std::int32_t>(block.word[i % 4] % static_cast<std::uint32_t>(classes));
  }
}

}  // namespace quern
