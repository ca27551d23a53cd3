// SPDX-License-Identifier: Apache-2.0
// What a recipe must fulfil whatever its data are. Nothing here starts Kokkos, a launcher or a
// device: a job's recipe is checked on a login node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/recipe.hpp"
#include "train/run_folder.hpp"

namespace quern {

struct RecipeInfo {
  std::int64_t parameters = 0;
  std::int64_t training_macs = 0;  ///< of one sample
};

/// All of the below. InputError.
RecipeInfo check_recipe(const Recipe& recipe, int num_ranks);

/// Can the program train it on so many ranks: backend and precision?
void check_program(const Recipe& recipe, int num_ranks);

/// Is nothing moved or mirrored whose targets, pixels that a network with this output learns, stay
/// where they are? Of a training: what was trained otherwise can be evaluated.
void check_augmentation(const Recipe& recipe, const Shape& output);

/// Do the samples come from where data.source says? `has_train`, `has_test`: the program brings
/// some.
void check_source(const Recipe& recipe, bool has_train, bool has_test);

/// Is there a sample for each rank?
void check_batch_for_ranks(int batch, int num_ranks);

/// Does the run that `folder` may hold go on with `recipe`, as far as its recipe.toml tells?
/// `resume`, `changes` as in RunOptions. InputError.
void check_earlier_run(const Recipe& recipe, int num_ranks, const RunFolder& folder,
                       const std::string& resume, const std::vector<std::string>& changes);

}  // namespace quern
