// SPDX-License-Identifier: Apache-2.0
#include "tensor/parameter_block.hpp"

#include <utility>

namespace quern {

std::int64_t ParameterTable::add(const std::string& name, std::vector<std::int64_t> shape,
                                 std::int64_t fan_in, bool is_bias) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  entries_.push_back({name, std::move(shape), block_size_, count, fan_in, is_bias});
  block_size_ += round_up_to_lanes(count);
  return entries_.back().offset;
}

std::int64_t ParameterTable::num_parameters() const {
  std::int64_t total = 0;
  for (const ParameterEntry& entry : entries_) total += entry.count;
  return total;
}

}  // namespace quern
