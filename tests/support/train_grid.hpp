// SPDX-License-Identifier: Apache-2.0
// A training on the ranks of a grid, and what it comes to.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/serial/communicator.hpp"
#include "inference/evaluator.hpp"
#include "state/restore.hpp"
#include "state/snapshot.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/training_step.hpp"

namespace quern::test {

/// In the order of a checkpoint: the model's, and those of the optimizer's state.
using NamedValues = std::vector<std::pair<std::string, std::vector<float>>>;

struct GridTraining {
  /// The grid is what `given` comes to on the ranks of `comm`.
  GridTraining(Communicator& comm, const Recipe& given, const Samples& all,
               const GridTransports& by = {})
      : recipe(with_strategy(given, comm.size())),
        samples(all),
        transports(by),
        grid(make_grid(comm, recipe)),
        model(recipe, stage_of(grid), slices_of(grid, recipe)),
        step(recipe, grid, model, samples, transports) {}

  /// The second epoch takes the same samples again.
  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (step.cursor() >= samples.count) step.set_position({.step = step.steps(), .epoch = 1});
      losses.push_back(step.run(ExecSpace(), false).loss);
    }
  }

  Evaluation evaluate() {
    Evaluator evaluator(grid, model, samples,
                        evaluation_batches(recipe, step.full_batch().samples(), samples.count,
                                           recipe.parallel.micro_batches),
                        transports);
    return evaluator.run(ExecSpace());
  }

  /// Whole tensors on rank 0; null elsewhere.
  std::unique_ptr<Snapshot> snapshot() {
    auto taken = std::make_unique<Snapshot>(grid, model.whole().table(), model.network().table(),
                                            step.state());
    return grid.world().rank() == 0 ? std::move(taken) : nullptr;
  }

  /// Everything that a checkpoint holds, on rank 0; empty elsewhere.
  NamedValues tensors() {
    const auto taken = snapshot();
    NamedValues all;
    if (!taken) return all;
    const auto keep = [&](const std::string& array, const std::vector<NamedTensor>& tensors) {
      for (const NamedTensor& tensor : tensors)
        all.emplace_back(array + tensor.name,
                         std::vector<float>(tensor.values.begin(), tensor.values.end()));
    };
    keep("", taken->state.model);
    for (const OptimizerTensors& array : taken->state.optimizer)
      keep(array.name + " ", array.tensors);
    return all;
  }

  /// Collective: goes on from what `taken` holds on rank 0 (null elsewhere).
  void continue_from(const Snapshot* taken) {
    restore(grid, taken ? &taken->state : nullptr, model.whole().table(), model.network().table(),
            step.state());
    step.publish_state();
  }

  Recipe recipe;
  const Samples& samples;
  GridTransports transports;
  ProcessGrid grid;
  Model model;
  TrainingStep step;
  std::vector<double> losses;
};

/// What a training has come to; tensors on rank 0 alone.
struct Trained {
  explicit Trained(GridTraining& training)
      : losses(training.losses), tensors(training.tensors()), test(training.evaluate()) {}

  std::vector<double> losses;
  NamedValues tensors;
  Evaluation test;
};

/// One rank, which has everything.
inline Trained train_alone(const Recipe& recipe, const Samples& samples, int steps) {
  SerialCommunicator serial;
  GridTraining alone(serial, recipe, samples);
  alone.train(steps);
  return Trained(alone);
}

/// Collective: the same bits.
inline void expect_same(GridTraining& split, const Trained& expected) {
  const Trained found(split);
  EXPECT_EQ(found.losses, expected.losses);
  if (split.grid.world().rank() == 0) {
    EXPECT_EQ(found.tensors, expected.tensors);
  }
  EXPECT_EQ(found.test.loss, expected.test.loss);
  EXPECT_EQ(found.test.correct, expected.test.correct);
}

}  // namespace quern::test
