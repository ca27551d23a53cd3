// SPDX-License-Identifier: Apache-2.0
#include "train/memory.hpp"

#include "base/bytes_text.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

std::string figure(std::int64_t bytes) {
  return bytes_text(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

bool fits(std::int64_t needed_bytes, std::optional<std::int64_t> available) {
  return !available || needed_bytes <= *available - kDeviceReserveBytes;
}

std::string free_text(std::int64_t available) {
  return "only " + figure(available) + " are free there, of which libraries get " +
         bytes_text(kDeviceReserveBytes);
}

}  // namespace

void check_device_data(std::int64_t needed_bytes, const std::string& what,
                       std::optional<std::int64_t> available) {
  if (fits(needed_bytes, available)) return;
  throw InputError(what + " needs " + figure(needed_bytes) + " on the device of every rank, " +
                   free_text(*available) +
                   " (expected fewer samples, a device with more memory, or one that nobody else "
                   "is using)");
}

void check_device_memory(const DeviceMemoryNeeds& needs, std::optional<std::int64_t> available) {
  const std::int64_t needed_bytes = needs.activation_bytes + needs.parameter_bytes;
  if (fits(needed_bytes, available)) return;
  throw InputError(
      "beside " + bytes_text(needs.data_bytes) + " of samples, a rank needs " +
      figure(needed_bytes) + " on its device (activations " + bytes_text(needs.activation_bytes) +
      ", parameters with gradients and optimizer state " + bytes_text(needs.parameter_bytes) +
      "), " + free_text(*available) +
      " (expected a smaller data.global_batch, more ranks, fewer samples, or a device with more "
      "memory)");
}

}  // namespace quern
