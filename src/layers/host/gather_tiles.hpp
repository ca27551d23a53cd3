// SPDX-License-Identifier: Apache-2.0
// layers/gather.hpp into Layout::tiles, on a CPU.
#pragma once

#include <cstdint>
#include <string>

#include "layers/window.hpp"
#include "tensor/activation.hpp"

namespace quern::host {

/// y[row] = data[sample_of_row[row]], or what windows[row] shows of it unless there are none,
/// pixels divided by 255, rounded; 0 where there is no sample. Overwrites; padding becomes zero. y
/// in tiles, in the shape of a sample.
void gather_tiles(const ExecSpace& exec, const std::string& label,
                  const View<const std::uint8_t>& data,
                  const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                  const Activation& y);
void gather_tiles(const ExecSpace& exec, const std::string& label, const View<const float>& data,
                  const View<const std::int64_t>& sample_of_row, const View<const Window>& windows,
                  const Activation& y);

}  // namespace quern::host
