// SPDX-License-Identifier: Apache-2.0
#include "train/restore.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "train/spread_array.hpp"
#include "train/stage_tensors.hpp"
#include "train/tensor_parts.hpp"

namespace quern {

namespace {

using Entries = std::vector<ParameterEntry>;

// The tensor of this parameter; `what` ("the model", "optimizer state 'exp_avg'") begins a message.
const NamedTensor& tensor_of(const ParameterEntry& entry, const std::vector<NamedTensor>& tensors,
                             const std::string& what) {
  const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                   [&](const NamedTensor& t) { return t.name == entry.name; });
  if (tensor == tensors.end()) {
    throw InputError("the checkpoint is of another network: " + what + " has no tensor '" +
                     entry.name + "'");
  }
  if (tensor->shape != entry.whole_shape()) {
    throw InputError("the checkpoint is of another network: tensor '" + entry.name + "' of " +
                     what + " has shape " + shape_text(tensor->shape) + ", expected " +
                     shape_text(entry.whole_shape()));
  }
  return *tensor;
}

std::size_t num_tensors(const Entries& entries) {
  std::set<int> numbers;
  for (const ParameterEntry& entry : entries) numbers.insert(entry.number);
  return numbers.size();
}

void check_tensors(const Entries& entries, const std::vector<NamedTensor>& tensors,
                   const std::string& what) {
  if (tensors.size() != num_tensors(entries)) {
    throw InputError("the checkpoint is of another network: " + what + " has " +
                     std::to_string(tensors.size()) + " tensors, expected " +
                     std::to_string(num_tensors(entries)));
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
  const Entries trained = trained_entries(table.entries());
  for (const StateArray& wanted : optimizer) {
    check_tensors(trained, row_of(state, wanted).tensors, "optimizer state '" + wanted.name + "'");
  }
}

void write_entries(const Entries& entries, const std::vector<NamedTensor>& tensors,
                   std::span<float> block) {
  for (const ParameterEntry& entry : entries) {
    const std::span<const float> whole = tensor_of(entry, tensors, "").values;
    write_tensor(entry,
                 whole.subspan(static_cast<std::size_t>(entry.first_element()),
                               static_cast<std::size_t>(entry.count)),
                 block);
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

/// Into an array that every rank has, or a node once.
class WholeArrays {
 public:
  WholeArrays(Communicator& comm, StatePlace place) : comm_(comm), place_(place) {}

  /// `tensors`: rank 0's. What is none of these entries stays as it is.
  void put(const Entries& entries, const std::vector<NamedTensor>* tensors,
           const FloatView& block) const {
    if (tensors) {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), block);
      write_entries(entries, *tensors, {host.data(), host.size()});
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
  if (tensors) write_entries(entries, *tensors, whole);
  std::vector<float> buffer(static_cast<std::size_t>(kRestoreBytes) / sizeof(float));
  distribute_array(comm, to.owners, whole, size, array.pieces, buffer);
}

// Of ranks with the same entries: rank 0's `state` to all of them.
void put_state(Communicator& comm, const CheckpointState* state, const Entries& entries,
               std::int64_t trained_size, const TrainState& to) {
  const WholeArrays whole(comm, to.place);
  whole.put(entries, state ? &state->model : nullptr, to.parameters);
  const Entries trained = trained_entries(entries);
  for (const StateArray& array : to.optimizer) {
    const std::vector<NamedTensor>* tensors = state ? &row_of(*state, array).tensors : nullptr;
    if (to.place == StatePlace::owners)
      put_spread(comm, trained, trained_size, tensors, to, array);
    else
      whole.put(trained, tensors, array.pieces.front());
  }
}

/// What this rank gets of `tensors`, those of the model or those that an optimizer keeps state for;
/// null where another rank has them.
using Distribute =
    std::function<std::vector<NamedTensor>(bool is_model, const std::vector<NamedTensor>* tensors)>;

CheckpointState distributed(const CheckpointState* state, const std::vector<StateArray>& arrays,
                            const Distribute& distribute) {
  CheckpointState part;
  part.model = distribute(true, state ? &state->model : nullptr);
  for (const StateArray& array : arrays) {
    part.optimizer.push_back(
        {array.name, distribute(false, state ? &row_of(*state, array).tensors : nullptr)});
  }
  return part;
}

std::vector<NamedTensor> in_order(const Entries& entries, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> ordered;
  for (const ParameterEntry& entry : entries) ordered.push_back(tensor_of(entry, tensors, ""));
  return ordered;
}

/// Those of the whole network that `table` has, or has parts of.
Entries entries_of_stage(const ParameterTable& whole, const ParameterTable& table) {
  std::set<int> numbers;
  for (const ParameterEntry& entry : table.entries()) numbers.insert(entry.number);
  Entries entries;
  for (const ParameterEntry& entry : whole.entries())
    if (numbers.contains(entry.number)) entries.push_back(entry);
  return entries;
}

// Rank 0's state to the ranks that stand for a stage, which take part.
CheckpointState state_of_stage(Communicator& stages, const CheckpointState* state,
                               const ParameterTable& whole, const ParameterTable& table,
                               const std::vector<StateArray>& arrays, TensorStorage& storage) {
  const Entries own = entries_of_stage(whole, table);
  return distributed(state, arrays, [&](bool is_model, const std::vector<NamedTensor>* tensors) {
    const Entries all = is_model ? whole.entries() : trained_entries(whole.entries());
    const auto ordered = tensors ? in_order(all, *tensors) : std::vector<NamedTensor>{};
    return distribute_tensors(stages, all, is_model ? own : trained_entries(own),
                              tensors ? &ordered : nullptr, storage);
  });
}

// A stage's state to the ranks of a tensor group: to each its rows.
CheckpointState state_of_rows(Communicator& group, const CheckpointState* state,
                              const ParameterTable& table, const std::vector<StateArray>& arrays,
                              TensorStorage& storage) {
  return distributed(state, arrays, [&](bool is_model, const std::vector<NamedTensor>* tensors) {
    return distribute_parts(group, is_model ? table.entries() : trained_entries(table.entries()),
                            tensors, storage);
  });
}

// Rank 0's `state`, which fits, to where each rank has it.
void put_on_grid(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
                 const ParameterTable& table, const TrainState& to) {
  Entries entries = table.entries();
  TensorStorage storage;
  CheckpointState stage;
  CheckpointState rows;
  if (grid.shape().pipeline > 1 && grid.data().rank() == 0 && grid.tensor().rank() == 0) {
    stage = state_of_stage(grid.pipeline(), state, whole, table, to.optimizer, storage);
    state = &stage;
  }
  if (grid.shape().tensor > 1 && grid.data().rank() == 0) {
    rows = state_of_rows(grid.tensor(), state, table, to.optimizer, storage);
    state = &rows;
    entries = of_own_rows(entries);
  }
  put_state(grid.data(), state, entries, table.trained_size(), to);
}

Entries of_names(const Entries& entries, const std::set<std::string>& names) {
  Entries found;
  for (const ParameterEntry& entry : entries)
    if (names.contains(entry.name)) found.push_back(entry);
  return found;
}

// Those of rank 0, on all ranks. Names of tensors have no line breaks.
std::set<std::string> names_on_root(Communicator& comm, const std::vector<NamedTensor>* tensors) {
  std::string text;
  if (tensors)
    for (const NamedTensor& tensor : *tensors) text += tensor.name + "\n";
  const std::vector<std::string> names = split_lines(broadcast_string(comm, text));
  return {names.begin(), names.end()};
}

}  // namespace

void restore(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
             const ParameterTable& table, const TrainState& to) {
  agree(grid.world(), [&] {
    if (state) check_state(*state, whole, to.optimizer);
  });
  put_on_grid(grid, state, whole, table, to);
}

void restore(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
             const ParameterTable& table, const FloatView& parameters) {
  agree(grid.world(), [&] {
    if (state) check_tensors(whole.entries(), state->model, "the model");
  });
  TrainState to;
  to.parameters = parameters;
  put_on_grid(grid, state, whole, table, to);
}

void restore_part(const ProcessGrid& grid, const std::vector<NamedTensor>* tensors,
                  const ParameterTable& whole, const ParameterTable& table, const TrainState& to) {
  const std::set<std::string> names = names_on_root(grid.world(), tensors);
  Entries entries = of_names(table.entries(), names);
  TensorStorage storage;
  std::vector<NamedTensor> stage;
  std::vector<NamedTensor> rows;
  if (grid.shape().pipeline > 1 && grid.data().rank() == 0 && grid.tensor().rank() == 0) {
    const Entries all = of_names(whole.entries(), names);
    const auto ordered = tensors ? in_order(all, *tensors) : std::vector<NamedTensor>{};
    stage =
        distribute_tensors(grid.pipeline(), all, of_names(entries_of_stage(whole, table), names),
                           tensors ? &ordered : nullptr, storage);
    tensors = &stage;
  }
  if (grid.shape().tensor > 1 && grid.data().rank() == 0) {
    rows = distribute_parts(grid.tensor(), entries, tensors, storage);
    tensors = &rows;
    entries = of_own_rows(entries);
  }
  WholeArrays(grid.data(), to.place).put(entries, tensors, to.parameters);
}

}  // namespace quern
