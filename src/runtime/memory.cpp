// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/unit_text.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytesPerKibi = 1024;

// Names of a control group's files in versions 1 and 2 of the interface.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* stat_prefix;
};

constexpr GroupFiles kVersion2 = {"sys/fs/cgroup", "memory.max", "memory.current", ""};
constexpr GroupFiles kVersion1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                  "memory.usage_in_bytes", "total_"};

// A file that holds one number; "max" and whatever else is no number give nothing.
std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return {};
}

// The number that follows `key` in a file of "key number" lines.
std::optional<std::int64_t> read_entry(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key + " ") && !line.starts_with(key + ":")) continue;
    return std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return {};
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (a && b) return std::min(*a, *b);
  return a ? a : b;
}

std::optional<std::int64_t> left_in_group(const fs::path& group, const GroupFiles& files) {
  const auto limit = read_number(group / files.limit);
  const auto usage = read_number(group / files.usage);
  if (!limit || !usage) return {};
  std::int64_t cache = 0;
  for (const char* key : {"inactive_file", "active_file"}) {
    cache += read_entry(group / "memory.stat", std::string(files.stat_prefix) + key).value_or(0);
  }
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *usage - cache));
}

// The group and all above it. Inside a container the path may not exist below the mount: then only
// the mount itself, which is the container's own group, is asked.
std::optional<std::int64_t> left_in_groups(const fs::path& root, const GroupFiles& files,
                                           const std::string& group) {
  std::optional<std::int64_t> left = left_in_group(root / files.mount, files);
  fs::path path = root / files.mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    path /= part;
    left = smaller(left, left_in_group(path, files));
  }
  return left;
}

// Lines of /proc/self/cgroup: "0::/path" (version 2) or "4:memory:/path" (version 1).
std::optional<std::int64_t> left_in_control_groups(const fs::path& root) {
  std::optional<std::int64_t> left;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) left = smaller(left, left_in_groups(root, kVersion2, group));
    if (controllers == "memory") left = smaller(left, left_in_groups(root, kVersion1, group));
  }
  return left;
}

// What is left of the limit on this process' address space.
std::optional<std::int64_t> left_in_address_space(const fs::path& root) {
  std::ifstream file(root / "proc/self/limits");
  const std::string key = "Max address space ";
  std::string line;
  while (std::getline(file, line) && !line.starts_with(key)) {
  }
  std::istringstream words(line.substr(std::min(line.size(), key.size())));
  std::int64_t limit = 0;  // not a number: "unlimited"
  const auto used = read_entry(root / "proc/self/status", "VmSize");
  if (!(words >> limit) || !used) return {};
  return std::max<std::int64_t>(0, limit - *used * kBytesPerKibi);
}

std::string figure(std::int64_t bytes) {
  if (bytes < 1024) return bytes_text(bytes);
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

std::optional<std::int64_t> available_memory(const fs::path& root) {
  auto available = read_entry(root / "proc/meminfo", "MemAvailable");
  if (available) *available *= kBytesPerKibi;
  return smaller(available, left_in_control_groups(root));
}

void check_memory(std::int64_t needed_bytes, const std::string& what, const fs::path& root) {
  const auto available = available_memory(root);
  if (!available || needed_bytes <= *available) return;
  throw InputError(what + " needs " + figure(needed_bytes) + " of memory, only " +
                   figure(*available) + " are available");
}

void check_address_space(std::int64_t needed_bytes, const std::string& what, const fs::path& root) {
  const auto available = left_in_address_space(root);
  if (!available || needed_bytes <= *available) return;
  throw InputError(what + " needs " + figure(needed_bytes) + " of memory, only " +
                   figure(*available) +
                   " are left of what 'ulimit -v' lets a process have (expected more: 'ulimit -v "
                   "unlimited', or ask the centre where the shell refuses that)");
}

void check_node_memory(Communicator& world, std::int64_t needed_bytes, const std::string& what,
                       const std::string& remedies) {
  const std::vector<std::int64_t> bytes_of_rank = all_gather_value(world, needed_bytes);
  const auto check = [&] {
    check_address_space(needed_bytes, what);
    if (world.node_rank() != 0) return;
    std::int64_t bytes = 0;
    for (int rank = 0; rank < world.size(); ++rank)
      if (world.host(rank) == world.host(world.rank()))
        bytes += bytes_of_rank[static_cast<std::size_t>(rank)];
    check_memory(bytes, what + " on " + count_text(world.node_size(), "rank") + " of one node");
  };
  agree(world, [&] {
    try {
      check();
    } catch (const InputError& error) {
      if (remedies.empty()) throw;
      throw InputError(error.what() + (" (expected " + remedies + ")"));
    }
  });
}

void check_shared_memory(std::int64_t needed_bytes, const std::string& what,
                         std::int64_t free_bytes) {
  if (needed_bytes <= free_bytes) return;
  throw InputError(what + " needs " + figure(needed_bytes) +
                   " that the ranks of a node share, only " + figure(free_bytes) +
                   " are free in /dev/shm (expected a larger one: docker run --shm-size; or one "
                   "rank a node, or a data.memory, of evaluate and predict a --memory, with which "
                   "the set is streamed)");
}

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
      "), " + free_text(*available) + " (expected " + needs.remedies +
      ", fewer samples, or a device with more memory)");
}

}  // namespace quern
