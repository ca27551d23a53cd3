// SPDX-License-Identifier: Apache-2.0
#include "inference/row_answers.hpp"

#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

struct GatherLabels {
  View<const std::int64_t> place_of_row;
  View<const std::int32_t> labels;
  View<std::int32_t> label_of_row;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t place = place_of_row(row);
    label_of_row(row) = place < 0 ? -1 : labels(place);
  }
};

struct GatherTargets {
  View<const std::int64_t> place_of_row;
  ConstFloatView targets;
  std::int64_t units;
  FloatView targets_of_row;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t place = place_of_row(row);
    for (std::int64_t unit = 0; unit < units; ++unit)
      targets_of_row(row * units + unit) = place < 0 ? 0.0f : targets(place * units + unit);
  }
};

}  // namespace

std::vector<std::int32_t> labels_of_rows(const ExecSpace& exec, const Model& model,
                                         const Samples& samples, int rows) {
  const View<std::int32_t> label_of_row("quern::inference::label_of_row",
                                        static_cast<std::size_t>(rows));
  quern::parallel_for("quern::inference::gather_labels", RangePolicy(exec, 0, rows),
                      GatherLabels{model.place_of_row(samples), samples.labels, label_of_row});
  model.wait(exec);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), label_of_row);
  return {host.data(), host.data() + host.extent(0)};
}

std::vector<float> targets_of_rows(const ExecSpace& exec, const Model& model,
                                   const Samples& samples, int rows) {
  const std::int64_t units = samples.target_units();
  const FloatView targets_of_row("quern::inference::targets_of_row",
                                 static_cast<std::size_t>(rows * units));
  quern::parallel_for(
      "quern::inference::gather_targets", RangePolicy(exec, 0, rows),
      GatherTargets{model.place_of_row(samples), samples.targets, units, targets_of_row});
  model.wait(exec);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), targets_of_row);
  return {host.data(), host.data() + host.extent(0)};
}

}  // namespace quern
