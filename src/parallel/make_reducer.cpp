// SPDX-License-Identifier: Apache-2.0
#include "parallel/make_reducer.hpp"

#include "comm/exchange.hpp"
#include "comm/node_shared.hpp"
#include "parallel/bucket_reducer.hpp"
#include "parallel/plain_reducer.hpp"
#include "parallel/shared_memory_reducer.hpp"
#include "parallel/tree_reducer.hpp"

namespace quern {

namespace {

bool has_room(Communicator& comm, std::int64_t num_floats, const SharedNeeds& needs) {
  const double room = broadcast_value(comm, static_cast<double>(free_shared_memory_bytes()));
  return room >= wanted_shared_bytes(comm.size(), num_floats, needs);
}

bool shares_memory(Communicator& comm, std::int64_t num_floats, const SharedNeeds& needs) {
  const bool can_share = comm.size() > 1 && SharedMemoryReducer::is_possible(comm) &&
                         has_room(comm, num_floats, needs);
  return needs.all_groups ? is_so_everywhere(*needs.all_groups, can_share) : can_share;
}

}  // namespace

// Every rank's partial sums, the total, the parameters and two arrays of optimizer state, and as
// much again for others. A guess on the safe side: messages only cost time.
double wanted_shared_bytes(int ranks, std::int64_t num_floats, const SharedNeeds& needs) {
  const double arrays =
      2.0 * needs.groups * (static_cast<double>(needs.partial_sums) * ranks + 4.0);
  return arrays * sizeof(float) * static_cast<double>(num_floats);
}

std::unique_ptr<GradientReducer> make_reducer(Communicator& comm, DeviceTransport* transport,
                                              std::int64_t num_floats, SumOrder order,
                                              std::int64_t num_sums, const Updaters& updaters,
                                              const SharedNeeds& needs) {
  if (comm.size() > 1 && transport) {
    return std::make_unique<BucketReducer>(comm, *transport, num_floats, order, num_sums,
                                           BucketReducer::kBucketFloats, updaters);
  }
  if (shares_memory(comm, num_floats, needs)) {
    return std::make_unique<SharedMemoryReducer>(comm, num_floats, order, num_sums);
  }
  return make_message_reducer(comm, num_floats, order, num_sums, updaters);
}

std::unique_ptr<GradientReducer> make_message_reducer(Communicator& comm, std::int64_t num_floats,
                                                      SumOrder order, std::int64_t num_sums,
                                                      const Updaters& updaters) {
  if (order == SumOrder::ranks)
    return std::make_unique<PlainReducer>(comm, num_floats, num_sums, updaters);
  return std::make_unique<TreeReducer>(comm, num_floats, num_sums, updaters);
}

}  // namespace quern
