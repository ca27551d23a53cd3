// SPDX-License-Identifier: Apache-2.0
#include "inference/data_match.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/read_recipe.hpp"
#include "config/write_recipe.hpp"
#include "inference/class_names.hpp"

namespace quern {

namespace {

// In a safetensors file of somebody else a text called recipe may be anything.
std::optional<Recipe> recipe_of(const LoadedCheckpoint& weights) {
  const std::string& text = weights.state().origin.recipe;
  if (text.empty()) return std::nullopt;
  try {
    return parse_recipe(text, weights.path().string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string toml(const NormalizeSpec& spec) {
  if (spec.type == NormalizeType::none) return "\"none\"";
  if (spec.type == NormalizeType::dataset) return "\"dataset\"";
  return fmt::format("{{type=\"given\", mean=[{}], std=[{}]}}", fmt::join(spec.mean, ", "),
                     fmt::join(spec.std, ", "));
}

// As kernels have it.
float number(const std::vector<double>& values, std::size_t channel, float without) {
  if (values.empty()) return without;
  return static_cast<float>(values[values.size() == 1 ? 0 : channel]);
}

// One number for all channels is the same as that number for each.
bool mean_the_same(const NormalizeSpec& a, const NormalizeSpec& b) {
  if ((a.type == NormalizeType::dataset) != (b.type == NormalizeType::dataset)) return false;
  const std::size_t channels = std::max({a.mean.size(), a.std.size(), b.mean.size(), b.std.size()});
  for (std::size_t channel = 0; channel < channels; ++channel) {
    if (number(a.mean, channel, 0) != number(b.mean, channel, 0)) return false;
    if (number(a.std, channel, 1) != number(b.std, channel, 1)) return false;
  }
  return true;
}

// A table of many numbers is not for a line of text.
std::string remedy(const std::string& key, const NormalizeSpec& theirs, const std::string& file) {
  constexpr std::size_t kMostShown = 8;
  if (std::max(theirs.mean.size(), theirs.std.size()) <= kMostShown)
    return fmt::format("--set '{}={}' takes that of the weights", key, toml(theirs));
  return fmt::format(
      "--set '{}={{type=\"given\", mean=[...], std=[...]}}' with the {} numbers of "
      "{}, which are in its recipe, takes that of the weights",
      key, theirs.mean.size(), file);
}

std::string shown(const NormalizeSpec& spec) {
  constexpr std::size_t kMostBytes = 200;
  const std::string text = toml(spec);
  return text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "...";
}

}  // namespace

std::vector<std::string> differing_normalizations(const LoadedCheckpoint& weights,
                                                  const Recipe& recipe) {
  std::vector<std::string> sentences;
  const std::optional<Recipe> source = recipe_of(weights);
  if (!source) return sentences;
  const std::string file = fmt::format("'{}'", weights.path().string());
  const auto compare = [&](const std::string& key, const NormalizeSpec& theirs,
                           const NormalizeSpec& ours) {
    if (mean_the_same(theirs, ours)) return;
    sentences.push_back(
        fmt::format("the weights of {} were trained with {} = {}, and here it is {} ({})", file,
                    key, shown(theirs), shown(ours), remedy(key, theirs, file)));
  };
  compare("data.normalize", source->data.normalize, recipe.data.normalize);
  const bool has_targets = source->data.target == TargetType::values &&
                           recipe.data.target == TargetType::values &&
                           recipe.network.init.only.empty();
  if (has_targets) {
    compare("data.normalize_targets", source->data.normalize_targets,
            recipe.data.normalize_targets);
  }
  return sentences;
}

Recipe with_numbers_of(const LoadedCheckpoint& weights, Recipe recipe) {
  const std::optional<Recipe> source = recipe_of(weights);
  if (!source) return recipe;
  bool is_changed = false;
  const auto take = [&](const NormalizeSpec& theirs, NormalizeSpec& ours) {
    if (ours.type != NormalizeType::dataset || theirs.type != NormalizeType::given) return;
    ours = theirs;
    is_changed = true;
  };
  take(source->data.normalize, recipe.data.normalize);
  take(source->data.normalize_targets, recipe.data.normalize_targets);
  const ClassWeightsSpec& weights_of_theirs = source->loss.class_weights;
  if (recipe.loss.class_weights.type == ClassWeightsType::balanced &&
      weights_of_theirs.type == ClassWeightsType::given) {
    recipe.loss.class_weights = weights_of_theirs;
    is_changed = true;
  }
  return is_changed ? parse_recipe(to_toml(recipe), weights.path().string()) : recipe;
}

std::string input_difference(const std::string& trained, const std::string& found,
                             const std::string& data) {
  if (trained.empty() || found.empty() || trained == found) return "";
  if (trained == "images") {
    return "the network was trained on bytes, which it read divided by 255, but " + data +
           " holds values, which it reads as they are";
  }
  return "the network was trained on values, which it read as they are, but " + data +
         " holds bytes, which it reads divided by 255";
}

void compare_with_training(const CheckpointState& trained,
                           const std::vector<std::string>& class_names,
                           const std::string& input_name, const std::string& data) {
  check_class_names(trained.class_names, class_names, data);
  const std::string difference = input_difference(trained.input, input_name, data);
  if (!difference.empty()) log::warn(difference);
}

}  // namespace quern
