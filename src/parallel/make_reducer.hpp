// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "parallel/shared_memory_reducer.hpp"

namespace quern {

/// Collective. The quickest reducer for these ranks: nothing to do for one, shared memory inside a
/// node that has room for it, messages otherwise.
std::unique_ptr<GradientReducer> make_reducer(Communicator& comm, std::int64_t num_floats,
                                              SumOrder order, std::int64_t num_sums = 0);

/// One that sends messages wherever the ranks are.
std::unique_ptr<GradientReducer> make_message_reducer(Communicator& comm, std::int64_t num_floats,
                                                      SumOrder order, std::int64_t num_sums = 0);

}  // namespace quern
