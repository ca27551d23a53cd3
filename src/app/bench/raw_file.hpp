// SPDX-License-Identifier: Apache-2.0
// Files as the system gives them: what the formats are measured against.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace quern {

/// As a checkpoint appears: write under a temporary name, fsync, rename, fsync of the folder.
/// Throws Error.
void write_raw_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Overwrites `bytes` with the whole file; its memory is used again when it is large enough.
/// Throws Error.
void read_raw_file(const std::filesystem::path& path, std::vector<std::byte>& bytes);

}  // namespace quern
