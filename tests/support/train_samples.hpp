// SPDX-License-Identifier: Apache-2.0
// A small data set in memory, and recipes that train on it.
#pragma once

#include <string>
#include <vector>

#include "base/philox.hpp"
#include "config/read_recipe.hpp"
#include "samples/load_samples.hpp"
#include "support/views.hpp"

namespace quern::test {

/// Images of random pixels with random labels below `classes`.
inline Samples image_samples(std::int64_t count, const Shape& shape, int classes) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * shape.units()));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(random_block(5, RandomUse::samples, 0, i).word[0]);
  }
  std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::uint32_t word = random_block(5, RandomUse::samples, 1, i).word[0];
    labels[i] = static_cast<std::int32_t>(word % static_cast<std::uint32_t>(classes));
  }
  Samples samples;
  samples.count = count;
  samples.shape = shape;
  samples.classes = classes;
  samples.data_hash = std::string(64, '0');
  samples.images = to_view(pixels);
  samples.labels = to_view(labels);
  return samples;
}

/// A classifier of [1, 6, 6] images in 5 classes; `more` are --set options. Micro-blocks are
/// smaller than by default: several ranks have some.
inline Recipe image_recipe(int global_batch, const std::vector<std::string>& more = {}) {
  int micro_block = 1;
  while (micro_block < 32 && 2 * micro_block <= global_batch / 8) micro_block *= 2;
  const std::string text = R"(
name = "test"
seed = 3
[data]
train = "in memory"
global_batch = )" + std::to_string(global_batch) +
                           R"(
[network]
input = [1, 6, 6]
layers = [
  {type = "conv2d", channels = 3, kernel = 3},
  {type = "relu"},
  {type = "max_pool2d", size = 2},
  {type = "flatten"},
  {type = "dropout", p = 0.2},
  {type = "linear", features = 5},
]
[loss]
type = "cross_entropy"
[optimizer]
type = "adam"
lr = 0.01
[train]
micro_block = )" + std::to_string(micro_block) +
                           "\n";
  return parse_recipe(text, "test.toml", more);
}

inline const Shape kImage{1, 6, 6};

}  // namespace quern::test
