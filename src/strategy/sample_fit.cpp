// SPDX-License-Identifier: Apache-2.0
#include "strategy/sample_fit.hpp"

#include <algorithm>
#include <string>

#include "base/count_text.hpp"
#include "base/error.hpp"

namespace quern {

SampleTraits traits_of(const Samples& samples) {
  if (!samples.has_images() && !samples.has_values())
    throw InputError("the samples hold neither images nor values");
  return {samples.shape, samples.has_labels(), samples.classes, samples.target_units()};
}

void check_input_fits(const Network& network, const SampleTraits& samples,
                      const std::string& data) {
  if (samples.shape == network.input_shape()) return;
  throw InputError("network.input is " + to_string(network.input_shape()) + ", but a sample of " +
                   data + " is " + to_string(samples.shape));
}

void check_fits(const Network& network, TargetType target, const SampleTraits& samples,
                const std::string& data) {
  check_input_fits(network, samples, data);
  const Shape& output = network.output_shape();
  if (target == TargetType::label && !samples.has_labels) {
    throw InputError("the samples of " + data +
                     " come without labels (expected with data.target = \"label\")");
  }
  if (target == TargetType::values && samples.targets == 0 && samples.has_labels) {
    throw InputError(
        "the samples of " + data +
        " come with labels, not with values, but data.target is \"values\" (expected "
        "shards of 'quern shard --targets', or loss.type = \"cross_entropy\" with data.target "
        "= \"label\" and " +
        count_text(std::max(samples.classes, 2), "output") + ")");
  }
  if (target == TargetType::values && samples.targets != output.units()) {
    throw InputError("the network puts out " + to_string(output) + ", but a sample of " + data +
                     " comes with " + count_text(samples.targets, "target value") +
                     " (expected one for each output)");
  }
  if (target == TargetType::label && samples.classes > output.units()) {
    throw InputError("the network puts out " + to_string(output) + ", but " + data + " has " +
                     count_text(samples.classes, "class") +
                     " (expected at least one output per class)");
  }
}

}  // namespace quern
