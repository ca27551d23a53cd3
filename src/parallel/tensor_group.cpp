// SPDX-License-Identifier: Apache-2.0
#include "parallel/tensor_group.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "parallel/device_stream.hpp"
#include "tensor/float_span.hpp"

namespace quern {

namespace {

std::int64_t slice_of(std::int64_t floats, int ranks) {
  return round_up_to_lanes(ceil_div(floats, ranks));
}

// The own slice is added where it lies.
TreeSumPlan plan_of(const DeviceTransport& transport, std::int64_t slice_floats) {
  const int ranks = transport.size();
  std::vector<std::int64_t> leaves;
  for (int rank = 0; rank < ranks; ++rank)
    leaves.push_back(rank == transport.rank() ? ~std::int64_t{0} : rank * slice_floats);
  return make_tree_sum_plan(leaves, BlockTree(ranks).traverse_blocks(0, ranks));
}

}  // namespace

TensorGroup::TensorGroup(DeviceTransport& transport, std::int64_t most_summed)
    : transport_(transport),
      slice_floats_(slice_of(most_summed, transport.size())),
      received_("quern::parallel::tensor_received",
                static_cast<std::size_t>(slice_floats_ * transport.size())),
      plan_(plan_of(transport, slice_floats_)),
      counts_(static_cast<std::size_t>(transport.size())),
      send_to_(counts_.size()),
      receive_from_(counts_.size()) {}

std::int64_t TensorGroup::bytes(int ranks, std::int64_t most_summed) {
  return slice_of(most_summed, ranks) * ranks * static_cast<std::int64_t>(sizeof(float));
}

void TensorGroup::gather(const ExecSpace& exec, const FloatView& all,
                         std::span<const std::int64_t> shares, std::int64_t share_floats) {
  expect(shares.size() == counts_.size(), "a share for each rank");
  std::int64_t total = 0;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    counts_[r] = shares[r] * share_floats;
    total += counts_[r];
  }
  transport_.all_gather_v(float_span(all, 0, total), counts_, stream_of(exec));
}

void TensorGroup::sum(const ExecSpace& exec, const FloatView& values) {
  const auto count = static_cast<std::int64_t>(values.extent(0));
  const std::int64_t slice = slice_of(count, transport_.size());
  expect(slice <= slice_floats_, "an array that was announced");
  const auto part = [&](int rank) {
    const std::int64_t begin = std::min(rank * slice, count);
    return Segment{begin, std::min(slice, count - begin)};
  };
  const int me = transport_.rank();
  const Segment own = part(me);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Segment theirs = part(rank);
    counts_[r] = theirs.count;
    send_to_[r] = {theirs.offset, rank == me ? 0 : theirs.count};
    receive_from_[r] = {rank * slice_floats_, rank == me ? 0 : own.count};
  }
  const std::span<float> floats = float_span(values, 0, count);
  transport_.all_to_all_v(floats, send_to_,
                          float_span(received_, 0, slice_floats_ * transport_.size()),
                          receive_from_, stream_of(exec));
  const FloatView sum = Kokkos::subview(values, std::pair(own.offset, own.offset + own.count));
  tree_sum(exec, plan_, received_, sum, sum, own.count);
  transport_.all_gather_v(floats, counts_, stream_of(exec));
}

}  // namespace quern
