// SPDX-License-Identifier: Apache-2.0
// layers/gather.hpp through windows, on a CPU.
#pragma once

#include <cstdint>
#include <string>

#include "layers/window.hpp"
#include "tensor/activation.hpp"

namespace quern::host {

/// y[row] = windows[row] of data[sample_of_row[row]], pixels divided by 255, 0 where there is no
/// sample. Overwrites; padding becomes zero.
void gather_windows(const ExecSpace& exec, const std::string& label,
                    const View<const std::uint8_t>& data,
                    const View<const std::int64_t>& sample_of_row,
                    const View<const Window>& windows, const Activation& y);
void gather_windows(const ExecSpace& exec, const std::string& label, const View<const float>& data,
                    const View<const std::int64_t>& sample_of_row,
                    const View<const Window>& windows, const Activation& y);

}  // namespace quern::host
