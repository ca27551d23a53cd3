// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/results_text.hpp"
#include "app/sample_set.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/report.hpp"
#include "comm/agree.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "runtime/ranks.hpp"
#include "train/forward_model.hpp"
#include "train/load_checkpoint.hpp"
#include "train/predictor.hpp"
#include "train/samples.hpp"

namespace quern {

namespace {

struct PredictOptions {
  std::string checkpoint;
  SampleSetSource source;
  std::string data;
  std::string split;
  std::string out;
  int batch = 256;
  bool timing = false;
};

template <class T>
View<const T> to_view(const std::string& label, const std::vector<T>& values) {
  View<T> copy(label, values.size());
  const auto host = Kokkos::create_mirror_view(copy);
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(copy, host);
  return copy;
}

Samples samples_of(const SampleSet& set) {
  check_device_data(
      static_cast<std::int64_t>(set.images.size() + set.values.size() * sizeof(float)),
      "the samples", available_device_memory());
  Samples samples;
  samples.count = set.count;
  samples.shape = set.content.shape;
  samples.images = to_view("quern::app::images", set.images);
  samples.values = to_view("quern::app::values", set.values);
  return samples;
}

std::vector<std::int32_t> labels_of(const Samples& samples) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.labels);
  return {host.data(), host.data() + host.extent(0)};
}

// A line per sample: of a classifier its class, and with labels what they are and how far off the
// network is; else the outputs.
class PredictionTable {
 public:
  PredictionTable(bool is_classifier, int outputs, const Samples& samples)
      : is_classifier_(is_classifier), labels_(labels_of(samples)) {
    text_ = "index";
    if (is_classifier_) text_ += labels_.empty() ? ",class" : ",class,label,probability,loss";
    for (int i = 0; !is_classifier_ && i < outputs; ++i) text_ += ",value" + std::to_string(i);
    text_ += '\n';
  }

  void add(std::span<const float> outputs) {
    text_ += std::to_string(count_);
    if (is_classifier_)
      add_class(outputs);
    else
      for (const float value : outputs) text_ += ',' + float_text(value);
    text_ += '\n';
    ++count_;
  }

  // To standard output where `out` is empty.
  void write(const std::string& out) {
    if (out.empty()) {
      text_.pop_back();
      return log::print(text_);
    }
    std::ofstream file(out, std::ios::trunc);
    file << text_ << std::flush;
    if (!file) throw InputError("cannot write '" + out + "'");
  }

 private:
  void add_class(std::span<const float> outputs) {
    const int label = labels_.empty() ? -1 : labels_[count_];
    const Prediction prediction = prediction_of(outputs, label);
    text_ += ',' + std::to_string(prediction.best);
    if (label < 0) return;
    text_ += ',' + std::to_string(label);
    for (const double number : {prediction.probability, prediction.loss})
      text_ += ',' + float_text(static_cast<float>(number));
  }

  bool is_classifier_;
  std::vector<std::int32_t> labels_;  // empty, or of all samples
  std::size_t count_ = 0;
  std::string text_;
};

Samples load_samples(Communicator& comm, const PredictOptions& options) {
  agree(comm, [&] {
    if (options.source.inputs.empty() == options.data.empty())
      throw InputError("predict expects either --images or --data");
  });
  if (!options.data.empty()) return load_shards(comm, options.data, options.split);
  return agree(comm, [&] { return samples_of(read_sample_set(options.source)); });
}

std::string timing_text(int batch, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto below = [&](std::size_t percent) {
    return time_text(seconds[(seconds.size() - 1) * percent / 100]);
  };
  return "a batch of " + count_text(batch, "sample") + " on each rank takes " + below(50) +
         " (median of " + std::to_string(seconds.size()) + "; 99 % of them at most " + below(99) +
         ")";
}

ExitCode predict(Communicator& comm, const PredictOptions& options) {
  const SharedCheckpoint checkpoint = load_checkpoint(comm, options.checkpoint);
  const Recipe& recipe = checkpoint.recipe;
  const Samples samples = load_samples(comm, options);
  ForwardModel forward(comm, recipe);
  Model& model = forward.model();
  const bool is_classifier = recipe.loss.type == LossType::cross_entropy;
  agree(comm, [&] {
    model.check_input(samples);
    if (is_classifier && samples.labels.size() > 0) model.check_samples(samples);
  });
  forward.load(predictor_rows(model, options.batch), samples, checkpoint.state());
  PredictionTable table(is_classifier, model.whole().output_shape().units(), samples);
  std::vector<double> seconds;
  quern::predict(
      forward.grid(), model, samples, options.batch,
      [&](std::span<const float> outputs) { table.add(outputs); }, &seconds);
  run_on_root(comm, [&] { table.write(options.out); });
  if (options.timing && !seconds.empty()) log::info(timing_text(options.batch, std::move(seconds)));
  return ExitCode::done;
}

}  // namespace

Command add_predict_command(CommandLine app) {
  const auto options = std::make_shared<PredictOptions>();
  CommandLine command = app.add_command(
      "predict", "Class of every sample, or the numbers that a network puts out, as CSV");
  command.add_option("checkpoint", options->checkpoint, "Checkpoint file or run folder")
      .required()
      .type_name("FILE|DIR");
  command
      .add_option("--images", options->source.inputs,
                  "Samples [n, ...]: any file that quern shard reads")
      .type_name("FILE...");
  command.add_option("--from", options->source.format, "Format of the file")
      .one_of(file_format_names())
      .show_default();
  command
      .add_option("--data", options->data,
                  "Folder of HDF5 shards; adds label, probability of the class, and loss")
      .type_name("DIR");
  command
      .add_option("--split", options->split,
                  "Which split to read, if the folder holds both (default: the one it holds)")
      .type_name("{train,test}");
  command.add_option("--batch", options->batch, "Samples that a rank takes at a time")
      .in_range(1, 1 << 20)
      .show_default();
  command.add_flag(
      "--timing", options->timing,
      "Print to standard error how long a batch takes, without reading and writing files");
  command.add_option("--out", options->out, "CSV file (default: standard output)")
      .type_name("FILE");
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return predict(comm, *options); });
          }};
}

}  // namespace quern
