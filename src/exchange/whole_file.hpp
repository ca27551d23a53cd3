// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace quern {

/// Writes a file that appears whole or not at all; replaces an existing one. Throws Error when it
/// cannot be written.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace quern
