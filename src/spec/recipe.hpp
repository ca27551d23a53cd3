// SPDX-License-Identifier: Apache-2.0
// A whole run as plain data: what a recipe file and --set say, with every default filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/network_spec.hpp"
#include "spec/training_spec.hpp"

namespace quern {

enum class DataSource {
  shards,   ///< HDF5 shards in the folders `train` and `test`
  random,   ///< generated samples, uniform in [0, 1), with random targets: the tutorials' toy data
  program,  ///< samples that a C++ program hands over (samples/own_samples.hpp)
};

enum class TargetType {
  label,   ///< the class of the sample (cross entropy)
  input,   ///< the input itself (auto-encoder)
  values,  ///< numbers that come with the sample
};

/// How the images of training batches are varied; nothing by default. See layers/window.hpp.
struct AugmentSpec {
  int crop = 0;       ///< pixels of zeros on every side, out of which a window is cut at random
  bool flip = false;  ///< left and right are exchanged in half of the samples
  bool is_active() const { return crop > 0 || flip; }
  friend bool operator==(const AugmentSpec&, const AugmentSpec&) = default;
};

enum class NormalizeType {
  none,
  dataset,  ///< by mean and deviation of the training data; `given` once they are known
  given,
};

/// (x - mean) / std of every channel: one number for each of them, or one for all.
struct NormalizeSpec {
  NormalizeType type = NormalizeType::none;
  std::vector<double> mean = {};  ///< given
  std::vector<double> std = {};   ///< given
  friend bool operator==(const NormalizeSpec&, const NormalizeSpec&) = default;
};

struct DataSpec {
  DataSource source = DataSource::shards;
  std::string train = {};
  std::string test = {};   ///< empty: no evaluation
  int global_batch = 0;    ///< samples per step over all ranks, or 0
  int batch_per_rank = 0;  ///< or this, times the number of ranks; exactly one of the two is set
  bool shuffle = true;
  std::int64_t memory = 0;  ///< bytes; a larger set is streamed; 0: held in memory, however large
  std::int64_t window = 0;  ///< samples that are shuffled among each other; 0: see window_samples()
  TargetType target = TargetType::label;
  NormalizeSpec normalize = {};          ///< of the inputs
  NormalizeSpec normalize_targets = {};  ///< of the values that the network is to put out
  AugmentSpec augment = {};
  std::int64_t samples = 0;  ///< random: how many
  friend bool operator==(const DataSpec&, const DataSpec&) = default;
};

enum class CommBackend { automatic, serial, mpi, nccl };

/// How a training is split, in a word that fills in other keys (strategy/recipe_grid.hpp).
enum class SplitStrategy {
  by_keys,   ///< as the other keys say
  single,    ///< not at all
  data,      ///< by samples
  sharded,   ///< and the optimizer's state over the ranks
  pipeline,  ///< the network into as many stages as there are ranks
  tensor,    ///< every layer into as many parts as there are ranks
};

/// In which order a stage computes the pieces of a batch (strategy/pipeline_order.hpp).
enum class PipelineSchedule { one_forward_one_backward, gpipe };

struct ParallelSpec {
  CommBackend backend = CommBackend::automatic;
  SplitStrategy strategy = SplitStrategy::by_keys;
  int tensor = 1;
  int tensor_slices = 0;              ///< 0: chosen (tensor_slices())
  int pipeline = 1;                   ///< stages
  std::vector<std::string> cut = {};  ///< where each but the first begins; empty: chosen
  PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
  int micro_batches = 1;
  bool shard_optimizer = false;
  bool balance = false;
  friend bool operator==(const ParallelSpec&, const ParallelSpec&) = default;
};

/// When checkpoints are written; 0 switches a clause off. The last step always writes one.
struct CheckpointSpec {
  int every_epochs = 1;
  int every_steps = 0;
  double every_seconds = 0;
  int keep = 3;            ///< how many are kept
  bool keep_best = false;  ///< and that of the best evaluation
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;
};

/// More samples per step than anyone needs; small enough that products with it fit into 64 bits.
inline constexpr int kMaxGlobalBatch = 1 << 24;

struct Recipe {
  std::string name = {};
  std::uint64_t seed = 0;
  DataSpec data = {};
  NetworkSpec network = {};
  LossSpec loss = {};
  OptimizerSpec optimizer = {};
  TrainSpec train = {};
  ParallelSpec parallel = {};
  CheckpointSpec checkpoint = {};

  /// Samples per step over all ranks; InputError above kMaxGlobalBatch.
  int global_batch(int num_ranks) const;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// The micro-block size in force: what the recipe says, or else the largest power of two not above
/// global_batch / 8 (with bf16 / 4), between 1 and 32, and where layers of images fill whole groups
/// of 16 samples between 16 and 32; never more than the batch.
int micro_block_size(const Recipe& recipe, int global_batch);

/// Into how many slices the units of a layer are cut, each rank of a tensor group with as many:
/// what the recipe says, or else none where one rank has the whole layer and no strategy asks for
/// parts, one a rank with fast sums, and otherwise 8, or the smallest number from 8 on that is a
/// power of two times parallel.tensor. 0: layers are whole.
int tensor_slices(const Recipe& recipe);

/// Why the ranks of a tensor group cannot have equal numbers of slices, a power of two each, and
/// what was expected; "" when they can, or where layers are whole.
std::string tensor_slices_problem(const Recipe& recipe);

}  // namespace quern
