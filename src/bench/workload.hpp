// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/devices.hpp"
#include "strategy/training_step.hpp"
#include "tensor/operand_precision.hpp"

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

  /// bf16 or bf16_pairs where its products are of tiles (linalg/host/bf16_tiles.hpp).
  std::optional<OperandPrecision> tiles() const;

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
