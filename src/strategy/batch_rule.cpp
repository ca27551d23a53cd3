// SPDX-License-Identifier: Apache-2.0
#include "strategy/batch_rule.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

[[noreturn]] void refuse_few_samples(const Layer& layer, const std::string& what, int samples) {
  throw InputError("layer '" + layer.name() + "' takes mean and variance of each channel over " +
                   what + ", and one has " + count_text(samples, "sample") +
                   " (expected at least " + std::to_string(layer.traits().least_samples) +
                   "; choose another size of the batch" +
                   (layer.traits().in_each_block ? " or train.micro_block)" : ")"));
}

}  // namespace

BatchRule batches_of(int global_batch, std::int64_t num_samples) {
  expect(global_batch >= 1 && num_samples >= 1, "at least one sample");
  BatchRule rule;
  rule.num_samples = num_samples;
  rule.global_batch = global_batch;
  rule.full_batch = full_batch_of(global_batch, num_samples);
  const auto rest = static_cast<int>(num_samples % rule.full_batch);
  rule.last_batch = rest > 0 ? rest : rule.full_batch;
  return rule;
}

int full_batch_of(std::int64_t global_batch, std::int64_t num_samples) {
  return static_cast<int>(std::min(global_batch, num_samples));
}

BatchRule training_batches(const Recipe& recipe, int num_ranks, std::int64_t num_samples) {
  BatchRule rule = batches_of(recipe.global_batch(num_ranks), num_samples);
  rule.block_samples = micro_block_size(recipe, rule.full_batch);
  rule.determinism = recipe.train.determinism;
  rule.micro_batches = recipe.parallel.micro_batches;
  return rule;
}

BatchRule evaluation_batches(const Recipe& recipe, int trained_batch, std::int64_t num_samples,
                             int micro_batches) {
  BatchRule rule = batches_of(trained_batch, num_samples);
  rule.block_samples = micro_block_size(recipe, trained_batch);
  rule.micro_batches = micro_batches;
  return rule;
}

void check_least_samples(const Network& network, int batch, int block_samples) {
  const int rest = batch % block_samples;
  const int fewest = rest > 0 ? rest : block_samples;
  for (const Layer* layer : network.layers()) {
    const LayerTraits traits = layer->traits();
    if (batch < traits.least_samples) refuse_few_samples(*layer, "the batch", batch);
    if (traits.in_each_block && fewest < traits.least_samples)
      refuse_few_samples(*layer, "each micro-block", fewest);
  }
}

}  // namespace quern
