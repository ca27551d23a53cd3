// SPDX-License-Identifier: Apache-2.0
#include "app/prediction_table.hpp"

#include <span>
#include <utility>

#include "app/results_text.hpp"

namespace quern {

namespace {

// Of a name, which may hold anything: as RFC 4180 wants it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string head_of(const PredictionColumns& columns) {
  std::string head = "index";
  if (columns.is_classifier)
    head += columns.has_labels ? ",class,label,probability,loss" : ",class,probability";
  const int outputs = columns.outputs.units();
  for (int i = 0; !columns.is_classifier && i < outputs; ++i) head += ",value" + std::to_string(i);
  for (int i = 0; i < columns.targets; ++i) head += ",target" + std::to_string(i);
  if (!columns.files.empty()) head += ",file";
  if (columns.is_classifier && !columns.class_names.empty()) head += ",class_name";
  for (int i = 0; columns.has_probabilities && i < outputs; ++i)
    head += ",probability" + std::to_string(i);
  return head;
}

}  // namespace

PredictionTable::PredictionTable(PredictionColumns columns, const std::string& out)
    : columns_(std::move(columns)), file_(out) {
  file_.add_line(head_of(columns_));
}

void PredictionTable::add(const SampleOutputs& sample) {
  const std::span<const float> outputs = sample.outputs;
  std::string line = std::to_string(count_);
  const Prediction prediction =
      columns_.is_classifier ? prediction_of(outputs, sample.label, columns_.loss) : Prediction{};
  const auto add_number = [&](double number) {
    line += ',' + float_text(static_cast<float>(number));
  };
  if (columns_.is_classifier) {
    line += ',' + std::to_string(prediction.best);
    if (columns_.has_labels) line += ',' + std::to_string(sample.label);
    add_number(prediction.probability);
    if (columns_.has_labels) add_number(prediction.loss);
  } else {
    for (const float value : outputs) add_number(value);
    if (columns_.targets > 0)
      for (const float target : sample.targets) add_number(target);
  }
  if (!columns_.files.empty()) line += ',' + csv_field(columns_.files[count_]);
  if (columns_.is_classifier && !columns_.class_names.empty())
    line += ',' + csv_field(columns_.class_names.at(static_cast<std::size_t>(prediction.best)));
  if (columns_.has_probabilities) {
    probabilities_.resize(outputs.size());
    put_probabilities(outputs, probabilities_);
    for (const float probability : probabilities_) add_number(probability);
  }
  file_.add_line(line);
  ++count_;
}

}  // namespace quern
