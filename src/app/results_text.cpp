// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace quern {

using Json = nlohmann::ordered_json;

std::string evaluation_report(const EvaluationInfo& info) {
  std::string text = fmt::format("{} on {}: loss {:.6f}", info.checkpoint, info.data, info.loss);
  if (info.correct) {
    text +=
        fmt::format("  accuracy {:.2f} % ({} of {})",
                    100.0 * static_cast<double>(*info.correct) / static_cast<double>(info.samples),
                    *info.correct, info.samples);
  } else {
    if (info.rmse) text += fmt::format("  rmse {:.6f}", *info.rmse);
    if (info.r2) text += fmt::format("  r2 {:.6f}", *info.r2);
    text += fmt::format("  ({} samples)", info.samples);
  }
  return text;
}

std::string evaluation_json(const EvaluationInfo& info) {
  Json json;
  json["checkpoint"] = info.checkpoint;
  json["data"] = info.data;
  json["step"] = info.step;
  json["samples"] = info.samples;
  json["loss"] = info.loss;
  if (info.correct) {
    json["correct"] = *info.correct;
    json["accuracy"] = static_cast<double>(*info.correct) / static_cast<double>(info.samples);
  }
  if (info.rmse) json["rmse"] = *info.rmse;
  if (info.r2) json["r2"] = *info.r2;
  json["ranks"] = info.ranks;
  return json.dump();
}

std::string float_text(float value) {
  return fmt::format("{}", value);
}

}  // namespace quern
