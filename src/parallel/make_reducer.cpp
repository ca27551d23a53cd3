// SPDX-License-Identifier: Apache-2.0
#include "parallel/make_reducer.hpp"

#include "parallel/plain_reducer.hpp"
#include "parallel/tree_reducer.hpp"

namespace quern {

std::unique_ptr<GradientReducer> make_reducer(Communicator& comm, std::int64_t num_floats,
                                              SumOrder order, std::int64_t num_sums) {
  if (comm.size() > 1 && SharedMemoryReducer::is_possible(comm)) {
    return std::make_unique<SharedMemoryReducer>(comm, num_floats, order, num_sums);
  }
  return make_message_reducer(comm, num_floats, order, num_sums);
}

std::unique_ptr<GradientReducer> make_message_reducer(Communicator& comm, std::int64_t num_floats,
                                                      SumOrder order, std::int64_t num_sums) {
  if (order == SumOrder::ranks) return std::make_unique<PlainReducer>(comm, num_floats, num_sums);
  return std::make_unique<TreeReducer>(comm, num_floats, num_sums);
}

}  // namespace quern
