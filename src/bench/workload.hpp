// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/devices.hpp"
#include "strategy/training_step.hpp"

namespace quern {

/// A recipe ready to be trained on synthetic data, as a benchmark needs it.
struct BenchWorkload {
  /// Collective; AgreedError (exit 2) as `quern train` would give.
  BenchWorkload(Communicator& comm, const std::string& file,
                const std::vector<std::string>& overrides);
  /// Collective over the grid's ranks: of a recipe that is read already, after with_strategy().
  BenchWorkload(const Recipe& recipe, const ProcessGrid& grid);
  BenchWorkload(const BenchWorkload&) = delete;
  BenchWorkload& operator=(const BenchWorkload&) = delete;

  /// Trains `steps` steps on full batches and waits for the last.
  void run_steps(const ExecSpace& exec, int steps);

  /// Are its products those of tiles of bf16 (linalg/host/bf16_tiles.hpp)?
  bool multiplies_tiles() const;

  Recipe recipe;
  ProcessGrid grid;
  Model model;
  Samples samples;
  GridConnections connections;
  TrainingStep step;

 private:
  BenchWorkload(Communicator& comm, const Recipe& recipe);

  std::int64_t steps_done_ = 0;
};

}  // namespace quern
