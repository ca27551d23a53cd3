// SPDX-License-Identifier: Apache-2.0
#include "train/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "train/spread_array.hpp"
#include "train/stage_tensors.hpp"
#include "train/tensor_parts.hpp"

namespace quern {

std::int64_t snapshot_bytes(const ParameterTable& table, int state_arrays) {
  std::int64_t floats = 0;
  for (const ParameterEntry& entry : table.entries())
    floats += entry.count * (entry.is_trained() ? 1 + state_arrays : 1);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

Snapshot::Snapshot(const ParameterTable& table, const FloatView& parameters) {
  state.model = copy_tensors(table.entries(), parameters);
}

Snapshot::Snapshot(Communicator& comm, const ParameterTable& table, const TrainState& train_state) {
  const bool is_spread = train_state.place == StatePlace::owners;
  const bool is_empty = is_spread && comm.rank() != 0;
  if (!is_empty) state.model = copy_tensors(table.entries(), train_state.parameters);
  const std::vector<ParameterEntry> trained = trained_entries(table.entries());
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
std::vector<NamedTensor> Snapshot::copy_tensors(const std::vector<ParameterEntry>& entries,
                                                const V& view) {
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
  const std::vector<ParameterEntry> trained = trained_entries(whole.entries());
  for (OptimizerTensors& array : state.optimizer)
    collect_tensors(grid.pipeline(), trained, array.tensors, values_);
}

void Snapshot::join_parts(Communicator& group, const ParameterTable& table) {
  if (std::ranges::none_of(table.entries(), &ParameterEntry::is_part) && group.rank() == 0) return;
  // In the order in which they were copied.
  TensorStorage copies;
  copies.swap(values_);
  const auto join = [&](const std::vector<ParameterEntry>& entries) {
    std::vector<std::vector<float>> parts;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      parts.push_back(std::move(copies.front()));
      copies.pop_front();
    }
    return quern::join_parts(group, entries, std::move(parts), values_);
  };
  state.model = join(table.entries());
  const std::vector<ParameterEntry> trained = trained_entries(table.entries());
  for (OptimizerTensors& array : state.optimizer) array.tensors = join(trained);
}

bool Snapshot::is_finite() const {
  for (const std::vector<float>& tensor : values_) {
    for (const float value : tensor) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

}  // namespace quern
