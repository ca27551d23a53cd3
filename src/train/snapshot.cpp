// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"

namespace quern {

namespace {

// The tensor of this parameter; `what` ("the model", "optimizer state 'exp_avg'") begins a message.
const NamedTensor& tensor_of(const ParameterEntry& entry, const std::vector<NamedTensor>& tensors,
                             const std::string& what) {
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
  return *tensor;
}

using Entries = std::vector<ParameterEntry>;

/// What an optimizer keeps state for.
Entries trained_entries(const ParameterTable& table) {
  Entries entries;
  for (const ParameterEntry& entry : table.entries())
    if (!entry.is_buffer()) entries.push_back(entry);
  return entries;
}

void check_tensors(const Entries& entries, const std::vector<NamedTensor>& tensors,
                   const std::string& what) {
  if (tensors.size() != entries.size()) {
    throw InputError("the checkpoint is of another network: " + what + " has " +
                     std::to_string(tensors.size()) + " tensors, expected " +
                     std::to_string(entries.size()));
  }
  for (const ParameterEntry& entry : entries) tensor_of(entry, tensors, what);
}

const OptimizerTensors& row_of(const CheckpointState& state, const OptimizerState& wanted) {
  const auto state_array =
      std::find_if(state.optimizer.begin(), state.optimizer.end(),
                   [&](const OptimizerTensors& s) { return s.name == wanted.name; });
  if (state_array == state.optimizer.end()) {
    throw InputError("the checkpoint is of another optimizer: it has no state '" + wanted.name +
                     "'");
  }
  return *state_array;
}

void check_state(const CheckpointState& state, const ParameterTable& table,
                 const Optimizer* optimizer) {
  check_tensors(table.entries(), state.model, "the model");
  if (!optimizer) return;
  if (state.optimizer.size() != optimizer->state().size()) {
    throw InputError("the checkpoint is of another optimizer: it holds " +
                     std::to_string(state.optimizer.size()) + " state arrays, expected " +
                     std::to_string(optimizer->state().size()));
  }
  const Entries trained = trained_entries(table);
  for (const OptimizerState& wanted : optimizer->state()) {
    check_tensors(trained, row_of(state, wanted).tensors, "optimizer state '" + wanted.name + "'");
  }
}

void fill_block(const Entries& entries, const std::vector<NamedTensor>& tensors,
                const FloatView& block) {
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), block);
  const std::span<float> values(host.data(), host.size());
  std::fill(values.begin(), values.end(), 0.0f);
  for (const ParameterEntry& entry : entries) {
    write_tensor(entry, tensor_of(entry, tensors, "").values, values);
  }
  Kokkos::deep_copy(block, host);
}

// Rank 0's values into the blocks of all ranks, piece by piece.
void broadcast_block(Communicator& comm, const FloatView& block) {
  constexpr auto kPiece = static_cast<std::size_t>(kRestoreBytes) / sizeof(float);
  for (std::size_t begin = 0; begin < block.size(); begin += kPiece) {
    const auto piece =
        Kokkos::subview(block, std::pair(begin, std::min(begin + kPiece, block.size())));
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), piece);
    comm.broadcast(std::as_writable_bytes(std::span(host.data(), host.size())), 0);
    Kokkos::deep_copy(piece, host);
  }
}

}  // namespace

Snapshot::Snapshot(const ParameterTable& table, const FloatView& parameters,
                   const Optimizer* optimizer) {
  state.model = copy_tensors(table.entries(), parameters);
  if (!optimizer) return;
  for (const OptimizerState& state_array : optimizer->state()) {
    state.optimizer.push_back(
        {state_array.name, copy_tensors(trained_entries(table), state_array.values)});
  }
}

std::vector<NamedTensor> Snapshot::copy_tensors(const Entries& entries, const FloatView& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  const std::span<const float> block(host.data(), host.size());
  std::vector<NamedTensor> tensors;
  for (const ParameterEntry& entry : entries) {
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
             const FloatView& parameters, const Optimizer* optimizer, BlockPlace place) {
  agree(comm, [&] {
    if (state) check_state(*state, table, optimizer);
  });
  const auto put = [&](const Entries& entries, const FloatView& block,
                       const std::vector<NamedTensor>* tensors) {
    if (tensors) fill_block(entries, *tensors, block);
    if (place == BlockPlace::rank && comm.size() > 1) broadcast_block(comm, block);
  };
  put(table.entries(), parameters, state ? &state->model : nullptr);
  if (!optimizer) return;
  const Entries trained = trained_entries(table);
  for (const OptimizerState& block : optimizer->state()) {
    put(trained, block.values, state ? &row_of(*state, block).tensors : nullptr);
  }
}

}  // namespace quern
