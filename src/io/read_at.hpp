// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quern {

/// Reads a file from `offset` on. -> how many bytes: fewer where the file ends. Empty where the
/// system fails, as errno says.
std::optional<std::size_t> read_at(int descriptor, std::int64_t offset, std::span<std::byte> bytes);

}  // namespace quern
