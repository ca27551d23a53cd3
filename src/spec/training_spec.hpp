// SPDX-License-Identifier: Apache-2.0
// Loss, optimizer and training settings, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quern {

enum class LossType {
  cross_entropy,
  mse,
  l1,
  huber,
  binary_cross_entropy,
  custom,  ///< of a C++ program (loss/custom_loss.hpp)
};

/// The recipe's word.
const char* to_string(LossType type);

/// May such a loss have answers that are right or wrong? One of a program says by itself.
bool may_have_accuracy(LossType loss);

enum class ClassWeightsType {
  none,
  balanced,  ///< by how many training samples each class has; `given` once that is known
  given,
};

/// How much the samples of a class count.
struct ClassWeightsSpec {
  ClassWeightsType type = ClassWeightsType::none;
  std::vector<double> values = {};  ///< given: one for each class
  friend bool operator==(const ClassWeightsSpec&, const ClassWeightsSpec&) = default;
};

struct LossSpec {
  LossType type = LossType::cross_entropy;
  double label_smoothing = 0;  ///< cross_entropy: share of the target that all classes get alike
  ClassWeightsSpec class_weights = {};  ///< cross_entropy
  double pos_weight = 1;                ///< binary_cross_entropy: how much a "yes" counts
  std::string kind = {};                ///< custom: the name it was registered under
  double delta = 1;  ///< huber: larger errors count by their size, not by its square
  friend bool operator==(const LossSpec&, const LossSpec&) = default;
};

enum class OptimizerType { sgd, adam, adamw, lars, lamb };
/// The recipe's word.
const char* to_string(OptimizerType type);

/// What weight decay applies to.
enum class DecayScope {
  all,      ///< every parameter, as PyTorch's optimizers do by default
  weights,  ///< those of kind weight: no biases, no scales, no shifts
};

enum class ScheduleType { constant, step, multi_step, exponential, plateau, polynomial, cosine };
/// The recipe's word.
const char* to_string(ScheduleType type);

inline constexpr int kMaxMilestones = 16;

/// Learning rate as a function of the step number (see optim/schedule.hpp for the formulas).
struct ScheduleSpec {
  ScheduleType type = ScheduleType::constant;
  int warmup_steps = 0;   ///< linear from 0 to lr over the first steps
  int warmup_epochs = 0;  ///< or over the steps of the first epochs; at most one of the two is set
  int every_epochs = 1;   ///< step: the rate is multiplied by gamma every so many epochs
  std::vector<int> milestones = {};  ///< multi_step: or after these epochs, in increasing order
  int patience = 10;   ///< plateau: or after so many epochs without a better evaluation
  double gamma = 0.1;  ///< step, multi_step, plateau; exponential: after every epoch
  double power = 1;    ///< polynomial
  double min_lr = 0;   ///< cosine, polynomial: where the rate ends; plateau: the lowest
  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

/// Is the rate one of the length of the run, which then cannot change?
bool ends_with_run(const ScheduleSpec& schedule);
/// Does the rate depend on how good the evaluations are?
bool needs_evaluations(const ScheduleSpec& schedule);

struct OptimizerSpec {
  OptimizerType type = OptimizerType::sgd;
  double lr = 0;
  double momentum = 0;      ///< sgd, lars
  bool nesterov = false;    ///< sgd, lars
  double weight_decay = 0;  ///< sgd, adam, lars: L2 term in the gradient; adamw, lamb: decoupled
  DecayScope decay = DecayScope::all;
  double beta1 = 0.9;                ///< adam, adamw, lamb
  double beta2 = 0.999;              ///< adam, adamw, lamb
  double eps = 1e-8;                 ///< adam, adamw, lamb
  double trust_coefficient = 0.001;  ///< lars
  double clip_norm = 0;  ///< gradients are scaled to at most this L2 norm; 0: no clipping
  ScheduleSpec schedule = {};
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

/// PyTorch's names of the arrays that such an optimizer has for each parameter.
std::vector<std::string> state_names(const OptimizerSpec& optimizer);

enum class Determinism {
  rank_invariant,  ///< the same bits for any number of ranks and threads
  fast,            ///< plain sums and MPI's own all-reduce
};

/// What the operands of matrix products are rounded to; sums, weights and all else stay float.
enum class Precision {
  fp32,  ///< not rounded
  tf32,  ///< 10 bits of mantissa, by the tensor cores of a GPU
  bf16,  ///< 7 bits of mantissa, by those or by a CPU
};

/// The recipe's word.
const char* to_string(Precision precision);

/// The order in which products of bf16 are added on a CPU (linalg/host/bf16_tiles.hpp).
enum class Bf16Sums {
  tiles,  ///< that of AMX
  pairs,  ///< that of AVX512_BF16
};

/// How a CPU computes convolutions with operands that are not rounded.
enum class Convolution {
  direct,    ///< every product of the sum
  winograd,  ///< kernels of 3 x 3 pixels by F(2 x 2, 3 x 3) (layers/host/conv2d_winograd.hpp)
};

/// What makes one evaluation better than another.
enum class Monitor {
  loss,      ///< a lower loss
  accuracy,  ///< more right answers
};
/// The recipe's word.
const char* to_string(Monitor monitor);

struct TrainSpec {
  int epochs = 1;
  int evaluate_every = 1;  ///< epochs between evaluations, see is_evaluated()
  int patience = 0;  ///< training ends after so many epochs without a better evaluation; 0: never
  Monitor monitor = Monitor::loss;
  Determinism determinism = Determinism::rank_invariant;
  Precision precision = Precision::fp32;
  Bf16Sums bf16_sums = Bf16Sums::tiles;
  Convolution convolution = Convolution::direct;
  /// Samples of a micro-block, the unit of the fixed summation tree; 0: chosen
  /// (micro_block_size()).
  int micro_block = 0;
  bool recompute = false;      ///< outputs of layers that are not kept are computed again
  int log_every_steps = 50;    ///< a "step" line in metrics.jsonl every so many steps; 0: never
  bool per_rank_loss = false;  ///< print every rank's own sum of batch losses after each epoch
  friend bool operator==(const TrainSpec&, const TrainSpec&) = default;
};

/// Does this epoch, counted from 1, end with an evaluation of the test set? The last one does, and
/// every evaluate_every-th.
inline bool is_evaluated(const TrainSpec& train, std::int64_t epoch) {
  return epoch == train.epochs || (train.evaluate_every > 0 && epoch % train.evaluate_every == 0);
}

}  // namespace quern
