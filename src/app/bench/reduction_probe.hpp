// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "app/bench/spread.hpp"
#include "comm/device_transport.hpp"
#include "parallel/gradient_reducer.hpp"
#include "spec/training_spec.hpp"

namespace quern {

/// A gradient reduction of one size to be timed, in one mode of determinism.
class ReductionProbe {
 public:
  /// Collective. Reduced as in training: through shared memory inside a node, between devices. A
  /// gradient of `num_floats` (>= 1) floats, zeros: adding does not take longer for other numbers.
  ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                 const BatchPartition& partition);

  /// Partials that this rank hands over.
  int num_partials() const { return num_partials_; }
  /// Collective.
  void reduce();

  std::vector<double> times_s;  ///< one value a round

 private:
  ExecSpace exec_;
  std::unique_ptr<DeviceTransport> transport_;
  std::unique_ptr<GradientReducer> reducer_;
  ReductionPlan plan_{};
  int num_partials_ = 0;
};

}  // namespace quern
