// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "train/spread_array.hpp"
#include "train/stage_tensors.hpp"

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

const OptimizerTensors& row_of(const CheckpointState& state, const StateArray& wanted) {
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
                 const std::vector<StateArray>& optimizer) {
  check_tensors(table.entries(), state.model, "the model");
  if (state.optimizer.size() != optimizer.size()) {
    throw InputError("the checkpoint is of another optimizer: it holds " +
                     std::to_string(state.optimizer.size()) + " state arrays, expected " +
                     std::to_string(optimizer.size()));
  }
  const Entries trained = trained_entries(table);
  for (const StateArray& wanted : optimizer) {
    check_tensors(trained, row_of(state, wanted).tensors, "optimizer state '" + wanted.name + "'");
  }
}

void fill_block(const Entries& entries, const std::vector<NamedTensor>& tensors,
                std::span<float> block) {
  std::fill(block.begin(), block.end(), 0.0f);
  for (const ParameterEntry& entry : entries) {
    write_tensor(entry, tensor_of(entry, tensors, "").values, block);
  }
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

std::int64_t snapshot_bytes(const ParameterTable& table, int state_arrays) {
  std::int64_t floats = 0;
  for (const ParameterEntry& entry : table.entries())
    floats += entry.count * (entry.is_buffer() ? 1 : 1 + state_arrays);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

Snapshot::Snapshot(const ParameterTable& table, const FloatView& parameters) {
  state.model = copy_tensors(table.entries(), parameters);
}

Snapshot::Snapshot(Communicator& comm, const ParameterTable& table, const TrainState& train_state) {
  const bool is_spread = train_state.place == StatePlace::owners;
  const bool is_empty = is_spread && comm.rank() != 0;
  if (!is_empty) state.model = copy_tensors(table.entries(), train_state.parameters);
  const Entries trained = trained_entries(table);
  for (const StateArray& array : train_state.optimizer) {
    if (is_spread) {
      const HostFloats whole =
          collect_array(comm, train_state.owners, array.pieces, table.trained_size());
      if (!is_empty) state.optimizer.push_back({array.name, copy_tensors(trained, whole)});
    } else {
      state.optimizer.push_back({array.name, copy_tensors(trained, array.pieces.front())});
    }
  }
}

template <class V>
std::vector<NamedTensor> Snapshot::copy_tensors(const Entries& entries, const V& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  const std::span<const float> block(host.data(), host.size());
  std::vector<NamedTensor> tensors;
  for (const ParameterEntry& entry : entries) {
    values_.push_back(read_tensor(entry, block));
    tensors.push_back({entry.name, entry.shape, values_.back()});
  }
  return tensors;
}

void Snapshot::collect_stages(const ProcessGrid& grid, const ParameterTable& whole) {
  if (grid.shape().pipeline == 1) return;
  collect_tensors(grid.pipeline(), whole.entries(), state.model, values_);
  const Entries trained = trained_entries(whole);
  for (OptimizerTensors& array : state.optimizer)
    collect_tensors(grid.pipeline(), trained, array.tensors, values_);
}

bool Snapshot::is_finite() const {
  for (const std::vector<float>& tensor : values_) {
    for (const float value : tensor) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

namespace {

/// Into an array that every rank has, or a node once.
class WholeArrays {
 public:
  WholeArrays(Communicator& comm, StatePlace place) : comm_(comm), place_(place) {}

  /// `tensors`: rank 0's.
  void put(const Entries& entries, const std::vector<NamedTensor>* tensors,
           const FloatView& block) const {
    if (tensors) {
      const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), block);
      fill_block(entries, *tensors, {host.data(), host.size()});
      Kokkos::deep_copy(block, host);
    }
    if (place_ != StatePlace::node && comm_.size() > 1) broadcast_block(comm_, block);
  }

 private:
  Communicator& comm_;
  StatePlace place_;
};

void put_spread(Communicator& comm, const Entries& entries, std::int64_t size,
                const std::vector<NamedTensor>* tensors, const TrainState& to,
                const StateArray& array) {
  std::vector<float> whole(tensors ? static_cast<std::size_t>(size) : 0);
  if (tensors) fill_block(entries, *tensors, whole);
  std::vector<float> buffer(static_cast<std::size_t>(kRestoreBytes) / sizeof(float));
  distribute_array(comm, to.owners, whole, size, array.pieces, buffer);
}

}  // namespace

void restore(Communicator& comm, const CheckpointState* state, const ParameterTable& table,
             const TrainState& to) {
  agree(comm, [&] {
    if (state) check_state(*state, table, to.optimizer);
  });
  const WholeArrays whole(comm, to.place);
  whole.put(table.entries(), state ? &state->model : nullptr, to.parameters);
  const Entries trained = trained_entries(table);
  for (const StateArray& array : to.optimizer) {
    const std::vector<NamedTensor>* tensors = state ? &row_of(*state, array).tensors : nullptr;
    if (to.place == StatePlace::owners)
      put_spread(comm, trained, table.trained_size(), tensors, to, array);
    else
      whole.put(trained, tensors, array.pieces.front());
  }
}

namespace {

std::vector<NamedTensor> in_order(const Entries& entries, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> ordered;
  for (const ParameterEntry& entry : entries) ordered.push_back(tensor_of(entry, tensors, ""));
  return ordered;
}

// One rank of each stage takes part.
CheckpointState state_of_stage(Communicator& stages, const CheckpointState* state,
                               const ParameterTable& whole, const ParameterTable& table,
                               const std::vector<StateArray>& arrays, TensorStorage& storage) {
  const auto distribute = [&](const Entries& all, const Entries& own,
                              const std::vector<NamedTensor>* tensors) {
    const auto ordered = tensors ? in_order(all, *tensors) : std::vector<NamedTensor>{};
    return distribute_tensors(stages, all, own, tensors ? &ordered : nullptr, storage);
  };
  CheckpointState part;
  part.model = distribute(whole.entries(), table.entries(), state ? &state->model : nullptr);
  for (const StateArray& array : arrays) {
    part.optimizer.push_back(
        {array.name, distribute(trained_entries(whole), trained_entries(table),
                                state ? &row_of(*state, array).tensors : nullptr)});
  }
  return part;
}

}  // namespace

void restore(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
             const ParameterTable& table, const TrainState& to) {
  agree(grid.world(), [&] {
    if (state) check_state(*state, whole, to.optimizer);
  });
  if (grid.shape().pipeline == 1) return restore(grid.data(), state, table, to);
  TensorStorage storage;
  std::optional<CheckpointState> part;
  if (grid.data().rank() == 0) {
    part = state_of_stage(grid.pipeline(), state, whole, table, to.optimizer, storage);
  }
  restore(grid.data(), part ? &*part : nullptr, table, to);
}

void restore(Communicator& comm, const CheckpointState* state, const ParameterTable& table,
             const FloatView& parameters) {
  agree(comm, [&] {
    if (state) check_tensors(table.entries(), state->model, "the model");
  });
  WholeArrays(comm, StatePlace::rank)
      .put(table.entries(), state ? &state->model : nullptr, parameters);
}

}  // namespace quern
