// SPDX-License-Identifier: Apache-2.0
// Initial parameters, from counters: every rank computes the same ones without communication.
#pragma once

#include <cstdint>

#include "spec/network_spec.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Overwrites the whole block, gaps with zeros.
///   pytorch  weights and biases U(-b, b), b = 1 / sqrt(fan_in): what the defaults of
///            torch.nn.Linear and Conv2d come to (kaiming_uniform_ with a = sqrt(5));
///   normal   weights N(0, std) by Box and Muller, biases 0;
///   kaiming  weights of convolutions N(0, sqrt(2 / fan_out)), as torchvision's residual networks
///            (He et al.: "Delving deep into rectifiers", 2015), the rest as pytorch.
/// Scales begin at 1, shifts at 0 and buffers as they say with all of them.
/// Element i of the tensor with number t draws from the Philox block (seed, weights, t, i / 4),
/// also where only a part of the tensor lies in the block. The values are computed on the host
/// whatever the device, so that all devices start alike.
void initialize_parameters(const ParameterTable& table, const InitSpec& init, std::uint64_t seed,
                           const FloatView& parameters);

}  // namespace quern
