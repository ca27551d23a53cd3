// SPDX-License-Identifier: Apache-2.0
// layers/layout.hpp on a CPU, between nchw16n and nc or cn16c: transposes in registers.
#pragma once

#include <string>

#include "tensor/activation.hpp"

namespace quern::host {

/// Both overwrite `to`, whose rows and units are those of `from`, whole lane groups. The padding of
/// nc and cn16c becomes zero.
void flat_to_lanes(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to);
void lanes_to_flat(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to);

}  // namespace quern::host
