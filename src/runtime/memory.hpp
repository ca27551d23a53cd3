// SPDX-License-Identifier: Apache-2.0
// Whether something fits into memory, decided before anything is allocated: the host's, and that of
// the devices (`available` is what device/inventory.hpp says; nothing is refused without it; ranks
// that share a device are not added up).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

class Communicator;

/// Bytes that this process may still use: what Linux reports as available, or what is left of the
/// memory limit of its control group or one above (Slurm and containers set those), whichever is
/// less. Page cache counts as free. Nothing where the system tells neither. `root` is the folder
/// that holds proc/ and sys/.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

/// Throws InputError, with both figures, when `needed_bytes` for `what` are not available.
void check_memory(std::int64_t needed_bytes, const std::string& what,
                  const std::filesystem::path& root = "/");

/// The same for the limit of this process' address space (ulimit -v), which also counts what is
/// reserved and never touched. Nothing is refused without such a limit.
void check_address_space(std::int64_t needed_bytes, const std::string& what,
                         const std::filesystem::path& root = "/");

/// Collective: both for all ranks of each node together, of which this one needs `needed_bytes` of
/// host memory. AgreedError, which begins "WHAT on 2 ranks of one node needs" and ends with
/// "(expected REMEDIES)".
void check_node_memory(Communicator& world, std::int64_t needed_bytes, const std::string& what,
                       const std::string& remedies = "");

/// Throws InputError, with both figures, when `needed_bytes` for `what` do not fit into the memory
/// that processes of a node share, of which `free_bytes` are left (comm/node_shared.hpp).
void check_shared_memory(std::int64_t needed_bytes, const std::string& what,
                         std::int64_t free_bytes);

/// What libraries take beside us: workspaces of matrix products, buffers of NCCL, recorded steps.
inline constexpr std::int64_t kDeviceReserveBytes = std::int64_t{256} << 20;

/// What one rank keeps on its device.
struct DeviceMemoryNeeds {
  std::int64_t data_bytes = 0;        ///< samples, which are there already
  std::int64_t activation_bytes = 0;  ///< of a batch, with their gradients
  std::int64_t parameter_bytes = 0;   ///< with gradients and optimizer state
  std::string remedies = "a smaller data.global_batch, more ranks";
};

/// Before samples are copied. InputError, with both figures, when `needed_bytes` for `what` are not
/// available.
void check_device_data(std::int64_t needed_bytes, const std::string& what,
                       std::optional<std::int64_t> available);

/// Before the rest is allocated. InputError, with all figures, when it is more than is available.
void check_device_memory(const DeviceMemoryNeeds& needs, std::optional<std::int64_t> available);

}  // namespace quern
