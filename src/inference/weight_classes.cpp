// SPDX-License-Identifier: Apache-2.0
#include "inference/weight_classes.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/system_failure.hpp"
#include "inference/class_names.hpp"
#include "io/shard_set.hpp"

namespace quern {

namespace {

std::string quoted(const std::string& path) {
  return fmt::format("'{}'", path);
}

bool is_there(const std::string& path) {
  if (path.empty()) return false;
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  throw_system_failure(error.value(), fmt::format("cannot read '{}'", path));
  return found;
}

// Reads what the shards say of themselves, no samples.
std::vector<std::string> names_in_shards(const std::string& folder, int outputs) {
  const ShardSet shards = ShardSet::open(folder, "train");
  if (shards.classes() > outputs) {
    throw InputError(fmt::format("the network puts out {} numbers, but '{}' has {} classes",
                                 outputs, folder, shards.classes()));
  }
  return shards.content().class_names;
}

std::vector<std::string> names_in_data(const DataSpec& data, int outputs) {
  if (data.source != DataSource::shards || !is_there(data.train)) return {};
  try {
    return names_in_shards(data.train, outputs);
  } catch (const SystemFailure&) {
    throw;  // the next start may read them
  } catch (const Error& problem) {
    log::warn(fmt::format("{}: the training data (data.train) give the classes no names",
                          problem.what()));
    return {};
  }
}

}  // namespace

std::vector<std::string> class_names_of_weights(const LoadedCheckpoint& weights,
                                                const Recipe& recipe, int outputs) {
  if (recipe.data.target != TargetType::label) return {};
  const std::vector<std::string> in_data = names_in_data(recipe.data, outputs);
  const std::vector<std::string>& trained = weights.state().class_names;
  // What other programs say in a text of this name may be anything.
  if (trained.empty() || trained.size() > static_cast<std::size_t>(outputs)) {
    if (!in_data.empty()) {
      log::info(fmt::format("the checkpoint has the names of the {} classes of '{}' (data.train)",
                            in_data.size(), recipe.data.train));
    }
    return in_data;
  }
  const std::string difference = class_difference(trained, "their training data", in_data,
                                                  quoted(recipe.data.train) + " (data.train)");
  if (!difference.empty()) {
    log::warn(fmt::format(
        "the weights of '{}' were trained with other classes: {}; the checkpoint has the names of "
        "the weights",
        weights.path().string(), difference));
  }
  return trained;
}

std::vector<std::string> feature_names_of_weights(const LoadedCheckpoint& weights,
                                                  const Recipe& recipe) {
  const std::vector<std::string>& trained = weights.state().feature_names;
  const DataSpec& data = recipe.data;
  if (!trained.empty() || data.source != DataSource::shards || !is_there(data.train))
    return trained;
  try {
    return ShardSet::open(data.train, "train").content().feature_names;
  } catch (const SystemFailure&) {
    throw;  // the next start may read them
  } catch (const Error&) {
    return {};
  }
}

}  // namespace quern
