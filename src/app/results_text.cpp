// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace quern {

using Json = nlohmann::ordered_json;

namespace {

// A row for each label, a column for each predicted class.
std::string confusion_text(const std::vector<std::vector<std::int64_t>>& confusion) {
  std::size_t width = 5;
  for (const auto& row : confusion) {
    for (const std::int64_t count : row) width = std::max(width, fmt::format("{}", count).size());
  }
  std::string text = fmt::format("\n{:>7}", "label");
  for (std::size_t i = 0; i < confusion.size(); ++i) text += fmt::format(" {:>{}}", i, width);
  for (std::size_t label = 0; label < confusion.size(); ++label) {
    text += fmt::format("\n{:>7}", label);
    for (const std::int64_t count : confusion[label]) text += fmt::format(" {:>{}}", count, width);
  }
  return text;
}

std::string classes_text(const EvaluationInfo& info) {
  std::string text;
  for (std::size_t i = 0; i < info.class_samples.size(); ++i) {
    if (info.class_samples[i] == 0) continue;
    const std::string name =
        i < info.class_names.size() ? "  " + printable(info.class_names[i]) : "";
    text += fmt::format("\nclass {:>4}  accuracy {:6.2f} % ({} of {}){}", i,
                        100.0 * static_cast<double>(info.class_correct[i]) /
                            static_cast<double>(info.class_samples[i]),
                        info.class_correct[i], info.class_samples[i], name);
  }
  return text;
}

}  // namespace

std::string evaluation_report(const EvaluationInfo& info) {
  std::string text = fmt::format("{} on {}: loss {:.6f}", printable(info.checkpoint),
                                 printable(info.data), info.loss);
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
  if (info.top5) {
    text += fmt::format("  top-5 {:.2f} %", 100.0 * static_cast<double>(*info.top5) /
                                                static_cast<double>(info.samples));
  }
  text += classes_text(info);
  if (!info.confusion.empty()) text += confusion_text(info.confusion);
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
  if (info.top5) {
    json["top5_accuracy"] = static_cast<double>(*info.top5) / static_cast<double>(info.samples);
  }
  if (!info.class_names.empty()) json["class_names"] = info.class_names;
  if (!info.class_samples.empty()) {
    json["class_samples"] = info.class_samples;
    json["class_correct"] = info.class_correct;
  }
  if (!info.confusion.empty()) json["confusion"] = info.confusion;
  if (info.rmse) json["rmse"] = *info.rmse;
  if (info.r2) json["r2"] = *info.r2;
  json["ranks"] = info.ranks;
  // Paths may be in any encoding.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string float_text(float value) {
  return fmt::format("{}", value);
}

}  // namespace quern
