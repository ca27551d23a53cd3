// SPDX-License-Identifier: Apache-2.0
// layers/gather.hpp on a CPU, vectorised, into any layout.
#pragma once

#include <cstdint>
#include <string>

#include "layers/window.hpp"
#include "tensor/activation.hpp"

namespace quern::host {

/// y[row] = data[sample_of_row[row]], or what windows[row] shows of it unless there are none,
/// pixels divided by 255, 0 where there is no sample. Overwrites; padding becomes zero.
void gather_images(const ExecSpace& exec, const std::string& label,
                   const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                   const Activation& y);
void gather_values(const ExecSpace& exec, const std::string& label, const View<const float>& values,
                   const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                   const Activation& y);

}  // namespace quern::host
