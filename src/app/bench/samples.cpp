// SPDX-License-Identifier: Apache-2.0
#include "app/bench/samples.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "base/philox.hpp"
#include "comm/agree.hpp"
#include "runtime/memory.hpp"

namespace quern {

namespace {

constexpr const char* kName = "made-up samples";

// Random bytes, 16 of each draw.
void fill_random(std::span<std::uint8_t> bytes, std::uint32_t stream) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += 16) {
    const PhiloxBlock block = random_block(1, RandomUse::samples, stream, begin);
    for (std::size_t i = 0; i < 16 && begin + i < bytes.size(); ++i) {
      bytes[begin + i] = static_cast<std::uint8_t>(block.word[i / 4] >> (i % 4 * 8) & 255u);
    }
  }
}

void reduce_to_classes(std::span<std::uint8_t> labels, int classes) {
  if (classes > std::numeric_limits<std::uint8_t>::max()) return;
  for (std::uint8_t& label : labels) label = static_cast<std::uint8_t>(label % classes);
}

}  // namespace

Samples make_bench_samples(Communicator& comm, const Recipe& recipe, const Shape& output) {
  constexpr std::int64_t kSamples = 60000;
  constexpr std::int64_t kMaxBytes = std::int64_t{128} << 20;
  const std::int64_t units = recipe.network.input.units();
  const bool values = recipe.data.source == DataSource::random;
  const std::int64_t sample_bytes =
      values ? (units + output.units()) * static_cast<std::int64_t>(sizeof(float)) : units;
  const std::int64_t count = std::max(std::min(kSamples, kMaxBytes / sample_bytes),
                                      2 * std::int64_t{recipe.global_batch(comm.size())});
  if (values) {
    return agree(comm, [&] {
      check_memory(count * sample_bytes * comm.node_size(), kName);
      return make_random_samples(recipe.seed, count, recipe.network.input, output.units());
    });
  }
  const auto fill = [&](std::span<std::uint8_t> images, std::span<std::uint8_t> labels) {
    if (comm.node_rank() != 0) return;
    fill_random(images, 1);
    fill_random(labels, 2);
    reduce_to_classes(labels, output.units());
  };
  return make_image_samples(comm, {kName, count, recipe.network.input, output.units()}, fill);
}

}  // namespace quern
