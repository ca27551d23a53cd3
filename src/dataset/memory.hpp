// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

/// Bytes that this process may still use: what Linux reports as available, or what is left of the
/// memory limit of its control group or one above (Slurm and containers set those), whichever is
/// less. Page cache counts as free. Nothing where the system tells neither. `root` is the folder
/// that holds proc/ and sys/.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

/// Throws InputError, with both figures, when `needed_bytes` for `what` are not available.
void check_memory(std::int64_t needed_bytes, const std::string& what,
                  const std::filesystem::path& root = "/");

}  // namespace quern
