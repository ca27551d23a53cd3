// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace quern {

using Json = nlohmann::ordered_json;

std::string evaluation_report(const EvaluationFacts& facts) {
  std::string text = fmt::format("{} on {}: loss {:.6f}", facts.checkpoint, facts.data, facts.loss);
  if (facts.correct) {
    text += fmt::format(
        "  accuracy {:.2f} % ({} of {})",
        100.0 * static_cast<double>(*facts.correct) / static_cast<double>(facts.samples),
        *facts.correct, facts.samples);
  } else {
    text += fmt::format("  ({} samples)", facts.samples);
  }
  return text;
}

std::string evaluation_json(const EvaluationFacts& facts) {
  Json json;
  json["checkpoint"] = facts.checkpoint;
  json["data"] = facts.data;
  json["step"] = facts.step;
  json["samples"] = facts.samples;
  json["loss"] = facts.loss;
  if (facts.correct) {
    json["correct"] = *facts.correct;
    json["accuracy"] = static_cast<double>(*facts.correct) / static_cast<double>(facts.samples);
  }
  json["ranks"] = facts.ranks;
  return json.dump();
}

}  // namespace quern
