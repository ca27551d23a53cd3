// SPDX-License-Identifier: Apache-2.0
#include "parallel/gathered_sums.hpp"

#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

// Overwrites section[0, num_partial_sums * num_sums) with the sums of each partial sum, and its
// last float with the vote.
void pack_sums(const ExecSpace& exec, const GradientSums& partial_sums, std::int64_t num_gradient,
               std::int64_t num_sums, int num_partial_sums, const FloatView& section) {
  const std::int64_t count = num_partial_sums * num_sums;
  const std::int64_t last = section.extent_int(0) - 1;
  Kokkos::parallel_for(
      "quern::parallel::pack_sums", RangePolicy(exec, 0, count + 1), KOKKOS_LAMBDA(std::int64_t i) {
        if (i == count) {
          section(last) = partial_sums.data(num_gradient + num_sums);
        } else {
          section(i) =
              partial_sums.data(i / num_sums * partial_sums.stride + num_gradient + i % num_sums);
        }
      });
}

// Overwrites sums[num_sums] with the votes of all sections.
void add_votes(const ExecSpace& exec, const FloatView& gathered, std::int64_t section,
               const FloatView& sums) {
  run_single_item(
      exec, "quern::parallel::add_votes", KOKKOS_LAMBDA() {
        float votes = 0;
        const auto size = static_cast<std::int64_t>(gathered.extent(0));
        for (std::int64_t i = section - 1; i < size; i += section) votes += gathered(i);
        sums(sums.extent(0) - 1) = votes;
      });
}

}  // namespace

GatheredSums::GatheredSums(std::int64_t num_gradient, std::int64_t num_sums, int rank,
                           int num_ranks)
    : num_gradient_(num_gradient), num_sums_(num_sums), rank_(rank), num_ranks_(num_ranks) {}

void GatheredSums::allocate(const std::vector<BatchPartition>& partitions, int max_partial_sums) {
  section_ = max_partial_sums * num_sums_ + 1;
  for (const BatchPartition& partition : partitions) {
    plans_.push_back(make_tree_sum_plan(
        SumOrder::tree, partition,
        [&](int rank, std::int64_t partial) { return rank * section_ + partial * num_sums_; }));
  }
  gathered_ =
      FloatView("quern::parallel::gathered_sums", static_cast<std::size_t>(num_ranks_ * section_));
  sums_ = FloatView("quern::parallel::sums", static_cast<std::size_t>(num_sums_ + 1));
}

void GatheredSums::pack(const ExecSpace& exec, const GradientSums& partial_sums,
                        int num_partial_sums) const {
  const std::int64_t begin = rank_ * section_;
  pack_sums(exec, partial_sums, num_gradient_, num_sums_, num_partial_sums,
            Kokkos::subview(gathered_, std::pair(begin, begin + section_)));
}

void GatheredSums::add(const ExecSpace& exec, std::size_t plan) const {
  tree_sum(exec, plans_.at(plan), gathered_, gathered_, sums_, num_sums_);
  add_votes(exec, gathered_, section_, sums_);
}

}  // namespace quern
