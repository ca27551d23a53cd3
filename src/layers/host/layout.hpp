// SPDX-License-Identifier: Apache-2.0
// layers/layout.hpp on a CPU, between lanes and rows or panels: transposes in registers.
#pragma once

#include <string>

#include "tensor/activation.hpp"

namespace quern::host {

/// Both overwrite `to`, whose slots and units are those of `from`, whole lane groups. Padding of
/// rows and panels becomes zero.
void flat_to_lanes(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to);
void lanes_to_flat(const ExecSpace& exec, const std::string& label, const Activation& from,
                   const Activation& to);

}  // namespace quern::host
