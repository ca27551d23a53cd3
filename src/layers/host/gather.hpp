// SPDX-License-Identifier: Apache-2.0
// layers/gather.hpp on a CPU, into nc or cn16c, vectorised.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/activation.hpp"

namespace quern::host {

/// y[row] = data[sample_of_row[row]], pixels divided by 255, 0 where there is no sample.
/// Overwrites; padding becomes zero.
void gather(const ExecSpace& exec, const std::string& label, const View<const std::uint8_t>& data,
            const View<const std::int64_t>& sample_of_row, const Activation& y);
void gather(const ExecSpace& exec, const std::string& label, const View<const float>& data,
            const View<const std::int64_t>& sample_of_row, const Activation& y);

}  // namespace quern::host
