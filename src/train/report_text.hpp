// SPDX-License-Identifier: Apache-2.0
// Sentences about a run, for people. (Apart from the trainer, because fmt and Kokkos do not mix.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/best_evaluation.hpp"
#include "spec/recipe.hpp"
#include "train/metrics_line.hpp"

namespace quern {

/// "epoch 2/10  loss 0.3971  accuracy 85.32 %  3.2 s  18750 samples/s"
std::string epoch_text(std::int64_t epoch, std::int64_t epochs, double loss,
                       std::optional<double> accuracy, double seconds, double samples_per_s);

/// "           test loss 0.4410  accuracy 84.10 %  (10000 samples)"; of targets
/// "           test loss 0.0102  rmse 0.1010  r2 0.9898  (1000 samples)"
std::string evaluation_text(const MetricsLine& line);

/// "           no lower test loss for 3 epochs (train.patience): the training ends"
std::string patience_text(Monitor monitor, int patience);

/// "           no lower test loss for 3 epochs: the learning rate falls from 0.1 to 0.01"
std::string plateau_text(Monitor monitor, int patience, double before, double after);

/// "           best: epoch 7, test loss 0.3112 ('FILE')"
std::string best_text(const BestEvaluation& best, const std::string& file);

/// "the best evaluation, of epoch 3, ..."
std::string missing_best_text(const BestEvaluation& best);

/// "to write the checkpoint of step 100 took 12.3 s, ..."; "" where that is short, or a small share
/// of these seconds and those `between` it and the one before.
std::string long_checkpoint_text(const CheckpointSpec& when, std::int64_t step, double seconds,
                                 double between);

/// "epoch 2/10  loss 0.3971  18750 samples/s"
std::string bar_text(std::int64_t epoch, std::int64_t epochs, double loss,
                     std::optional<double> samples_per_s = {});

/// "  rank 0: sum of batch losses 71.62" per rank, a line each.
std::string rank_losses_text(const std::vector<double>& losses, bool of_whole_epoch = true);

/// "diverged at step 12 ..."; `layer` may be empty, and so may `place`, which says of a network
/// that is split where the layer is. `large_input`: the largest, where inputs are large and not
/// normalized; else 0.
std::string divergence_text(std::int64_t step, std::int64_t epoch, double loss,
                            const std::string& layer, const std::string& place,
                            std::int64_t last_checkpoint, double large_input = 0);

/// "inputs reach 9732 in size ..."
std::string large_input_text(double large_input);

/// "training diverged by step 12: weights or optimizer state ..."
std::string bad_weights_text(std::int64_t step, std::int64_t last_checkpoint);

/// "rank 1 on HOST: 'FILE': ...; stopped at step 12 ..."; `problem`: with the file's name.
std::string bad_samples_text(const std::string& problem, std::int64_t step,
                             const std::string& resuming_command);

}  // namespace quern
