// SPDX-License-Identifier: Apache-2.0
#include "parallel/tensor_group.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"

namespace quern {

namespace {

std::int64_t slice_of(std::int64_t floats, int ranks) {
  return round_up_to_lanes((floats + ranks - 1) / ranks);
}

std::span<float> host_span(const FloatView& view, std::int64_t count) {
  return {view.data(), static_cast<std::size_t>(count)};
}

TreeSumPlan plan_of(int ranks, std::int64_t slice_floats) {
  std::vector<std::int64_t> leaves;
  for (int rank = 0; rank < ranks; ++rank) leaves.push_back(rank * slice_floats);
  return make_tree_sum_plan(leaves, BlockTree(ranks).traverse_blocks(0, ranks));
}

}  // namespace

TensorGroup::TensorGroup(Communicator& comm, std::int64_t most_summed)
    : comm_(comm),
      slice_floats_(slice_of(most_summed, comm.size())),
      received_("quern::parallel::tensor_received",
                static_cast<std::size_t>(slice_floats_ * comm.size())),
      plan_(plan_of(comm.size(), slice_floats_)),
      counts_(static_cast<std::size_t>(comm.size())),
      send_to_(counts_.size()),
      receive_from_(counts_.size()) {
  expect(kHostExecution, "arrays that the host can read");
}

std::int64_t TensorGroup::bytes(int ranks, std::int64_t most_summed) {
  return slice_of(most_summed, ranks) * ranks * static_cast<std::int64_t>(sizeof(float));
}

void TensorGroup::gather(const ExecSpace& exec, const FloatView& all,
                         std::span<const std::int64_t> shares, std::int64_t share_floats) {
  expect(shares.size() == counts_.size(), "a share for each rank");
  std::int64_t begin = 0;
  std::int64_t total = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    counts_[r] = shares[r] * share_floats;
    if (r < static_cast<std::size_t>(comm_.rank())) begin += counts_[r];
    total += counts_[r];
  }
  exec.fence("quern::parallel::own_units_complete");
  const std::span<float> floats = host_span(all, total);
  const auto own = static_cast<std::size_t>(counts_[static_cast<std::size_t>(comm_.rank())]);
  comm_.all_gather_v(floats.subspan(static_cast<std::size_t>(begin), own), floats, counts_);
}

void TensorGroup::sum(const ExecSpace& exec, const FloatView& values) {
  const auto count = static_cast<std::int64_t>(values.extent(0));
  const std::int64_t slice = slice_of(count, comm_.size());
  expect(slice <= slice_floats_, "an array that was announced");
  const auto part = [&](int rank) {
    const std::int64_t begin = std::min(rank * slice, count);
    return Segment{begin, std::min(slice, count - begin)};
  };
  const Segment own = part(comm_.rank());
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    send_to_[r] = part(rank);
    counts_[r] = send_to_[r].count;
    receive_from_[r] = {rank * slice_floats_, own.count};
  }
  exec.fence("quern::parallel::own_slices_complete");
  const std::span<float> floats = host_span(values, count);
  comm_.all_to_all_v(floats, send_to_, host_span(received_, slice_floats_ * comm_.size()),
                     receive_from_);
  const FloatView sum = Kokkos::subview(values, std::pair(own.offset, own.offset + own.count));
  tree_sum(exec, plan_, received_, {}, sum, own.count);
  exec.fence("quern::parallel::slice_sum_complete");
  comm_.all_gather_v(host_span(sum, own.count), floats, counts_);
}

}  // namespace quern
