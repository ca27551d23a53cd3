// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "network/network.hpp"

namespace quern {

/// InputError, naming the layer, where one cannot do with a batch of `batch` samples in
/// micro-blocks of `block_samples`, of which the last may be shorter (LayerTraits::least_samples).
void check_least_samples(const Network& network, int batch, int block_samples);

}  // namespace quern
