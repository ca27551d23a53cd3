// SPDX-License-Identifier: Apache-2.0
// What a run is going to do, for people. (Apart from the command, because fmt and Kokkos do not
// mix.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/recipe.hpp"
#include "spec/training_spec.hpp"

namespace quern {

struct RunPlanInfo {
  /// One size of batch and its samples per rank.
  struct Batch {
    int samples = 0;
    int block_samples = 0;
    std::vector<int> samples_of_rank;
  };
  /// A stage of a network that is split.
  struct Stage {
    std::string first_layer;
    std::string last_layer;
    std::int64_t parameters = 0;
    double training_flop = 0;       ///< of one sample
    std::int64_t memory_bytes = 0;  ///< of a rank
    std::int64_t sent_bytes = 0;    ///< to its neighbours, by a rank in a step
  };
  /// How layers are cut (strategy/tensor_plan.hpp).
  struct Tensor {
    int slices = 0;  ///< of a layer; 0: none is cut
    int ranks = 1;   ///< that share them
    std::vector<std::string> split;
    std::vector<std::string> whole;
    std::int64_t parameters = 0;  ///< on rank 0
    std::int64_t sent_bytes = 0;  ///< by a rank in a step
  };
  int ranks = 1;
  int threads = 1;     ///< per rank
  std::string device;  ///< what runs the kernels: "OpenMP", "NVIDIA H200"
  std::int64_t samples = 0;
  std::int64_t data_bytes = 0;  ///< per node; streamed: of the ranks together
  bool is_streamed = false;
  std::int64_t windows = 1;         ///< of an epoch, within which it is shuffled
  std::int64_t window_samples = 0;  ///< at most
  std::int64_t memory_bytes = 0;    ///< activations, parameters, gradients, optimizer; per rank
  std::int64_t copy_bytes = 0;      ///< of rank 0, to write checkpoints from
  /// Of ranks that hand it parts of a split network, at most; 0 where there are none.
  std::int64_t collected_bytes = 0;
  std::int64_t sent_bytes = 0;       ///< by the rank that sends most, in a step
  int segments = 1;                  ///< of the network (train.recompute)
  std::int64_t optimizer_bytes = 0;  ///< of memory_bytes
  bool spreads_state = false;  ///< each rank has the optimizer state of its own parameters alone
  bool shares_state = false;   ///< the ranks of the node have it once
  std::int64_t parameters = 0;
  std::int64_t trained = 0;  ///< of these
  double training_flop = 0;  ///< of one sample, forward and backward
  int epochs = 0;
  std::int64_t steps_per_epoch = 0;
  Determinism determinism = Determinism::rank_invariant;
  std::string reduction;       ///< how the ranks' gradients are added
  bool is_recorded = false;    ///< the step is a graph that is replayed
  std::vector<Stage> stages;   ///< more than one, or none
  std::string schedule;        ///< of the stages
  double bubble = 0;           ///< of a step's time, what a stage waits if all take equally long
  std::vector<Batch> batches;  ///< full, last
  int pieces = 1;              ///< of a full batch's largest share
  int piece_samples = 0;       ///< at most
  Tensor tensor;
};

/// The table of --dry-run.
std::string run_plan_text(const RunPlanInfo& info);

/// One line for the start of a run.
std::string summary_text(const Recipe& recipe, const RunPlanInfo& info);

/// What to warn of where ranks share layers, but none can be cut; else empty.
std::string tensor_warning(const RunPlanInfo::Tensor& tensor);

}  // namespace quern
