// SPDX-License-Identifier: Apache-2.0
#include "state/restore.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "state/spread_array.hpp"
#include "state/stage_tensors.hpp"
#include "state/tensor_parts.hpp"

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

std::vector<NamedTensor> in_order(const Entries& entries, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> ordered;
  for (const ParameterEntry& entry : entries) ordered.push_back(tensor_of(entry, tensors, ""));
  return ordered;
}

/// Those of the whole network, `all`, that a stage has, or has parts of.
Entries entries_of_stage(const Entries& all, const Entries& own) {
  std::set<int> numbers;
  for (const ParameterEntry& entry : own) numbers.insert(entry.number);
  Entries entries;
  for (const ParameterEntry& entry : all)
    if (numbers.contains(entry.number)) entries.push_back(entry);
  return entries;
}

/// Of tensors that rank 0 of a grid has, those of one rank on the way to it: first the ranks that
/// stand for a stage get what is of it, then of these the ranks of a tensor group their rows. Who
/// stands for a data group hands them on to it.
class GridTensors {
 public:
  /// Collective over the grid's world. `all`: entries of the whole network; `own`: the same
  /// tensors' entries of this rank; `tensors`: rank 0's, which must outlive it.
  GridTensors(const ProcessGrid& grid, const Entries& all, const Entries& own,
              const std::vector<NamedTensor>* tensors)
      : entries_(own), tensors_(tensors) {
    if (grid.data().rank() > 0) return;
    if (grid.shape().pipeline > 1 && grid.tensor().rank() == 0) {
      const auto ordered = tensors_ ? in_order(all, *tensors_) : std::vector<NamedTensor>{};
      stage_ = distribute_tensors(grid.pipeline(), all, entries_of_stage(all, own),
                                  tensors_ ? &ordered : nullptr, storage_);
      tensors_ = &stage_;
    }
    if (grid.shape().tensor > 1) {
      rows_ = distribute_parts(grid.tensor(), own, tensors_, storage_);
      tensors_ = &rows_;
      entries_ = of_own_rows(own);
    }
  }
  GridTensors(const GridTensors&) = delete;
  GridTensors& operator=(const GridTensors&) = delete;

  /// Of the first rank of a data group; null on the others.
  const std::vector<NamedTensor>* tensors() const { return tensors_; }
  /// Theirs.
  const Entries& entries() const { return entries_; }

 private:
  Entries entries_;
  const std::vector<NamedTensor>* tensors_;
  TensorStorage storage_;
  std::vector<NamedTensor> stage_;
  std::vector<NamedTensor> rows_;
};

// Rank 0's `state`, which fits, to where each rank has it: one array after the other.
void put_on_grid(const ProcessGrid& grid, const CheckpointState* state, const ParameterTable& whole,
                 const ParameterTable& table, const TrainState& to) {
  const WholeArrays arrays(grid.data(), to.place);
  {
    const GridTensors model(grid, whole.entries(), table.entries(),
                            state ? &state->model : nullptr);
    arrays.put(model.entries(), model.tensors(), to.parameters);
  }
  const Entries all = trained_entries(whole.entries());
  const Entries own = trained_entries(table.entries());
  for (const StateArray& array : to.optimizer) {
    const GridTensors row(grid, all, own, state ? &row_of(*state, array).tensors : nullptr);
    if (to.place == StatePlace::owners)
      put_spread(grid.data(), row.entries(), table.trained_size(), row.tensors(), to, array);
    else
      arrays.put(row.entries(), row.tensors(), array.pieces.front());
  }
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
  const GridTensors part(grid, of_names(whole.entries(), names), of_names(table.entries(), names),
                         tensors);
  WholeArrays(grid.data(), to.place).put(part.entries(), part.tensors(), to.parameters);
}

}  // namespace quern
