// SPDX-License-Identifier: Apache-2.0
#include "app/prediction_array.hpp"

#include <string_view>

#include "base/text.hpp"
#include "io/folder_files.hpp"
#include "readers/npy_header.hpp"

namespace quern {

namespace {

constexpr std::size_t kValuesAtOnce = std::size_t{1} << 18;  // values

std::vector<std::int64_t> array_shape(const PredictionColumns& columns) {
  const Shape& shape = columns.outputs;
  if (shape.is_flat()) return {columns.samples, shape.channels};
  return {columns.samples, shape.channels, shape.height, shape.width};
}

// Targets are of the outputs' shape, unless they are those of another network.
std::vector<std::int64_t> targets_shape(const PredictionColumns& columns) {
  if (columns.targets == columns.outputs.units()) return array_shape(columns);
  return {columns.samples, columns.targets};
}

}  // namespace

void PredictionArray::add(const SampleOutputs& sample) {
  const std::span<const float> outputs = sample.outputs;
  const std::size_t before = values_.size();
  values_.insert(values_.end(), outputs.begin(), outputs.end());
  if (is_classifier_) put_probabilities(outputs, std::span(values_).subspan(before));
  if (values_.size() >= kValuesAtOnce) write_rest();
}

void PredictionArray::write_rest() {
  if (!values_.empty()) write(values_);
  values_.clear();
}

NpyPredictions::NpyPredictions(const PredictionColumns& columns, const std::string& out)
    : PredictionArray(columns), file_(out) {
  file_.write(start_of_npy({"<f4", false, array_shape(columns)}));
}

void NpyPredictions::write(std::span<const float> values) {
  file_.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void NpyPredictions::finish() {
  write_rest();
  file_.finish();
}

H5Predictions::H5Predictions(const PredictionColumns& columns, const std::string& out)
    : PredictionArray(columns),
      pending_(file_behind(out)),
      file_(H5File::create(pending_.temporary())),
      dataset_(columns.is_classifier ? "/probabilities" : "/values"),
      has_targets_(columns.targets > 0) {
  remove_abandoned(pending_.path());
  file_.write_string("/", "format", "quern-predictions");
  file_.write_int64("/", "format_version", 1);
  if (!columns.class_names.empty())
    file_.write_string("/", "class_names", join_lines(columns.class_names));
  file_.create_dataset(dataset_, array_shape(columns));
  if (has_targets_) file_.create_dataset("/targets", targets_shape(columns));
}

void H5Predictions::add(const SampleOutputs& sample) {
  PredictionArray::add(sample);
  if (!has_targets_) return;
  targets_.insert(targets_.end(), sample.targets.begin(), sample.targets.end());
  if (targets_.size() >= kValuesAtOnce) write_targets();
}

void H5Predictions::write_targets() {
  if (targets_.empty()) return;
  file_.write_values_at("/targets", written_targets_, targets_);
  written_targets_ += static_cast<std::int64_t>(targets_.size());
  targets_.clear();
}

void H5Predictions::write(std::span<const float> values) {
  file_.write_values_at(dataset_, written_, values);
  written_ += static_cast<std::int64_t>(values.size());
}

void H5Predictions::finish() {
  write_rest();
  write_targets();
  file_.flush_and_sync();
  file_.close();
  pending_.commit();
}

}  // namespace quern
