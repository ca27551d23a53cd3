// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "comm/serial/communicator.hpp"

namespace quern {

/// Collective: the recipe in `file` with a batch of `batch` samples in micro-blocks of at most
/// `micro_block`. `ranks`: that its parallel.strategy is to be taken for. AgreedError (exit 2).
Recipe recipe_of_batch(Communicator& comm, const std::string& file,
                       const std::vector<std::string>& overrides, int ranks, int micro_block,
                       int batch);

/// Steps of a rank that sends nothing and waits for nobody.
class LoneStep {
 public:
  /// `recipe`: its network is not split, and its batch is the rank's.
  explicit LoneStep(const Recipe& recipe) : workload_(recipe, ProcessGrid(alone_)) {}

  void run(const ExecSpace& exec, int steps) { workload_.run_steps(exec, steps); }

 private:
  SerialCommunicator alone_;
  BenchWorkload workload_;
};

}  // namespace quern
