// SPDX-License-Identifier: Apache-2.0
#include "state/tensor_parts.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

/// The entries of each tensor, by place.
std::vector<std::vector<std::size_t>> by_tensor(const std::vector<ParameterEntry>& entries) {
  std::vector<std::vector<std::size_t>> tensors;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto same = std::ranges::find_if(
        tensors, [&](const auto& t) { return entries[t.front()].number == entries[i].number; });
    if (same == tensors.end())
      tensors.push_back({i});
    else
      same->push_back(i);
  }
  return tensors;
}

/// How much of a tensor each rank has.
std::vector<Segment> segments_of(Communicator& group, std::int64_t own) {
  std::vector<Segment> segments;
  std::int64_t begin = 0;
  for (const std::int64_t count : all_gather_value(group, own)) {
    segments.push_back({begin, count});
    begin += count;
  }
  return segments;
}

std::vector<Segment> none(Communicator& group) {
  return std::vector<Segment>(static_cast<std::size_t>(group.size()));
}

/// On the first rank everybody's values, one after the other.
std::vector<float> gather(Communicator& group, std::vector<float> own) {
  if (group.size() == 1) return own;
  const auto count = static_cast<std::int64_t>(own.size());
  std::vector<Segment> receive_from = segments_of(group, count);
  std::vector<float> all;
  if (group.rank() == 0) {
    all.resize(static_cast<std::size_t>(receive_from.back().offset + receive_from.back().count));
  } else {
    receive_from = none(group);
  }
  std::vector<Segment> send_to = none(group);
  send_to.front().count = count;
  group.all_to_all_v(own, send_to, all, receive_from);
  return all;
}

/// The way back.
std::vector<float> scatter(Communicator& group, std::span<const float> all, std::int64_t own) {
  std::vector<Segment> send_to = segments_of(group, own);
  if (group.rank() != 0) send_to = none(group);
  std::vector<Segment> receive_from = none(group);
  receive_from.front().count = own;
  std::vector<float> mine(static_cast<std::size_t>(own));
  group.all_to_all_v(all, send_to, mine, receive_from);
  return mine;
}

}  // namespace

std::vector<NamedTensor> join_parts(Communicator& group, const std::vector<ParameterEntry>& entries,
                                    std::vector<std::vector<float>> parts, TensorStorage& storage) {
  expect(parts.size() == entries.size(), "values of every entry");
  std::vector<NamedTensor> tensors;
  for (const auto& places : by_tensor(entries)) {
    const ParameterEntry& first = entries[places.front()];
    std::vector<float> values = std::move(parts[places.front()]);
    for (std::size_t i = 1; i < places.size(); ++i) {
      const std::vector<float> next = std::move(parts[places[i]]);
      values.insert(values.end(), next.begin(), next.end());
    }
    if (first.is_part()) values = gather(group, std::move(values));
    if (group.rank() != 0) continue;
    storage.push_back(std::move(values));
    tensors.push_back({first.name, first.whole_shape(), storage.back()});
  }
  return tensors;
}

std::vector<NamedTensor> distribute_parts(Communicator& group,
                                          const std::vector<ParameterEntry>& entries,
                                          const std::vector<NamedTensor>* whole,
                                          TensorStorage& storage) {
  std::vector<NamedTensor> tensors;
  for (const auto& places : by_tensor(entries)) {
    const ParameterEntry& first = entries[places.front()];
    std::int64_t count = 0;
    for (const std::size_t place : places) count += entries[place].count;
    std::span<const float> all;
    if (whole) {
      const auto tensor = std::ranges::find(*whole, first.name, &NamedTensor::name);
      expect(tensor != whole->end(), "a tensor for every entry");
      all = tensor->values;
    }
    if (first.is_part()) {
      storage.push_back(scatter(group, all, count));
    } else {
      storage.emplace_back(all.begin(), all.end());
      storage.back().resize(static_cast<std::size_t>(count));
      group.broadcast(std::as_writable_bytes(std::span(storage.back())), 0);
    }
    std::vector<std::int64_t> shape = first.shape;
    shape.front() = count / (first.count / first.shape.front());
    tensors.push_back({first.name, shape, storage.back()});
  }
  return tensors;
}

std::vector<ParameterEntry> of_own_rows(std::vector<ParameterEntry> entries) {
  for (const auto& places : by_tensor(entries)) {
    const std::int64_t begin = entries[places.front()].first_row;
    std::int64_t rows = 0;
    for (const std::size_t place : places) rows += entries[place].shape.front();
    for (const std::size_t place : places) {
      entries[place].first_row -= begin;
      entries[place].whole_rows = rows;
    }
  }
  return entries;
}

}  // namespace quern
