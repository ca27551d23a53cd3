// SPDX-License-Identifier: Apache-2.0
#include "strategy/least_samples.hpp"

#include <string>

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
