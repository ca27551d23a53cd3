// SPDX-License-Identifier: Apache-2.0
#include "state/stage_tensors.hpp"

#include "base/assert.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

constexpr int kTag = 2;  // apart from the messages of steps

void send(Communicator& stages, const NamedTensor& tensor, int to) {
  const auto message = stages.make_send(tensor.values, to, kTag);
  message->start();
  message->wait();
}

NamedTensor receive(Communicator& stages, const ParameterEntry& entry, int from,
                    TensorStorage& storage) {
  std::vector<float>& values = storage.emplace_back(static_cast<std::size_t>(entry.count));
  const auto message = stages.make_receive(values, from, kTag);
  message->start();
  message->wait();
  return {entry.name, entry.shape, values};
}

}  // namespace

void collect_tensors(Communicator& stages, const std::vector<ParameterEntry>& entries,
                     std::vector<NamedTensor>& tensors, TensorStorage& storage) {
  const std::vector<std::size_t> counts = all_gather_value(stages, tensors.size());
  if (stages.rank() != 0) {
    for (const NamedTensor& tensor : tensors) send(stages, tensor, 0);
    return;
  }
  for (int stage = 1; stage < stages.size(); ++stage) {
    for (std::size_t i = 0; i < counts[static_cast<std::size_t>(stage)]; ++i)
      tensors.push_back(receive(stages, entries.at(tensors.size()), stage, storage));
  }
  expect(tensors.size() == entries.size(), "the tensors of all stages");
}

std::vector<NamedTensor> distribute_tensors(Communicator& stages,
                                            const std::vector<ParameterEntry>& entries,
                                            const std::vector<ParameterEntry>& own,
                                            const std::vector<NamedTensor>* whole,
                                            TensorStorage& storage) {
  const std::vector<std::size_t> counts = all_gather_value(stages, own.size());
  std::vector<NamedTensor> tensors;
  if (!whole) {
    for (const ParameterEntry& entry : own) tensors.push_back(receive(stages, entry, 0, storage));
    return tensors;
  }
  expect(whole->size() == entries.size(), "the tensors of all stages");
  std::size_t next = counts[0];
  tensors.assign(whole->begin(), whole->begin() + static_cast<std::ptrdiff_t>(next));
  for (int stage = 1; stage < stages.size(); ++stage)
    for (std::size_t i = 0; i < counts[static_cast<std::size_t>(stage)]; ++i)
      send(stages, whole->at(next++), stage);
  return tensors;
}

}  // namespace quern
