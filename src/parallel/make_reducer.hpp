// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/device_transport.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/owner_slices.hpp"

namespace quern {

/// Of the memory that ranks of a node share.
struct SharedNeeds {
  int partial_sums = 2;  ///< that a rank will hand over, at most
  int groups = 1;        ///< of ranks that need as much at the same time
  /// The ranks of all groups, which then share memory all or none; null: each decides by itself.
  Communicator* all_groups = nullptr;
};

/// Bytes of the memory that ranks of a node share which must be free for so many of them to add
/// `num_floats` floats, and keep their state, in it.
double wanted_shared_bytes(int ranks, std::int64_t num_floats, const SharedNeeds& needs);

/// Collective, over needs.all_groups too. The quickest reducer for these ranks: nothing to do for
/// one, `transport` where there is one (kernels on devices need it), shared memory inside a node
/// that has room for it, messages otherwise. `transport` must outlive the reducer.
std::unique_ptr<GradientReducer> make_reducer(Communicator& comm, DeviceTransport* transport,
                                              std::int64_t num_floats, SumOrder order,
                                              std::int64_t num_sums = 0,
                                              const Updaters& updaters = {},
                                              const SharedNeeds& needs = {});

/// One that sends messages wherever the ranks are.
std::unique_ptr<GradientReducer> make_message_reducer(Communicator& comm, std::int64_t num_floats,
                                                      SumOrder order, std::int64_t num_sums = 0,
                                                      const Updaters& updaters = {});

}  // namespace quern
