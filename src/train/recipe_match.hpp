// SPDX-License-Identifier: Apache-2.0
// Does the recipe of a run that is resumed suit what is there of it already?
#pragma once

#include <string>
#include <vector>

#include "config/recipe_difference.hpp"

namespace quern {

struct RecipeOnRanks {
  const Recipe& recipe;
  int global_batch;  ///< on the ranks of its run
};

struct MatchContext {
  std::string where;                        ///< the file of the other recipe, for messages
  std::string remedy;                       ///< what helps, "take another --run-dir"
  const std::vector<std::string>& changes;  ///< keys and tables of --change
  bool may_resume = true;                   ///< is there a checkpoint that --change can go on from?
  /// Nobody has trained with the other recipe yet: what --change could ask for needs no asking.
  bool is_untrained = false;
};

/// The differences that --change asks for; none where the recipes go together. InputError where
/// they differ otherwise.
std::vector<RecipeDifference> accepted_differences(const RecipeOnRanks& ours,
                                                   const RecipeOnRanks& theirs,
                                                   const MatchContext& context);

}  // namespace quern
