// SPDX-License-Identifier: Apache-2.0
#include "strategy/stage_sums.hpp"

#include <span>
#include <utility>

#include "loss/loss.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

StageSums::StageSums(const ProcessGrid& grid)
    : grid_(grid),
      all_("quern::strategy::stage_sums", Loss::kColumns + 1),
      host_(Kokkos::create_mirror_view(Kokkos::HostSpace(), all_)) {}

ReducedGradient StageSums::add(const ExecSpace& exec, ReducedGradient gradient) const {
  const GridShape& shape = grid_.shape();
  if (shape.pipeline == 1 && shape.tensor == 1) return gradient;
  const bool has_loss = grid_.place().pipeline + 1 == shape.pipeline;
  const FloatView all = all_;
  const ConstFloatView sums = gradient.sums;
  const ConstFloatView votes = gradient.votes;
  run_single_item(
      exec, "quern::strategy::stage_sums", KOKKOS_LAMBDA() {
        for (int i = 0; i < Loss::kColumns; ++i) all(i) = has_loss ? sums(i) : 0;
        all(Loss::kColumns) = votes(0);
      });
  Kokkos::deep_copy(exec, host_, all);
  exec.fence("quern::strategy::stage_sums");
  const std::span<float> all_floats(host_.data(), host_.extent(0));
  grid_.pipeline().all_reduce_sum(all_floats);
  grid_.tensor().all_reduce_sum(all_floats.last(1));  // whose ranks have the same loss
  Kokkos::deep_copy(exec, all, host_);
  gradient.sums = Kokkos::subview(all, std::pair(0, int{Loss::kColumns}));
  gradient.votes = Kokkos::subview(all, std::pair(int{Loss::kColumns}, Loss::kColumns + 1));
  return gradient;
}

}  // namespace quern
