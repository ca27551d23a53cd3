// SPDX-License-Identifier: Apache-2.0
// Does a data set fit to a network?
#pragma once

#include <cstdint>
#include <string>

#include "base/shape.hpp"
#include "network/network.hpp"
#include "spec/recipe.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// What a data set has of each sample, as far as a network must fit to it.
struct SampleTraits {
  Shape shape;
  bool has_labels = false;
  int classes = 0;           ///< every label is below it
  std::int64_t targets = 0;  ///< target values
};

/// InputError for samples that hold neither images nor values.
SampleTraits traits_of(const Samples& samples);

/// InputError unless such samples can be put into the network. `data`: their name for the message,
/// "'data/mnist/test'" or "the training data".
void check_input_fits(const Network& network, const SampleTraits& samples, const std::string& data);

/// InputError unless they can also be compared with what comes out.
void check_fits(const Network& network, TargetType target, const SampleTraits& samples,
                const std::string& data);

}  // namespace quern
