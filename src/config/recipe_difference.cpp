// SPDX-License-Identifier: Apache-2.0
#include "config/recipe_difference.hpp"

#include <algorithm>

#include "base/count_text.hpp"
#include "config/layer_keys.hpp"
#include "config/recipe_keys.hpp"

namespace quern {

namespace {

/// What counts of a key, as text; "" when nothing does.
std::string comparable_text(const Key<Recipe>& key, const Recipe& recipe, int global_batch) {
  if (key.path == "data.global_batch") return std::to_string(global_batch);
  if (key.path == "data.batch_per_rank") return "";
  if (key.path == "train.micro_block") {
    return std::to_string(micro_block_size(recipe, global_batch));
  }
  if (key.path == "parallel.tensor_slices") {
    const bool is_fast = recipe.train.determinism == Determinism::fast;
    return is_fast ? "" : std::to_string(tensor_slices(recipe));
  }
  const bool is_length = key.path == "train.epochs" && ends_with_run(recipe.optimizer.schedule);
  if (key.may_change == MayChange::freely && !is_length) return "";
  return applies(key, recipe_keys(), recipe) ? key.write(recipe) : "(not stated)";
}

/// Without the inputs that a layer would read anyway: those of the layer before.
std::vector<LayerSpec> without_default_inputs(std::vector<LayerSpec> layers) {
  const std::string* before = nullptr;
  for (LayerSpec& layer : layers) {
    const bool is_default = layer.inputs.size() == 1 && !reads_several(layer.type) &&
                            layer.inputs[0] == (before ? *before : "input");
    if (is_default) layer.inputs.clear();
    before = &layer.name;
  }
  return layers;
}

// Momentum has an array of the optimizer's state, which there is not without it.
bool has_other_state(const Key<Recipe>& key, const Recipe& ours, const Recipe& theirs) {
  return key.path == "optimizer.momentum" &&
         state_names(ours.optimizer) != state_names(theirs.optimizer);
}

std::string stated(const std::string& text) {
  return text.empty() ? "(not stated)" : text;
}

void compare_layer(const std::string& table, const LayerSpec& ours, const LayerSpec& theirs,
                   std::vector<RecipeDifference>& found) {
  for (const Key<LayerSpec>& key : layer_keys()) {
    if (!applies(key, layer_keys(), ours) && !applies(key, layer_keys(), theirs)) continue;
    const std::string our_text = key.write(ours);
    const std::string their_text = key.write(theirs);
    if (our_text == their_text) continue;
    found.push_back({table + "." + key.path, stated(our_text), stated(their_text)});
    if (ours.type != theirs.type) return;  // then most keys differ
  }
}

void compare_layers(const std::vector<LayerSpec>& ours, const std::vector<LayerSpec>& theirs,
                    std::vector<RecipeDifference>& found) {
  const bool as_many = ours.size() == theirs.size();
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i] == theirs[i]) continue;
    compare_layer("network.layers[" + std::to_string(i) + "]", ours[i], theirs[i], found);
    if (!as_many) break;  // one may be put in here, and nobody knows which belong together
  }
  if (as_many) return;
  const auto count = [](const auto& layers) { return count_text(std::ssize(layers), "layer"); };
  found.push_back({"network.layers", count(ours), count(theirs)});
}

// As kernels have them.
Recipe with_float_numbers(Recipe recipe) {
  NormalizeSpec& inputs = recipe.data.normalize;
  NormalizeSpec& targets = recipe.data.normalize_targets;
  for (std::vector<double>* numbers :
       {&inputs.mean, &inputs.std, &targets.mean, &targets.std, &recipe.loss.class_weights.values})
    for (double& number : *numbers) number = static_cast<double>(static_cast<float>(number));
  return recipe;
}

// Numbers that are not known yet are compared once they are.
bool is_open(const Key<Recipe>& key, const Recipe& ours, const Recipe& theirs) {
  const auto is_open_in = [&](const char* table, auto our, auto their) {
    using Type = decltype(our);
    return key.path.starts_with(table) && our != their && our != Type::none && their != Type::none;
  };
  return is_open_in("data.normalize.", ours.data.normalize.type, theirs.data.normalize.type) ||
         is_open_in("data.normalize_targets.", ours.data.normalize_targets.type,
                    theirs.data.normalize_targets.type) ||
         is_open_in("loss.class_weights.", ours.loss.class_weights.type,
                    theirs.loss.class_weights.type);
}

// Would the key be the same but for a difference that is named already?
bool follows_from(const std::vector<RecipeDifference>& found, const Key<Recipe>& key,
                  const Recipe& ours, const Recipe& theirs) {
  if (key.path == "train.micro_block") {
    return !found.empty() && ours.train.micro_block == theirs.train.micro_block;
  }
  if (key.path == "parallel.tensor_slices") {
    return ours.train.determinism != theirs.train.determinism;
  }
  // It counts with one of the schedules.
  if (key.path == "train.epochs") {
    return ours.optimizer.schedule.type != theirs.optimizer.schedule.type;
  }
  return std::ranges::any_of(
      found, [&](const RecipeDifference& earlier) { return earlier.key == key.selector; });
}

}  // namespace

std::string shown_value(const std::string& value) {
  constexpr std::size_t kMost = 100;
  if (value.size() <= kMost) return value;
  const std::size_t blank = value.rfind(' ', kMost);
  return value.substr(0, blank == std::string::npos ? kMost : blank) + " ... (" +
         std::to_string(value.size()) + " characters)";
}

std::vector<RecipeDifference> differences(const Recipe& our_recipe, int our_global_batch,
                                          const Recipe& their_recipe, int their_global_batch) {
  const Recipe ours = with_float_numbers(our_recipe);
  const Recipe theirs = with_float_numbers(their_recipe);
  std::vector<RecipeDifference> found;
  for (const Key<Recipe>& key : recipe_keys()) {
    if (key.path == "network.layers") {
      compare_layers(without_default_inputs(ours.network.layers),
                     without_default_inputs(theirs.network.layers), found);
      continue;
    }
    if (follows_from(found, key, ours, theirs) || is_open(key, ours, theirs)) continue;
    const std::string our_text = comparable_text(key, ours, our_global_batch);
    const std::string their_text = comparable_text(key, theirs, their_global_batch);
    if (our_text == their_text) continue;
    found.push_back(
        {key.path, stated(comparable_text(key, our_recipe, our_global_batch)),
         stated(comparable_text(key, their_recipe, their_global_batch)),
         key.may_change != MayChange::never && !has_other_state(key, our_recipe, their_recipe)});
  }
  return found;
}

}  // namespace quern
