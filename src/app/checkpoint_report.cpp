// SPDX-License-Identifier: Apache-2.0
#include "app/checkpoint_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "base/unit_text.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/model_hash.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/train_attributes.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_difference.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

std::string age_text(fs::file_time_type written) {
  const auto age = fs::file_time_type::clock::now() - written;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  // The clock of a file server may be ahead by a little.
  if (seconds < 0) return seconds > -120 ? "0 s" : "future";
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

// Of batch normalisation: saved with the model, not trained.
bool is_running_statistic(const NamedTensor& tensor) {
  return tensor.name.ends_with(".running_mean") || tensor.name.ends_with(".running_var");
}

std::int64_t num_values(const std::vector<NamedTensor>& tensors, bool running_statistics) {
  std::int64_t count = 0;
  for (const NamedTensor& tensor : tensors) {
    if (is_running_statistic(tensor) == running_statistics) count += std::ssize(tensor.values);
  }
  return count;
}

std::string model_text(const std::vector<NamedTensor>& model) {
  const std::int64_t statistics = num_values(model, true);
  return fmt::format("{} parameters{}", num_values(model, false),
                     statistics > 0 ? fmt::format(", {} running statistics", statistics) : "");
}

std::size_t name_width(const std::vector<NamedTensor>& tensors) {
  std::size_t width = 24;
  for (const NamedTensor& tensor : tensors)
    width = std::max(width, printable(tensor.name).size() + 2);
  return width;
}

struct ListEntry {
  fs::path path;
  std::string step = "?";
  std::string epoch = "?";
  std::string state = "good";
  std::string problem;  ///< of another state
};

// Nothing where a run has deleted the file meanwhile, which it may.
std::optional<ListEntry> inspect(const fs::path& path) {
  ListEntry entry;
  entry.path = path;
  if (const auto step = step_of_name(path.filename().string())) entry.step = std::to_string(*step);
  try {
    const TrainingProgress progress = read_checkpoint(path).state().progress;
    entry.step = std::to_string(progress.step);
    entry.epoch = std::to_string(progress.epoch);
  } catch (const Error& problem) {
    if (is_gone(path)) return std::nullopt;
    const bool is_failure = dynamic_cast<const SystemFailure*>(&problem) != nullptr;
    entry.state = is_failure ? "unread" : "damaged";
    entry.problem = problem.what();
  }
  return entry;
}

std::string list_line(const ListEntry& entry, const std::string& mark) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(entry.path, error);
  const fs::file_time_type written = fs::last_write_time(entry.path, error);
  const std::string line = fmt::format(
      "{:>10}  {:>6}  {:>9}  {:>8}  {:<8}{:<24}{}", entry.step, entry.epoch,
      error ? "?" : bytes_text(static_cast<std::int64_t>(bytes)), error ? "?" : age_text(written),
      entry.state, entry.path.filename().string(), mark);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string best_text(const BestEvaluation& best) {
  return fmt::format("{} {:g} of epoch {}, step {}", to_string(best.monitor), best.value,
                     best.epoch, best.step);
}

std::string change_text(const RecipeChange& change) {
  return printable(fmt::format("step {}: {} {}, before {}", change.step, change.key, change.after,
                               change.before));
}

nlohmann::ordered_json tensors_json(const std::vector<NamedTensor>& tensors) {
  auto list = nlohmann::ordered_json::array();
  for (const NamedTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  return list;
}

// Of recipes whose texts differ: the keys that would make a run that is resumed another one.
std::string recipe_lines(const LoadedCheckpoint& first, const LoadedCheckpoint& second) {
  const auto recipe_of = [](const LoadedCheckpoint& checkpoint) {
    return parse_recipe(checkpoint.state().origin.recipe, checkpoint.path().string());
  };
  const auto batch_of = [](const LoadedCheckpoint& checkpoint) {
    return static_cast<int>(checkpoint.state().origin.global_batch);
  };
  std::string lines;
  try {
    for (const RecipeDifference& found :
         differences(recipe_of(first), batch_of(first), recipe_of(second), batch_of(second)))
      lines += printable("recipe: " + found.key + ": " + shown_value(found.ours) + " and " +
                         shown_value(found.theirs)) +
               "\n";
  } catch (const InputError&) {
    return "recipe differs, and this quern does not read both (show --recipe prints it)\n";
  }
  return lines.empty() ? "recipe differs only in what a resumed run may change (show --recipe "
                         "prints it)\n"
                       : lines;
}

}  // namespace

std::string list_report(const fs::path& folder) {
  std::vector<CheckpointFile> files = list_checkpoints(folder);
  std::reverse(files.begin(), files.end());
  if (files.empty()) return fmt::format("no checkpoints in '{}'", printable(folder.string()));
  std::string lines = fmt::format("{:>10}  {:>6}  {:>9}  {:>8}  {:<8}{}\n", "step", "epoch", "size",
                                  "age", "state", "file");
  std::string problems;
  const auto add = [&](const ListEntry& entry, const std::string& mark) {
    lines += list_line(entry, mark);
    if (!entry.problem.empty()) problems += entry.state + ": " + printable(entry.problem) + "\n";
  };
  bool found_any = false;
  bool found_good = false;
  for (const CheckpointFile& file : files) {
    const std::optional<ListEntry> entry = inspect(file.path);
    if (!entry) continue;
    std::string mark = found_any ? "" : "newest";
    found_any = true;
    if (entry->problem.empty() && !found_good) {
      if (mark.empty()) mark = "newest good";
      found_good = true;
    }
    add(*entry, mark);
  }
  if (const auto best = best_checkpoint_of(folder)) {
    if (const auto entry = inspect(*best)) add(*entry, "best");
  }
  const std::string report = lines + problems;
  return report.substr(0, report.size() - 1);
}

std::string show_report(const LoadedCheckpoint& checkpoint) {
  const CheckpointState& state = checkpoint.state();
  std::string text = fmt::format("{}\n", printable(checkpoint.path().string()));
  for (const TrainAttribute& attribute : train_attributes(state)) {
    const std::string value =
        attribute.name == "recipe"
            ? fmt::format("{} bytes (--recipe prints it)", state.origin.recipe.size())
            : printable(value_text(attribute.value));
    text += fmt::format("  {:<16}{}\n", attribute.name, value);
  }
  if (state.best.epoch > 0) text += fmt::format("  {:<16}{}\n", "best", best_text(state.best));
  if (state.progress.plateaus > 0)
    text += fmt::format("  {:<16}{}, the last after epoch {}\n", "plateaus",
                        state.progress.plateaus, state.progress.plateau_epoch);
  if (!state.started_from.empty())
    text += fmt::format("  {:<16}{}\n", "started_from", printable(state.started_from));
  for (const RecipeChange& change : state.changes)
    text += fmt::format("  {:<16}{}\n", "changed", change_text(change));
  const std::size_t width = name_width(state.model);
  const auto add_tensors = [&](const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors) {
      text += fmt::format("  {:<{}}{}\n", printable(tensor.name), width, shape_text(tensor.shape));
    }
  };
  text += fmt::format("model: {}, SHA-256 {}\n", model_text(state.model), model_hash(state.model));
  add_tensors(state.model);
  for (const OptimizerTensors& state_array : state.optimizer) {
    text += fmt::format("optimizer: {}\n", printable(state_array.name));
    add_tensors(state_array.tensors);
  }
  return text.substr(0, text.size() - 1);
}

std::string show_json(const LoadedCheckpoint& checkpoint) {
  const CheckpointState& state = checkpoint.state();
  nlohmann::ordered_json json;
  json["file"] = checkpoint.path().string();
  for (const TrainAttribute& attribute : train_attributes(state)) {
    std::visit([&](const auto& value) { json["train"][attribute.name] = value; }, attribute.value);
  }
  if (state.best.epoch > 0)
    json["best"] = {{"monitor", to_string(state.best.monitor)},
                    {"epoch", state.best.epoch},
                    {"step", state.best.step},
                    {"value", state.best.value}};
  if (state.progress.plateaus > 0)
    json["plateaus"] = {{"count", state.progress.plateaus},
                        {"epoch", state.progress.plateau_epoch}};
  if (!state.started_from.empty()) json["started_from"] = state.started_from;
  for (const RecipeChange& change : state.changes)
    json["changes"].push_back({{"step", change.step},
                               {"key", change.key},
                               {"before", change.before},
                               {"after", change.after}});
  json["model_sha256"] = model_hash(state.model);
  json["parameters"] = num_values(state.model, false);
  json["model"] = tensors_json(state.model);
  json["optimizer"] = nlohmann::ordered_json::object();
  for (const OptimizerTensors& state_array : state.optimizer) {
    json["optimizer"][state_array.name] = tensors_json(state_array.tensors);
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string diff_report(const LoadedCheckpoint& first, const LoadedCheckpoint& second,
                        const Comparison& comparison) {
  std::size_t width = 16;
  for (const TensorDifference& tensor : comparison.tensors) {
    width = std::max(width, printable(tensor.path).size() + 2);
  }
  std::string text =
      fmt::format("{:<{}}{:>12}  {:>12}  {}\n", "tensor", width, "different", "max |a-b|", "shape");
  for (const TensorDifference& tensor : comparison.tensors) {
    text +=
        fmt::format("{:<{}}{:>12}  {:>12}  {}\n", printable(tensor.path), width, tensor.count,
                    tensor.comparable ? fmt::format("{:g}", tensor.max_abs) : "-", tensor.shape);
  }
  for (const AttributeDifference& attribute : comparison.attributes) {
    text += attribute.name == "recipe"
                ? recipe_lines(first, second)
                : fmt::format("{}: {} and {}\n", attribute.name, printable(attribute.first),
                              printable(attribute.second));
  }
  text += comparison.same_training_state() ? "model, optimizer and progress are equal"
                                           : "model, optimizer or progress differ";
  return text;
}

}  // namespace quern
