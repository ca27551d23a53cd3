// SPDX-License-Identifier: Apache-2.0
#include "tensor/parameter_block.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "base/error.hpp"

namespace quern {

std::vector<std::int64_t> ParameterEntry::whole_shape() const {
  std::vector<std::int64_t> whole = shape;
  whole.front() = whole_rows;
  return whole;
}

std::vector<ParameterEntry> trained_entries(const std::vector<ParameterEntry>& entries) {
  std::vector<ParameterEntry> trained;
  for (const ParameterEntry& entry : entries)
    if (entry.is_trained()) trained.push_back(entry);
  return trained;
}

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

namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

// What a layer outside of this library may get wrong.
void check_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                  std::int64_t fan_in) {
  const bool is_filled = !shape.empty() && std::ranges::min(shape) >= 1;
  if (is_filled && fan_in >= 1) return;
  std::string extents;
  for (const std::int64_t extent : shape)
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  throw InputError("the tensor '" + name + "' has the shape [" + extents + "] and a fan-in of " +
                   std::to_string(fan_in) +
                   ", expected at least one extent, and numbers from 1 on (a scalar is [1])");
}

}  // namespace

void ParameterTable::push_back(ParameterEntry entry) {
  const auto same = std::ranges::find(entries_, entry.name, &ParameterEntry::name);
  entry.number = same == entries_.end() ? first_number_ + num_tensors_++ : same->number;
  entry.whole_rows = entry.shape.front();
  entries_.push_back(std::move(entry));
}

// A trained one in front of the buffers and of what is frozen, which move.
std::int64_t ParameterTable::append(ParameterEntry entry, std::int64_t floats, Training training) {
  if (training == Training::frozen) {
    const std::int64_t offset = frozen_size_;
    entry.is_frozen = true;
    entry.offset = reduced_size() + offset;
    push_back(std::move(entry));
    frozen_size_ += floats;
    return offset;
  }
  entry.offset = trained_size_;
  for (ParameterEntry& other : entries_)
    if (!other.is_trained()) other.offset += floats;
  push_back(std::move(entry));
  trained_size_ += floats;
  return entries_.back().offset;
}

std::int64_t ParameterTable::add(const std::string& name, std::vector<std::int64_t> shape,
                                 std::int64_t fan_in, ParameterKind kind, Training training) {
  expect(kind != ParameterKind::buffer, "a tensor that is trained");
  check_tensor(name, shape, fan_in);
  const std::int64_t count = product(shape);
  return append({name, std::move(shape), 0, count, fan_in, kind}, round_up_to_lanes(count),
                training);
}

std::int64_t ParameterTable::add_transposed(const std::string& name, std::int64_t out,
                                            std::int64_t in, std::int64_t panel,
                                            Training training) {
  expect(panel > 0 && panel % kLanes == 0, "panels of whole lane groups");
  return append({name, {out, in}, 0, out * in, in, ParameterKind::weight, panel},
                round_up(out, panel) * in, training);
}

std::int64_t ParameterTable::add_buffer(const std::string& name, std::vector<std::int64_t> shape,
                                        const RunningAverage& average) {
  check_tensor(name, shape, 1);
  const std::int64_t count = product(shape);
  const std::int64_t offset = buffer_size_;
  const std::int64_t floats = round_up_to_lanes(count);
  for (ParameterEntry& other : entries_)
    if (other.is_frozen) other.offset += floats;
  push_back({name, std::move(shape), trained_size_ + offset, count, 1, ParameterKind::buffer, 0,
             average});
  buffer_size_ += floats;
  return offset;
}

void ParameterTable::mark_parts(std::size_t from, std::int64_t first_row, std::int64_t whole_rows) {
  for (std::size_t i = from; i < entries_.size(); ++i) {
    entries_[i].first_row = first_row;
    entries_[i].whole_rows = whole_rows;
  }
}

void ParameterTable::set_lr_factor(std::size_t from, float factor) {
  for (std::size_t i = from; i < entries_.size(); ++i) entries_[i].lr_factor = factor;
}

std::int64_t ParameterTable::num_parameters() const {
  std::int64_t total = 0;
  for (const ParameterEntry& entry : entries_)
    if (!entry.is_buffer()) total += entry.count;
  return total;
}

std::int64_t ParameterTable::num_trained() const {
  std::int64_t total = 0;
  for (const ParameterEntry& entry : entries_)
    if (entry.is_trained()) total += entry.count;
  return total;
}

}  // namespace quern
