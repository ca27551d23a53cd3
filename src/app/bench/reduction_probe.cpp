// SPDX-License-Identifier: Apache-2.0
#include "app/bench/reduction_probe.hpp"

#include "parallel/make_reducer.hpp"

namespace quern {

ReductionProbe::ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                               const BatchPartition& partition)
    : reducer_(make_reducer(comm, nullptr, num_floats,
                            mode == Determinism::fast ? SumOrder::ranks : SumOrder::tree)) {
  num_partials_ = reducer_->num_partials(partition, comm.rank());
  plan_ = reducer_->add_plan(partition);
  reducer_->allocate();
}

}  // namespace quern
