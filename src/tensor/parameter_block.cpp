// SPDX-License-Identifier: Apache-2.0
#include "tensor/parameter_block.hpp"

#include <utility>

#include "base/assert.hpp"

namespace quern {

std::vector<float> read_tensor(const ParameterEntry& entry, std::span<const float> block) {
  std::vector<float> values(static_cast<std::size_t>(entry.count));
  for (std::int64_t i = 0; i < entry.count; ++i) {
    values[static_cast<std::size_t>(i)] = block[static_cast<std::size_t>(entry.position(i))];
  }
  return values;
}

void write_tensor(const ParameterEntry& entry, std::span<const float> values,
                  std::span<float> block) {
  expect(static_cast<std::int64_t>(values.size()) == entry.count, "a value for every element");
  for (std::int64_t i = 0; i < entry.count; ++i) {
    block[static_cast<std::size_t>(entry.position(i))] = values[static_cast<std::size_t>(i)];
  }
}

std::int64_t ParameterTable::add(const std::string& name, std::vector<std::int64_t> shape,
                                 std::int64_t fan_in, ParameterKind kind) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  entries_.push_back({name, std::move(shape), block_size_, count, fan_in, kind});
  block_size_ += round_up_to_lanes(count);
  return entries_.back().offset;
}

std::int64_t ParameterTable::add_transposed(const std::string& name, std::int64_t out,
                                            std::int64_t in, std::int64_t panel) {
  expect(panel > 0 && panel % kLanes == 0, "panels of whole lane groups");
  entries_.push_back({name, {out, in}, block_size_, out * in, in, ParameterKind::weight, panel});
  block_size_ += (out + panel - 1) / panel * panel * in;
  return entries_.back().offset;
}

std::int64_t ParameterTable::num_parameters() const {
  std::int64_t total = 0;
  for (const ParameterEntry& entry : entries_) total += entry.count;
  return total;
}

}  // namespace quern
