// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_check.hpp"

#include <limits>
#include <string>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "comm/session.hpp"
#include "config/read_recipe.hpp"
#include "device/tensor_cores.hpp"
#include "loss/loss.hpp"
#include "network/cut.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/model.hpp"
#include "strategy/recipe_grid.hpp"
#include "tensor/kernel_choice.hpp"
#include "tensor/types.hpp"
#include "train/starting_point.hpp"

namespace quern {

namespace {

void check_backend(const Recipe& recipe, int num_ranks) {
  if (recipe.parallel.backend == CommBackend::serial && num_ranks > 1) {
    throw InputError("parallel.backend = \"serial\", but " + std::to_string(num_ranks) +
                     " ranks were started (expected one, or backend = \"auto\")");
  }
  if (recipe.parallel.backend == CommBackend::mpi && !built_with_mpi()) {
    throw InputError("parallel.backend = \"mpi\", but this quern was built without MPI");
  }
}

void check_precision(const Recipe& recipe) {
  const Precision precision = recipe.train.precision;
  if (recipe.train.bf16_sums == Bf16Sums::pairs && !kHostExecution) {
    throw InputError(
        "train.bf16_sums = \"pairs\" is for CPUs, but this quern was built for GPUs, which have an "
        "order of their own (expected no such key)");
  }
  if (recipe.train.convolution == Convolution::winograd && runs_device_kernels()) {
    throw InputError(
        "train.convolution = \"winograd\" is for CPUs, but this quern runs the kernels of GPUs "
        "(expected \"direct\")");
  }
  if (precision == Precision::fp32 || kTensorCores) return;
  if (precision == Precision::bf16 && kHostExecution) return;
  throw InputError(std::string("train.precision = \"") + to_string(precision) +
                   "\" needs the tensor cores of an NVIDIA GPU, but this quern was built for other "
                   "processors (expected " +
                   (kHostExecution ? "\"fp32\" or \"bf16\")" : "\"fp32\")"));
}

}  // namespace

void check_program(const Recipe& recipe, int num_ranks) {
  check_backend(recipe, num_ranks);
  check_precision(recipe);
}

void check_augmentation(const Recipe& recipe, const Shape& output) {
  if (!recipe.data.augment.is_active() || recipe.data.target != TargetType::values ||
      output.is_flat()) {
    return;
  }
  throw InputError("data.augment contradicts data.target = \"values\" where the network puts out " +
                   to_string(output) +
                   ": the targets of an image that is moved or mirrored stay as they are "
                   "(expected crop = 0 and flip = false)");
}

void check_source(const Recipe& recipe, bool has_train, bool has_test) {
  if (recipe.data.source == DataSource::program && !has_train) {
    throw InputError(
        "data.source = \"program\" is for C++ programs that bring their own samples "
        "(expected \"shards\" or \"random\", or RunOptions::train in such a program)");
  }
  if (recipe.data.source == DataSource::program || (!has_train && !has_test)) return;
  throw InputError(
      "the program brings its own samples, but data.source is another (expected data.source = "
      "\"program\")");
}

void check_batch_for_ranks(int batch, int num_ranks) {
  if (num_ranks <= batch) return;
  throw InputError(std::to_string(num_ranks) + " ranks for a global batch of " +
                   std::to_string(batch) +
                   " samples: expected at least one sample per rank (raise data.global_batch or "
                   "take fewer ranks)");
}

RecipeInfo check_recipe(const Recipe& given, int num_ranks) {
  const Recipe recipe = with_strategy(given, num_ranks);
  check_source(recipe, false, false);
  const Network network(recipe.network);
  make_loss(recipe.loss, network.output_shape());
  check_target(recipe, network);
  check_augmentation(recipe, network.output_shape());
  check_program(recipe, num_ranks);
  if (recipe.parallel.pipeline > 1)
    cut_network(recipe.network, recipe.parallel.pipeline, recipe.parallel.cut);
  const int data_ranks = grid_shape_of(recipe, num_ranks).data;
  const int batch = recipe.global_batch(data_ranks);
  check_batch_for_ranks(batch, data_ranks);
  check_least_samples(network, batch,
                      batch);  // how many a micro-block lacks is known with the data
  return {network.table().num_parameters(), network.training_macs()};
}

void check_earlier_run(const Recipe& recipe, int num_ranks, const RunFolder& folder,
                       const std::string& resume, const std::vector<std::string>& changes) {
  if (folder.recipe_text().empty()) {
    const bool is_new = resume == "auto" || resume == "never";
    if (is_new && !changes.empty()) refuse_change_of_new_run(folder);
    return;
  }
  if (resume == "never") refuse_earlier_run(folder);
  if (resume == "auto" && !changes.empty() && list_checkpoints(folder.checkpoints()).empty())
    refuse_change_of_new_run(folder);
  // Nobody has counted the samples yet.
  constexpr std::int64_t kSamples = std::numeric_limits<std::int64_t>::max();
  refuse_other_run(recipe, recipe.global_batch(grid_shape_of(recipe, num_ranks).data), kSamples,
                   changes, folder);
}

}  // namespace quern
