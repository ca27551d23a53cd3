// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_match.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "config/recipe_change.hpp"

namespace quern {

namespace {

constexpr std::size_t kMostDifferences = 5;

std::string text_of(const RecipeDifference& difference) {
  return difference.key + " is " + shown_value(difference.theirs) + " there, and " +
         shown_value(difference.ours) + " now";
}

std::string text_of(const std::vector<RecipeDifference>& found) {
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kMostDifferences); ++i)
    text += (i > 0 ? "; " : "") + text_of(found[i]);
  if (found.size() > kMostDifferences)
    text += "; and " + std::to_string(found.size() - kMostDifferences) + " more";
  return text;
}

// For a run that is to go on with ours.
std::string option_text(const std::vector<RecipeDifference>& found) {
  if (!std::ranges::all_of(found, &RecipeDifference::may_be_asked_for)) return "";
  std::string text;
  for (const RecipeDifference& difference : found) text += " --change " + difference.key + "=...";
  return ";" + text + " resumes with what is stated now";
}

void refuse_other_state(const RecipeDifference& difference, const MatchContext& context) {
  if (difference.may_be_asked_for || !is_among(difference.key, context.changes)) return;
  throw InputError(context.where + ": " + text_of(difference) +
                   ", but with one of them the optimizer keeps an array that it does not have with "
                   "the other: --change cannot ask for that (" +
                   context.remedy + ", or the old value)");
}

}  // namespace

std::vector<RecipeDifference> accepted_differences(const RecipeOnRanks& ours,
                                                   const RecipeOnRanks& theirs,
                                                   const MatchContext& context) {
  std::vector<RecipeDifference> accepted;
  std::vector<RecipeDifference> others;
  for (RecipeDifference& found :
       differences(ours.recipe, ours.global_batch, theirs.recipe, theirs.global_batch)) {
    refuse_other_state(found, context);
    const bool is_asked_for = is_among(found.key, context.changes);
    if (!is_asked_for && context.is_untrained && found.may_be_asked_for) continue;
    (is_asked_for ? accepted : others).push_back(std::move(found));
  }
  if (others.empty()) return accepted;
  const RecipeDifference& first = others.front();
  const bool is_one = others.size() == 1;
  if (is_one && first.key == "data.global_batch" && ours.recipe.data.batch_per_rank > 0) {
    throw InputError(
        context.where + " is of a run with a global batch of " + first.theirs +
        ", but data.batch_per_rank makes " + first.ours +
        " now: start as many ranks as then, or give --set data.global_batch=" + first.theirs);
  }
  throw InputError(context.where + " belongs to a run of a different recipe: " + text_of(others) +
                   " (" + context.remedy + ", or the old " + (is_one ? "value" : "values") +
                   (context.may_resume ? option_text(others) : "") + ")");
}

}  // namespace quern
