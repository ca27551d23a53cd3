// SPDX-License-Identifier: Apache-2.0
#include "app/memory_option.hpp"

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/toml_text.hpp"

namespace quern {

void add_memory_option(CommandLine command, std::string& memory) {
  command
      .add_option("--memory", memory,
                  "Memory for the samples of --data, over all ranks: a larger set is streamed "
                  "(\"2 GiB\"; default: data.memory of the recipe)")
      .type_name("SIZE");
}

DataSpec with_memory(DataSpec data, const std::string& memory) {
  if (memory.empty()) return data;
  const std::optional<std::int64_t> bytes = parse_size(memory);
  if (!bytes) {
    throw InputError("--memory: \"" + printable_start(memory) + "\" is no size, expected " +
                     kSizeWords + ", at least 1 B");
  }
  data.memory = *bytes;
  return data;
}

std::string memory_name(const std::string& memory) {
  return memory.empty() ? "data.memory (--memory)" : "--memory";
}

}  // namespace quern
