// SPDX-License-Identifier: Apache-2.0
#include "app/results_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "train/json_line.hpp"

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

double share_of(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Of one class. Nothing where it has no samples, or is never predicted; F1 where neither is.
struct ClassScores {
  std::optional<double> recall;
  std::optional<double> precision;
  std::optional<double> f1;
  std::optional<double> iou;  ///< intersection over union
};

ClassScores scores_of(const EvaluationInfo& info, std::size_t i) {
  const std::int64_t correct = info.class_correct[i];
  const std::int64_t samples = info.class_samples[i];
  const std::int64_t predicted = info.class_predicted[i];
  ClassScores scores;
  if (samples > 0) scores.recall = share_of(correct, samples);
  if (predicted > 0) scores.precision = share_of(correct, predicted);
  if (samples + predicted == 0) return scores;
  scores.f1 = share_of(2 * correct, samples + predicted);
  scores.iou = share_of(correct, samples + predicted - correct);
  return scores;
}

// The mean over the classes that have one (scikit-learn's f1_score with average="macro").
std::optional<double> macro_f1(const EvaluationInfo& info) {
  double sum = 0;
  int classes = 0;
  for (std::size_t i = 0; i < info.class_samples.size(); ++i) {
    const std::optional<double> f1 = scores_of(info, i).f1;
    if (!f1) continue;
    sum += *f1;
    ++classes;
  }
  if (classes == 0) return std::nullopt;
  return sum / classes;
}

std::string score_text(const char* name, std::optional<double> score) {
  if (!score) return fmt::format("  {}   none  ", name);
  return fmt::format("  {} {:6.2f} %", name, 100 * *score);
}

std::string classes_text(const EvaluationInfo& info) {
  std::string text;
  for (std::size_t i = 0; i < info.class_samples.size(); ++i) {
    const ClassScores scores = scores_of(info, i);
    if (!scores.f1) continue;
    const std::string name =
        i < info.class_names.size() ? "  " + printable(info.class_names[i]) : "";
    const std::string of_images = info.are_channels ? score_text("IoU", scores.iou) : "";
    text +=
        fmt::format("\n{} {:>4}{}{}{}{}  ({} of {}){}", info.are_channels ? "channel" : "class", i,
                    score_text("recall", scores.recall), score_text("precision", scores.precision),
                    score_text(info.are_channels ? "F1 (Dice)" : "F1", scores.f1), of_images,
                    info.class_correct[i], info.class_samples[i], name);
  }
  if (const std::optional<double> mean = macro_f1(info))
    text += fmt::format("\nmacro F1 {:.2f} %", 100 * *mean);
  return text;
}

Json json_of(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

}  // namespace

std::string evaluation_report(const EvaluationInfo& info) {
  std::string text = fmt::format("{} on {}: loss {}", printable(info.checkpoint),
                                 printable(info.data), decimal_text(info.loss, 6));
  if (info.answers > 0) {
    text += fmt::format("  accuracy {:.2f} % ({} of {})",
                        100.0 * share_of(info.correct, info.answers), info.correct, info.answers);
  }
  if (info.rmse) text += "  rmse " + decimal_text(*info.rmse, 6);
  if (info.r2) text += "  r2 " + decimal_text(*info.r2, 6);
  if (info.answers != info.samples) text += fmt::format("  ({} samples)", info.samples);
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
  json["loss"] = json_number(info.loss);
  if (info.answers > 0) {
    json["correct"] = info.correct;
    if (info.answers != info.samples) json["answers"] = info.answers;
    json["accuracy"] = share_of(info.correct, info.answers);
  }
  if (info.top5) {
    json["top5_accuracy"] = static_cast<double>(*info.top5) / static_cast<double>(info.samples);
  }
  if (!info.class_names.empty()) json["class_names"] = info.class_names;
  if (!info.class_samples.empty()) {
    json["class_samples"] = info.class_samples;
    json["class_correct"] = info.class_correct;
    json["class_predicted"] = info.class_predicted;
    for (const char* name : {"class_recall", "class_precision", "class_f1"})
      json[name] = Json::array();
    for (std::size_t i = 0; i < info.class_samples.size(); ++i) {
      const ClassScores scores = scores_of(info, i);
      json["class_recall"].push_back(json_of(scores.recall));
      json["class_precision"].push_back(json_of(scores.precision));
      json["class_f1"].push_back(json_of(scores.f1));
    }
    json["macro_f1"] = json_of(macro_f1(info));
    for (std::size_t i = 0; i < info.class_samples.size() && info.are_channels; ++i)
      json["class_iou"].push_back(json_of(scores_of(info, i).iou));
  }
  if (!info.confusion.empty()) json["confusion"] = info.confusion;
  if (info.rmse) json["rmse"] = json_number(*info.rmse);
  if (info.r2) json["r2"] = json_number(*info.r2);
  json["ranks"] = info.ranks;
  // Paths may be in any encoding.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string float_text(float value) {
  return fmt::format("{}", value);
}

}  // namespace quern
