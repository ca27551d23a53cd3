// SPDX-License-Identifier: Apache-2.0
// Arrays of optimizer state of which every rank has its own ranges (StatePlace::owners).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

using HostFloats = Kokkos::View<float*, Kokkos::HostSpace>;

/// 64 MiB: rank 0 shall not hold an array twice.
inline constexpr std::int64_t kCollectedAtOnce = std::int64_t{1} << 24;

/// Collective. The whole array of `size` floats on rank 0, nothing on the others. `owners`: the
/// ranges of every rank; `pieces`: this rank's floats, a View for each of its ranges. Rank 0
/// receives at most floats_at_once at a time, or one of each rank.
HostFloats collect_array(Communicator& comm, const std::vector<std::vector<BlockRange>>& owners,
                         const std::vector<FloatView>& pieces, std::int64_t size,
                         std::int64_t floats_at_once = kCollectedAtOnce);

/// Collective. The way back: rank 0's `whole` array (ignored on the others) into the pieces of all
/// ranks. `buffer`, of any size but the same on all ranks, is what goes at a time.
void distribute_array(Communicator& comm, const std::vector<std::vector<BlockRange>>& owners,
                      std::span<const float> whole, std::int64_t size,
                      const std::vector<FloatView>& pieces, std::span<float> buffer);

}  // namespace quern
