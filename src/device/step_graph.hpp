// SPDX-License-Identifier: Apache-2.0
// Work that is the same every time, recorded once.
#pragma once

#include <functional>

#include "tensor/types.hpp"

namespace quern {

/// On a device the first call runs the work as it is (libraries make their workspaces then), the
/// second records it as a graph, and from then on one launch replays it: what the work read from
/// the host when it was recorded (extents, pointers, plain arguments) stays forever, so whatever
/// changes must lie in memory that the kernels read. Where kernels run on the host, every call just
/// does the work.
class StepGraph {
 public:
  StepGraph() = default;
  ~StepGraph();  // NOLINT(performance-trivially-destructible): on devices it is not
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// `enqueue` puts the same work on `exec` in every call, without allocating, waiting or looking
  /// at results. Queues that it forks from `exec` must be joined again. Error when the device
  /// refuses to record it.
  void run(const ExecSpace& exec, const std::function<void()>& enqueue);

  /// Should this process record its steps? Not if QUERN_GRAPH=0 asks for plain launches, nor under
  /// a profiler that wants to see every kernel, nor where kernels run on the host.
  static bool is_wanted();

 private:
  void record(const ExecSpace& exec, const std::function<void()>& enqueue);

  bool ran_once_ = false;
  void* recorded_ = nullptr;  // cudaGraphExec_t or hipGraphExec_t
};

}  // namespace quern
