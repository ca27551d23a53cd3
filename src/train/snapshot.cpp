// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace quern {

namespace {

std::vector<float> to_host(const FloatView& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return {host.data(), host.data() + host.extent(0)};
}

void to_device(const std::vector<float>& values, const FloatView& view) {
  const auto host = Kokkos::create_mirror_view(view);
  std::memcpy(host.data(), values.data(), values.size() * sizeof(float));
  Kokkos::deep_copy(view, host);
}

// `what` ("the model", "optimizer state 'exp_avg'") begins the message.
std::vector<float> block_of(const ParameterTable& table, const std::vector<NamedTensor>& tensors,
                            const std::string& what) {
  if (tensors.size() != table.entries().size()) {
    throw InputError("the checkpoint is of another network: " + what + " has " +
                     std::to_string(tensors.size()) + " tensors, expected " +
                     std::to_string(table.entries().size()));
  }
  std::vector<float> block(static_cast<std::size_t>(table.block_size()), 0.0f);
  for (const ParameterEntry& entry : table.entries()) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const NamedTensor& t) { return t.name == entry.name; });
    if (tensor == tensors.end()) {
      throw InputError("the checkpoint is of another network: " + what + " has no tensor '" +
                       entry.name + "'");
    }
    if (tensor->shape != entry.shape) {
      throw InputError("the checkpoint is of another network: tensor '" + entry.name + "' of " +
                       what + " has shape " + shape_text(tensor->shape) + ", expected " +
                       shape_text(entry.shape));
    }
    write_tensor(entry, tensor->values, block);
  }
  return block;
}

std::vector<std::vector<float>> blocks_of(const CheckpointState& state, const ParameterTable& table,
                                          const Optimizer* optimizer) {
  std::vector<std::vector<float>> blocks{block_of(table, state.model, "the model")};
  if (!optimizer) return blocks;
  if (state.optimizer.size() != optimizer->state().size()) {
    throw InputError("the checkpoint is of another optimizer: it holds " +
                     std::to_string(state.optimizer.size()) + " state arrays, expected " +
                     std::to_string(optimizer->state().size()));
  }
  for (const OptimizerState& wanted : optimizer->state()) {
    const auto slot = std::find_if(state.optimizer.begin(), state.optimizer.end(),
                                   [&](const OptimizerSlot& s) { return s.name == wanted.name; });
    if (slot == state.optimizer.end()) {
      throw InputError("the checkpoint is of another optimizer: it has no state '" + wanted.name +
                       "'");
    }
    blocks.push_back(block_of(table, slot->tensors, "optimizer state '" + wanted.name + "'"));
  }
  return blocks;
}

}  // namespace

Snapshot::Snapshot(const ParameterTable& table, const FloatView& parameters,
                   const Optimizer* optimizer) {
  state.model = copy_tensors(table, parameters);
  if (!optimizer) return;
  for (const OptimizerState& slot : optimizer->state()) {
    state.optimizer.push_back({slot.name, copy_tensors(table, slot.values)});
  }
}

std::vector<NamedTensor> Snapshot::copy_tensors(const ParameterTable& table,
                                                const FloatView& view) {
  const std::vector<float> block = to_host(view);
  std::vector<NamedTensor> tensors;
  for (const ParameterEntry& entry : table.entries()) {
    values_.push_back(read_tensor(entry, block));
    tensors.push_back({entry.name, entry.shape, values_.back()});
  }
  return tensors;
}

bool Snapshot::is_finite() const {
  for (const std::vector<float>& tensor : values_) {
    for (const float value : tensor) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

void restore(Communicator& comm, const CheckpointState* state, const ParameterTable& table,
             const FloatView& parameters, const Optimizer* optimizer) {
  std::vector<std::vector<float>> blocks;
  agree(comm, [&] {
    if (state) blocks = blocks_of(*state, table, optimizer);
  });
  const std::size_t num_blocks = 1 + (optimizer ? optimizer->state().size() : 0);
  blocks.resize(num_blocks, std::vector<float>(static_cast<std::size_t>(table.block_size())));
  for (std::size_t i = 0; i < num_blocks; ++i) {
    comm.broadcast(std::as_writable_bytes(std::span(blocks[i])), 0);
    to_device(blocks[i], i == 0 ? parameters : optimizer->state()[i - 1].values);
  }
}

}  // namespace quern
