// SPDX-License-Identifier: Apache-2.0
#include "state/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "state/spread_array.hpp"
#include "state/tensor_parts.hpp"

namespace quern {

std::int64_t snapshot_bytes(const ParameterTable& table, int state_arrays) {
  std::int64_t floats = 0;
  for (const ParameterEntry& entry : table.entries())
    floats += entry.count * (entry.is_trained() ? 1 + state_arrays : 1);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

namespace {

using ArrayEntries = std::vector<ParameterEntry>;

/// The floats of each entry, copied out of a block, which stands on the host.
std::vector<std::vector<float>> read_tensors(const ArrayEntries& entries,
                                             std::span<const float> block) {
  std::vector<std::vector<float>> tensors;
  for (const ParameterEntry& entry : entries) tensors.push_back(read_tensor(entry, block));
  return tensors;
}

/// How one array gets to rank 0, of ranks that stand for their data group. There they are whole, in
/// the order of the network; on the others nothing is left.
std::vector<NamedTensor> collect(const ProcessGrid& grid, const ArrayEntries& whole,
                                 const ArrayEntries& entries, std::vector<std::vector<float>> parts,
                                 TensorStorage& values) {
  TensorStorage storage;
  std::vector<NamedTensor> tensors;
  if (grid.shape().tensor > 1 || std::ranges::any_of(entries, &ParameterEntry::is_part)) {
    tensors = join_parts(grid.tensor(), entries, std::move(parts), storage);
  } else {
    for (std::size_t i = 0; i < entries.size(); ++i)
      tensors.push_back(
          {entries[i].name, entries[i].shape, storage.emplace_back(std::move(parts[i]))});
  }
  if (grid.shape().pipeline > 1 && grid.tensor().rank() == 0)
    collect_tensors(grid.pipeline(), whole, tensors, storage);
  if (grid.world().rank() != 0) return {};
  values.splice(values.end(), storage);
  return tensors;
}

}  // namespace

Snapshot::Snapshot(const ProcessGrid& grid, const ParameterTable& whole,
                   const ParameterTable& table, const TrainState& train_state) {
  const bool is_spread = train_state.place == StatePlace::owners;
  const bool stands_for_group = grid.data().rank() == 0;
  const auto collect_view = [&](const ArrayEntries& all, const ArrayEntries& own,
                                const auto& view) {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
    return collect(grid, all, own, read_tensors(own, {host.data(), host.size()}), values_);
  };
  if (stands_for_group)
    state.model = collect_view(whole.entries(), table.entries(), train_state.parameters);
  const ArrayEntries all = trained_entries(whole.entries());
  const ArrayEntries own = trained_entries(table.entries());
  for (const StateArray& array : train_state.optimizer) {
    std::vector<NamedTensor> tensors;
    if (is_spread) {
      const HostFloats floats =
          collect_array(grid.data(), train_state.owners, array.pieces, table.trained_size());
      if (stands_for_group) tensors = collect_view(all, own, floats);
    } else if (stands_for_group) {
      tensors = collect_view(all, own, array.pieces.front());
    }
    if (grid.world().rank() == 0) state.optimizer.push_back({array.name, std::move(tensors)});
  }
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
