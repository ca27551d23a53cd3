// SPDX-License-Identifier: Apache-2.0
#include "train/lost_metrics.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/read_recipe.hpp"
#include "io/lines_from_end.hpp"
#include "train/json_line.hpp"

namespace quern {

namespace {

// Calls visit(object) for the lines with this text in them.
template <class Visitor>
void for_each_line(const std::filesystem::path& file, const std::string& text,
                   const Visitor& visit) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.find(text) == std::string::npos) continue;
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_object()) visit(object);
  }
}

// Steps and epochs never get smaller from line to line.
bool has_line(const std::filesystem::path& file, const char* kind, const char* key,
              std::int64_t number) {
  LinesFromEnd lines(file);
  while (const auto text = lines.next()) {
    const auto line = nlohmann::json::parse(text->text, nullptr, false);
    if (!line.is_object() || !line.contains(key)) continue;
    const std::int64_t at = integer_of(line, key).value_or(0);
    if (at == number && word_of(line, "kind") == kind) return true;
    if (at < number) return false;
  }
  return false;
}

// Where the start that wrote the checkpoint began.
TrainingProgress last_start(const RunFolder& folder, const TrainingProgress& checkpoint) {
  TrainingProgress at;
  for_each_line(folder.events_file(), "start", [&](const nlohmann::json& line) {
    const std::int64_t step = integer_of(line, "step").value_or(0);
    if (word_of(line, "event") != "start" || step > checkpoint.step) return;
    at.step = std::max(at.step, step);
    at.epoch = std::max(at.epoch, integer_of(line, "epoch").value_or(0));
  });
  return at;
}

}  // namespace

std::string lost_metrics_text(const RunFolder& folder, const CheckpointState& checkpoint) {
  const std::string where = folder.recipe_file().string();
  const std::int64_t every = parse_recipe(checkpoint.origin.recipe, where).train.log_every_steps;
  const TrainingProgress& at = checkpoint.progress;
  const TrainingProgress begin = last_start(folder, at);
  const std::int64_t last_step = every > 0 ? at.step / every * every : 0;
  const std::filesystem::path metrics = folder.metrics_file();
  std::string missing;
  if (last_step > begin.step && !has_line(metrics, "step", "step", last_step))
    missing = "step " + std::to_string(last_step);
  else if (at.epoch > begin.epoch && !has_line(metrics, "epoch", "epoch", at.epoch))
    missing = "epoch " + std::to_string(at.epoch);
  if (missing.empty()) return "";
  return "'" + metrics.string() + "' has no line of " + missing + ", expected all until step " +
         std::to_string(at.step) +
         ", where the run goes on: lines were removed, or lost with a machine. They stay missing; "
         "the training is not affected";
}

}  // namespace quern
