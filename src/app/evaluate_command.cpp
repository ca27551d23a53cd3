// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "app/best_option.hpp"
#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/memory_option.hpp"
#include "app/results_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "inference/class_metrics.hpp"
#include "inference/data_match.hpp"
#include "inference/evaluator.hpp"
#include "inference/feature_names.hpp"
#include "inference/forward_model.hpp"
#include "inference/output_metrics.hpp"
#include "runtime/ranks.hpp"
#include "samples/load_samples.hpp"
#include "state/load_checkpoint.hpp"

namespace quern {

namespace {

struct EvaluateOptions {
  std::string checkpoint;
  std::string data;
  std::string split;
  std::string memory;
  std::string metrics;
  bool json = false;
  bool best = false;
};

/// What --metrics asks for.
struct MetricsChoice {
  bool top5 = false;
  bool per_class = false;
  bool confusion = false;

  bool any() const { return top5 || per_class || confusion; }
};

MetricsChoice parse_metrics(const std::string& text) {
  MetricsChoice choice;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "top5")
      choice.top5 = true;
    else if (word == "per_class")
      choice.per_class = true;
    else if (word == "confusion")
      choice.confusion = true;
    else
      throw InputError("--metrics: '" + word +
                       "' is unknown, expected top5, per_class or confusion");
  }
  return choice;
}

// Class by class, or output by output: of `plane` neighbouring ones together, as of the pixels of a
// channel.
template <class Metrics>
void add_counts(const Metrics& metrics, int plane, EvaluationInfo& info) {
  const auto add = [&](std::vector<std::int64_t>& sums, auto count_of) {
    sums.resize(static_cast<std::size_t>(metrics.outputs() / plane));
    for (int i = 0; i < metrics.outputs(); ++i)
      sums[static_cast<std::size_t>(i / plane)] += count_of(i);
  };
  add(info.class_samples, [&](int i) { return metrics.wanted(i); });
  add(info.class_correct, [&](int i) { return metrics.correct(i); });
  add(info.class_predicted, [&](int i) { return metrics.predicted(i); });
}

void add_metrics(const MetricsChoice& choice, const ClassMetrics& metrics, EvaluationInfo& info) {
  if (choice.top5) info.top5 = metrics.correct_in_top();
  if (choice.per_class) add_counts(metrics, 1, info);
  for (int label = 0; choice.confusion && label < metrics.outputs(); ++label) {
    std::vector<std::int64_t>& row = info.confusion.emplace_back();
    for (int predicted = 0; predicted < metrics.outputs(); ++predicted)
      row.push_back(metrics.count(label, predicted));
  }
}

bool answers_yes_or_no(const Recipe& recipe) {
  return recipe.loss.type == LossType::binary_cross_entropy &&
         recipe.data.target == TargetType::values;
}

void check_metrics(const MetricsChoice& choice, const Recipe& recipe) {
  if (answers_yes_or_no(recipe)) {
    if (!choice.top5 && !choice.confusion) return;
    throw InputError(
        "--metrics top5 and confusion are of classifiers, and this network says yes or no for each "
        "output (expected per_class)");
  }
  if (recipe.data.target == TargetType::label) return;
  throw InputError(
      "--metrics count right answers, expected a network trained with data.target = \"label\", or "
      "with loss.type = \"binary_cross_entropy\" and data.target = \"values\"");
}

// Where --data does not say it, the test set of the training.
void take_data_of_recipe(const Recipe& recipe, EvaluateOptions& options) {
  if (!options.data.empty()) return;
  if (recipe.data.test.empty())
    throw InputError(
        "evaluate without --data takes data.test of the recipe in the checkpoint, which names none "
        "(expected --data DIR)");
  options.data = recipe.data.test;
  if (options.split.empty()) options.split = "test";
  log::info("evaluating data.test of the recipe, '" + options.data + "'");
}

ExitCode evaluate(Communicator& comm, EvaluateOptions options) {
  const MetricsChoice choice = agree(comm, [&] { return parse_metrics(options.metrics); });
  const SharedCheckpoint checkpoint = load_chosen(comm, options.checkpoint, options.best);
  Recipe recipe = checkpoint.recipe;
  agree(comm, [&] { take_data_of_recipe(recipe, options); });
  recipe.data = agree(comm, [&] { return with_memory(recipe.data, options.memory); });
  ForwardModel forward(comm, recipe);
  Model& model = forward.model();
  const Samples samples =
      load_evaluation_samples(forward.grid(), recipe, checkpoint.global_batch,
                              {options.data, options.split, memory_name(options.memory)});
  agree(comm, [&] { model.check_samples(samples, "'" + options.data + "'"); });
  run_on_root(comm, [&] {
    compare_with_training(*checkpoint.state(), samples.class_names, samples.input_name(),
                          "'" + options.data + "'");
    check_feature_names(checkpoint.state()->feature_names, samples.feature_names,
                        "'" + options.data + "'");
  });

  Evaluator evaluator(forward.grid(), model, samples,
                      evaluation_batches(recipe, checkpoint.global_batch, samples.count,
                                         recipe.parallel.micro_batches),
                      forward.transports());
  forward.load(evaluator.limit(), samples, checkpoint.state());
  std::optional<ClassMetrics> metrics;
  std::optional<OutputMetrics> of_outputs;
  if (choice.any()) {
    agree(comm, [&] {
      check_metrics(choice, recipe);
      if (answers_yes_or_no(recipe))
        of_outputs.emplace(model, samples);
      else
        metrics.emplace(model, samples);
    });
  }
  const ExecSpace exec;
  const Evaluation result = evaluator.run(exec, [&](const BatchPlan& plan) {
    if (metrics) metrics->add(exec, plan);
    if (of_outputs) of_outputs->add(exec, plan);
  });
  if (metrics) metrics->sum(comm);
  if (of_outputs) of_outputs->sum(comm);

  EvaluationInfo info;
  info.checkpoint = checkpoint.loaded ? checkpoint.loaded->path().string() : "";
  info.data = options.data;
  info.step = checkpoint.loaded ? checkpoint.state()->progress.step : 0;
  info.samples = result.samples;
  info.loss = result.loss;
  info.answers = result.answers;
  info.correct = result.correct;
  info.rmse = result.rmse();
  info.r2 = result.r2();
  if (metrics) {
    add_metrics(choice, *metrics, info);
    if (checkpoint.loaded && (choice.per_class || choice.confusion))
      info.class_names = checkpoint.state()->class_names;
  }
  if (of_outputs) {
    const Shape& output = model.whole().output_shape();
    const int plane = output.height * output.width;
    info.are_channels = plane > 1;
    add_counts(*of_outputs, plane, info);
  }
  info.ranks = comm.size();
  run_on_root(comm, [&] {
    if (!std::isfinite(result.loss))
      log::warn("the loss is not finite: outputs of the network are not, or are too large for it");
  });
  log::print(options.json ? evaluation_json(info) : evaluation_report(info));
  return ExitCode::done;
}

}  // namespace

Command add_evaluate_command(CommandLine app) {
  const auto options = std::make_shared<EvaluateOptions>();
  CommandLine command = app.add_command(
      "evaluate", "Loss and accuracy over a whole data set, exact for any number of ranks");
  command
      .add_option("checkpoint", options->checkpoint,
                  "Run folder (its newest good checkpoint) or checkpoint file")
      .required()
      .type_name("FILE|DIR");
  add_best_option(command, options->best);
  command
      .add_option("--data", options->data,
                  "Folder of HDF5 shards (default: data.test of the recipe in the checkpoint)")
      .not_empty()
      .type_name("DIR");
  add_split_option(command, options->split);
  add_memory_option(command, options->memory);
  command
      .add_option(
          "--metrics", options->metrics,
          "More about a classifier, separated by commas: top5 (accuracy among the five "
          "largest outputs), per_class (recall, precision and F1 of each class, or of each "
          "output of a network trained with binary cross entropy; where it puts out images, of "
          "each channel, with the IoU), confusion (a row for "
          "each label, a column for each predicted class)")
      .type_name("NAMES");
  command.add_flag("--json", options->json, "Print one JSON object instead of a sentence");
  return {command,
          [options] {
            return run_on_ranks([&](Communicator& comm) { return evaluate(comm, *options); });
          },
          Started::as_ranks};
}

}  // namespace quern
