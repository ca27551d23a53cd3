// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace quern {

/// Writes pixels [height, width, channels], 1 or 3 channels, as a PNG file. (ISO/IEC 15948.)
/// InputError when the file cannot be written.
void write_png(const std::filesystem::path& file, int channels, int height, int width,
               std::span<const std::uint8_t> pixels);

}  // namespace quern
