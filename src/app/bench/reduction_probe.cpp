// SPDX-License-Identifier: Apache-2.0
#include "app/bench/reduction_probe.hpp"

#include "parallel/make_reducer.hpp"
#include "runtime/devices.hpp"

namespace quern {

ReductionProbe::ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                               const BatchPartition& partition)
    : transport_(connect_devices(comm, CommBackend::automatic)),
      reducer_(make_reducer(comm, transport_.get(), num_floats,
                            mode == Determinism::fast ? SumOrder::ranks : SumOrder::tree)) {
  num_partials_ = reducer_->num_partials(partition, comm.rank());
  plan_ = reducer_->add_plan(partition);
  reducer_->allocate();
}

void ReductionProbe::reduce() {
  reducer_->reduce(exec_, plan_);
  if constexpr (!kHostExecution) exec_.fence("quern::app::reduction_probe");
}

}  // namespace quern
