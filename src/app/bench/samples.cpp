// SPDX-License-Identifier: Apache-2.0
#include "app/bench/samples.hpp"

#include <algorithm>
#include <limits>

#include "base/philox.hpp"
#include "dataset/memory.hpp"

namespace quern {

namespace {

// Random bytes, 16 of each draw.
View<std::uint8_t> random_bytes(const char* name, std::size_t count, std::uint32_t stream) {
  const View<std::uint8_t> bytes(name, count);
  const auto draws = static_cast<std::int64_t>((count + 15) / 16);
  Kokkos::parallel_for(
      "quern::app::bench_bytes", RangePolicy(ExecSpace(), 0, draws),
      KOKKOS_LAMBDA(std::int64_t draw) {
        const auto begin = static_cast<std::size_t>(draw) * 16;
        const PhiloxBlock block = random_block(1, RandomUse::samples, stream, begin);
        for (std::size_t i = 0; i < 16 && begin + i < count; ++i) {
          bytes(begin + i) = static_cast<std::uint8_t>(block.word[i / 4] >> (i % 4 * 8) & 255u);
        }
      });
  return bytes;
}

void reduce_to_classes(const View<std::uint8_t>& labels, int classes) {
  if (classes > std::numeric_limits<std::uint8_t>::max()) return;
  Kokkos::parallel_for(
      "quern::app::bench_labels",
      RangePolicy(ExecSpace(), 0, static_cast<std::int64_t>(labels.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        std::uint8_t& label = labels(static_cast<std::size_t>(i));
        label = static_cast<std::uint8_t>(label % classes);
      });
}

}  // namespace

Samples make_bench_samples(const Recipe& recipe, const Shape& output, int global_batch) {
  constexpr std::int64_t kSamples = 60000;
  constexpr std::int64_t kMaxBytes = std::int64_t{128} << 20;
  const std::int64_t units = recipe.network.input.units();
  const bool values = recipe.data.source == DataSource::random;
  const std::int64_t sample_bytes =
      values ? (units + output.units()) * static_cast<std::int64_t>(sizeof(float)) : units;
  const std::int64_t count = std::max(std::min(kSamples, kMaxBytes / sample_bytes),
                                      2 * static_cast<std::int64_t>(global_batch));
  check_memory(count * sample_bytes, "made-up samples");
  if (values) {
    return make_random_samples(recipe.seed, count, recipe.network.input, output.units());
  }
  Samples samples;
  samples.count = count;
  samples.shape = recipe.network.input;
  samples.classes = output.units();
  samples.images =
      random_bytes("quern::app::bench_images", static_cast<std::size_t>(count * units), 1);
  const auto labels =
      random_bytes("quern::app::bench_label_bytes", static_cast<std::size_t>(count), 2);
  reduce_to_classes(labels, samples.classes);
  samples.labels = labels;
  return samples;
}

}  // namespace quern
