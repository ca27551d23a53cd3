// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/best_option.hpp"
#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/memory_option.hpp"
#include "app/named_columns.hpp"
#include "app/out_file.hpp"
#include "app/prediction_file.hpp"
#include "app/sample_set.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/unit_text.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "device/inventory.hpp"
#include "inference/data_match.hpp"
#include "inference/feature_names.hpp"
#include "inference/forward_model.hpp"
#include "inference/prediction.hpp"
#include "io/folder_files.hpp"
#include "io/sample_checks.hpp"
#include "runtime/memory.hpp"
#include "runtime/ranks.hpp"
#include "samples/load_samples.hpp"
#include "state/load_checkpoint.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

struct PredictOptions {
  std::string checkpoint;
  SampleSetSource source;
  std::string data;
  std::string split;
  std::string memory;
  std::string out;
  int batch = 256;
  bool probabilities = false;
  bool timing = false;
  bool best = false;
};

Samples samples_of(const SampleSet& set, const SampleSetSource& source) {
  refuse_input(origins_of(source).inputs,
               find_not_finite(set.values, "values", set.content.shape.units(), set.range.first,
                               set.content.input));
  check_device_data(
      static_cast<std::int64_t>(set.images.size() + set.values.size() * sizeof(float)),
      "the samples", available_device_memory());
  Samples samples;
  samples.count = set.count;
  samples.shape = set.content.shape;
  samples.feature_names = set.content.feature_names;
  samples.images = copy_to_kernels<std::uint8_t>("quern::app::images", set.images);
  samples.values = copy_to_kernels<float>("quern::app::values", set.values);
  return samples;
}

DataSpec data_of(const Recipe& recipe, const PredictOptions& options) {
  if (options.source.inputs.empty() == options.data.empty())
    throw InputError("predict expects either --images or --data");
  if (!options.memory.empty() && options.data.empty())
    throw InputError("--memory is for shards, expected --data");
  if (options.source.as_values && options.source.inputs.empty())
    throw InputError("--as-values is of files, expected --images (shards say what they hold)");
  return with_memory(recipe.data, options.memory);
}

std::string data_name(const PredictOptions& options) {
  return "'" + (options.data.empty() ? options.source.inputs.front() : options.data) + "'";
}

// Of tables, the columns that the network was trained on.
SampleSetSource with_columns(SampleSetSource source, const std::vector<std::string>& features) {
  for (std::string& path : source.inputs) {
    const std::string chosen = path_with_columns({path, source.format}, features);
    if (chosen != path)
      log::info("the columns of '" + path + "' are taken by their names in the training data");
    path = chosen;
  }
  return source;
}

Samples read_samples(const Recipe& recipe, const PredictOptions& options,
                     const std::vector<std::string>& features, std::vector<std::string>& files) {
  SampleSetSource source = with_columns(options.source, features);
  source.in_colour = recipe.network.input.channels == 3;
  SampleSet set = read_sample_set(source);
  for (const std::string& warning : warnings_about(set, options.source)) log::warn(warning);
  files = std::move(set.image_files);
  return samples_of(set, options.source);
}

// `features`: their names in training. `files`: of each sample, where each is an image.
Samples load_samples(const ProcessGrid& grid, const Recipe& recipe, const PredictOptions& options,
                     const std::vector<std::string>& features, std::vector<std::string>& files) {
  const DataSpec data = agree(grid.world(), [&] { return data_of(recipe, options); });
  if (options.data.empty())
    return agree(grid.world(), [&] { return read_samples(recipe, options, features, files); });
  const auto choose_batches = [&](std::int64_t num_samples) {
    return agree(grid.world(), [&] {
      return prediction_batches(options.batch, grid.data().size(), num_samples);
    });
  };
  return load_samples_in_order(grid, data, choose_batches,
                               {options.data, options.split, memory_name(options.memory)});
}

// A network may have more outputs than the training data had classes.
std::vector<std::string> names_of_outputs(std::vector<std::string> names, int outputs) {
  if (!names.empty()) names.resize(static_cast<std::size_t>(outputs));
  return names;
}

bool are_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

std::string timing_text(int batch, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto below = [&](std::size_t percent) {
    return time_text(seconds[(seconds.size() * percent + 99) / 100 - 1]);
  };
  return "a batch of " + count_text(batch, "sample") + " on each rank takes " + below(50) +
         " (median of " + std::to_string(seconds.size()) + "; 99 % of them at most " + below(99) +
         ")";
}

ExitCode predict(Communicator& comm, const PredictOptions& options) {
  run_on_root(comm, [&] {
    std::vector<std::string> inputs = options.source.inputs;
    inputs.push_back(options.checkpoint);
    if (!options.data.empty())
      for (const auto& shard : regular_files(options.data)) inputs.push_back(shard.string());
    refuse_input_as_output(options.out, inputs);
    check_prediction_ending(options.out);
  });
  const SharedCheckpoint checkpoint = load_chosen(comm, options.checkpoint, options.best);
  const Recipe& recipe = checkpoint.recipe;
  ForwardModel forward(comm, recipe);
  Model& model = forward.model();
  const CheckpointState* trained = checkpoint.state();
  const std::vector<std::string> features =
      broadcast_strings(comm, trained ? trained->feature_names : std::vector<std::string>{});
  std::vector<std::string> files;
  const Samples samples = load_samples(forward.grid(), recipe, options, features, files);
  const bool is_classifier = recipe.loss.type == LossType::cross_entropy;
  const bool has_labels = samples.has_labels();
  agree(comm, [&] {
    check_feature_names(features, samples.feature_names, data_name(options));
    if (is_classifier && has_labels)
      model.check_samples(samples, data_name(options));
    else
      model.check_input(samples, data_name(options));
    prediction_batches(options.batch, forward.grid().data().size(), samples.count);
    if (options.probabilities && !is_classifier)
      throw InputError(
          "--probabilities is of classifiers, but the network was trained with another loss.type "
          "than \"cross_entropy\"; its outputs are printed without it");
  });
  run_on_root(comm, [&] {
    compare_with_training(*checkpoint.state(), samples.class_names, samples.input_name(),
                          data_name(options));
  });
  const auto most = static_cast<int>(std::min<std::int64_t>(options.batch, samples.count));
  forward.load(predictor_rows(model, std::max(1, most)), samples, checkpoint.state());
  const int num_outputs = model.whole().output_shape().units();
  std::unique_ptr<PredictionFile> file;  // rank 0 only
  const auto num_targets =
      is_classifier || !samples.has_targets() ? 0 : static_cast<int>(samples.target_units());
  run_on_root(comm, [&] {
    file = make_prediction_file(
        {is_classifier, has_labels, options.probabilities, recipe.loss, num_targets,
         model.whole().output_shape(), samples.count, std::move(files),
         names_of_outputs(checkpoint.state()->class_names, num_outputs)},
        options.out);
  });
  std::vector<double> seconds;
  std::int64_t not_finite = 0;
  quern::predict(
      forward.grid(), model, samples, options.batch,
      [&](const SampleOutputs& sample) {
        not_finite += !are_finite(sample.outputs);
        file->add(sample);
      },
      &seconds);
  run_on_root(comm, [&] {
    file->finish();
    if (not_finite > 0)
      log::warn("outputs of " + std::to_string(not_finite) + " of " +
                count_text(samples.count, "sample") + " are not finite");
  });
  if (options.timing && !seconds.empty()) {
    const std::int64_t ranks = forward.grid().data().size();
    const std::int64_t share = (samples.count + ranks - 1) / ranks;
    const auto batch = static_cast<int>(std::min<std::int64_t>(options.batch, share));
    log::info(timing_text(batch, std::move(seconds)));
  }
  return ExitCode::done;
}

}  // namespace

Command add_predict_command(CommandLine app) {
  const auto options = std::make_shared<PredictOptions>();
  CommandLine command = app.add_command(
      "predict", "Predict the class of each sample, or the network's outputs, as CSV or an array");
  command.add_option("checkpoint", options->checkpoint, "Checkpoint file or run folder")
      .required()
      .type_name("FILE|DIR");
  add_best_option(command, options->best);
  command
      .add_option("--images", options->source.inputs,
                  "Samples [n, ...]: any file that quern shard reads, also a folder of images or "
                  "single ones; adds their files")
      .type_name("FILE...");
  command.add_option("--from", options->source.format, "Format of the file")
      .one_of(file_format_names())
      .show_default();
  command.add_flag("--as-values", options->source.as_values,
                   "Bytes of --images are numbers as they are, as with quern shard --as-values");
  command
      .add_option("--data", options->data,
                  "Folder of HDF5 shards; adds the label and the loss (classifiers) or the targets "
                  "(other networks) to the output")
      .type_name("DIR");
  add_split_option(command, options->split);
  add_memory_option(command, options->memory);
  command.add_option("--batch", options->batch, "Samples that a rank takes at a time")
      .in_range(1, 1 << 20)
      .show_default();
  command.add_flag("--probabilities", options->probabilities,
                   "Classifiers: append the probabilities of all classes as CSV columns");
  command.add_flag(
      "--timing", options->timing,
      "Print to standard error how long a batch takes, without reading and writing files");
  command
      .add_option(
          "--out", options->out,
          "File, which appears once it is complete: CSV, or with the ending .npy or .h5 the "
          "probabilities of all classes, or all outputs, as one float32 array [n, ...] "
          "(default: lines of CSV go to standard output as they come)")
      .not_empty()
      .type_name("FILE");
  return {command,
          [options] {
            return run_on_ranks([&](Communicator& comm) { return predict(comm, *options); });
          },
          Started::as_ranks};
}

}  // namespace quern
