// SPDX-License-Identifier: Apache-2.0
#include "parallel/owner_slices.hpp"

namespace quern {

OwnerSlices::OwnerSlices(Communicator& comm, std::int64_t num_floats, std::int64_t unit)
    : comm_(comm), slices_(num_floats, comm.size(), unit) {
  for (int rank = 0; rank < comm.size(); ++rank) counts_.push_back(slices_.count(rank));
}

std::vector<BlockRange> OwnerSlices::ranges_of(int rank) const {
  if (slices_.count(rank) == 0) return {};
  return {{slices_.begin(rank), slices_.end(rank)}};
}

void OwnerSlices::gather(std::span<float> block) const {
  const int own = comm_.rank();
  comm_.all_gather_v(block.subspan(static_cast<std::size_t>(slices_.begin(own)),
                                   static_cast<std::size_t>(slices_.count(own))),
                     block.first(static_cast<std::size_t>(slices_.num_floats())), counts_);
}

std::optional<OwnerSlices> make_owners(Communicator& comm, std::int64_t num_floats,
                                       const Updaters& updaters) {
  if (!updaters.are_owners || comm.size() == 1) return std::nullopt;
  return OwnerSlices(comm, num_floats, updaters.unit);
}

}  // namespace quern
