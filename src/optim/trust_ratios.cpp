// SPDX-License-Identifier: Apache-2.0
#include "optim/trust_ratios.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "tensor/host_values.hpp"

namespace quern {

namespace {

/// Those of the trained block. No chunk has floats of two tensors.
std::vector<BlockRange> chunks_of_tensors(const ParameterTable& table) {
  std::vector<BlockRange> chunks;
  for_each_trained(table, [&](const ParameterEntry&, const BlockRange& range) {
    for (const BlockRange& chunk : cut_into_chunks(range)) chunks.push_back(chunk);
  });
  return chunks;
}

std::vector<std::vector<SpreadRange>> everything(const ParameterTable& table) {
  return {{{{0, table.trained_size()}, 0}}};
}

}  // namespace

bool TrustRatios::are_needed(const OptimizerSpec& spec) {
  return spec.type == OptimizerType::lars || spec.type == OptimizerType::lamb;
}

TrustRatios::TrustRatios(const OptimizerSpec& spec, const ParameterTable& table)
    : TrustRatios(spec, table, everything(table), 0) {}

TrustRatios::TrustRatios(const OptimizerSpec& spec, const ParameterTable& whole,
                         const std::vector<std::vector<SpreadRange>>& ranges, int rank)
    : coefficient_(spec.type == OptimizerType::lars ? spec.trust_coefficient : 1),
      decay_(spec.type == OptimizerType::lars ? spec.weight_decay : 0),
      scales_(spec.type == OptimizerType::lars),
      squares_(chunks_of_tensors(whole), 2, ranges, rank) {
  number_weights(whole);
}

// Slices of one tensor are entries of their own, with others between them.
void TrustRatios::number_weights(const ParameterTable& whole) {
  std::map<int, std::map<std::int64_t, std::vector<int>>> chunks_of_slices;
  int chunk = 0;
  for_each_trained(whole, [&](const ParameterEntry& entry, const BlockRange& range) {
    const auto count = static_cast<int>(cut_into_chunks(range).size());
    if (entry.kind == ParameterKind::weight) {
      std::vector<int>& chunks = chunks_of_slices[entry.number][entry.first_row];
      for (int i = 0; i < count; ++i) chunks.push_back(chunk + i);
    }
    chunk += count;
  });
  std::vector<int> chunks;
  std::vector<int> first = {0, 0};
  for (const auto& [number, slices] : chunks_of_slices) {
    place_of_number_[number] = static_cast<int>(first.size()) - 1;
    for (const auto& [row, of_slice] : slices)
      chunks.insert(chunks.end(), of_slice.begin(), of_slice.end());
    first.push_back(static_cast<int>(chunks.size()));
  }
  chunks_ = copy_to_kernels("quern::optim::chunks_of_tensors", std::span<const int>(chunks));
  first_ = copy_to_kernels("quern::optim::first_chunks", std::span<const int>(first));
  ratios_ = View<float>("quern::optim::ratios", first.size() - 1);
  const Kokkos::View<float*, Kokkos::HostSpace> ones("quern::optim::ones", ratios_.extent(0));
  std::fill_n(ones.data(), ones.extent(0), 1.0f);
  Kokkos::deep_copy(ratios_, ones);
}

TrustedPart TrustRatios::part(const ParameterTable& own, std::int64_t begin,
                              std::int64_t end) const {
  const auto group_of = [&](std::int64_t place) {
    return static_cast<std::size_t>(std::min(place, own.trained_size()) / kLanes);
  };
  std::vector<int> tensors(group_of(own.trained_size()));
  for_each_trained(own, [&](const ParameterEntry& entry, const BlockRange& range) {
    if (entry.kind != ParameterKind::weight) return;
    std::fill(tensors.begin() + static_cast<std::ptrdiff_t>(group_of(range.begin)),
              tensors.begin() + static_cast<std::ptrdiff_t>(group_of(range.end)),
              place_of_number_.at(entry.number));
  });
  const std::span<const int> all(tensors);
  return {copy_to_kernels("quern::optim::tensor_of_group",
                          all.subspan(group_of(begin), group_of(end) - group_of(begin))),
          ratios_};
}

void TrustRatios::combine(const ExecSpace& exec, const StepScalarsView& scalars,
                          const AllGather& all_gather) const {
  squares_.gather(all_gather);
  const ChunkSums sums = squares_.sums();
  const View<const int> chunks = chunks_;
  const View<const int> first = first_;
  const View<float> ratios = ratios_;
  const double coefficient = coefficient_;
  const double decay = decay_;
  const bool scales = scales_;
  constexpr double kMost = Kokkos::Experimental::finite_max_v<float>;
  Kokkos::parallel_for(
      "quern::optim::trust_ratios", RangePolicy(exec, 1, ratios.extent_int(0)),
      KOKKOS_LAMBDA(std::int64_t tensor) {
        double squares[2] = {};
        for (int c = first(tensor); c < first(tensor + 1); ++c)
          for (int array = 0; array < 2; ++array) squares[array] += sums.of(chunks(c), array);
        const double weights = Kokkos::sqrt(squares[0]);
        const double scale = scales ? scalars().gradient_scale : 1;
        const double divisor = scale * Kokkos::sqrt(squares[1]) + decay * weights;
        const double ratio = weights > 0 && divisor > 0 ? coefficient * weights / divisor : 1;
        ratios(tensor) = static_cast<float>(ratio < kMost ? ratio : kMost);
      });
}

}  // namespace quern
