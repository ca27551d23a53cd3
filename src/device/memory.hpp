// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace quern {

/// Bytes that are free on this rank's device now. Nothing where kernel memory is host memory
/// (runtime/memory.hpp knows that) or the driver does not say.
std::optional<std::int64_t> available_device_memory();

}  // namespace quern
