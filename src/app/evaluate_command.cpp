// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>

#include "app/commands.hpp"
#include "app/results_text.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "device/inventory.hpp"
#include "runtime/devices.hpp"
#include "runtime/memory.hpp"
#include "runtime/ranks.hpp"
#include "train/evaluator.hpp"
#include "train/load_checkpoint.hpp"
#include "train/samples.hpp"
#include "train/snapshot.hpp"

namespace quern {

namespace {

struct EvaluateOptions {
  std::string checkpoint;
  std::string data;
  std::string split;
  bool json = false;
};

ExitCode evaluate(Communicator& comm, const EvaluateOptions& options) {
  const SharedCheckpoint checkpoint = load_checkpoint(comm, options.checkpoint);
  const Recipe& recipe = checkpoint.recipe;
  Model model = agree(comm, [&] { return Model(recipe); });
  const Samples samples = load_shards(comm, options.data, options.split);
  agree(comm, [&] { model.check_samples(samples); });

  const auto transport = connect_devices(comm, recipe.parallel.backend);
  Evaluator evaluator(comm, model, samples,
                      evaluation_batches(recipe, checkpoint.global_batch, samples.count,
                                         recipe.parallel.micro_batches),
                      transport.get());
  agree(comm, [&] {
    const std::int64_t floats = model.network().table().block_size();
    check_device_memory({samples.num_bytes(), model.network().memory_bytes(evaluator.max_rows()),
                         floats * static_cast<std::int64_t>(sizeof(float))},
                        available_device_memory());
  });
  model.allocate(evaluator.max_rows());
  restore(comm, checkpoint.state(), model.network().table(), model.parameters());
  const Evaluation result = evaluator.run(ExecSpace());

  EvaluationInfo info;
  info.checkpoint = checkpoint.loaded ? checkpoint.loaded->path().string() : "";
  info.data = options.data;
  info.step = checkpoint.loaded ? checkpoint.state()->progress.step : 0;
  info.samples = result.samples;
  info.loss = result.loss;
  if (recipe.data.target == TargetType::label) info.correct = result.correct;
  info.rmse = result.rmse();
  info.r2 = result.r2();
  info.ranks = comm.size();
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
  command.add_option("--data", options->data, "Folder of HDF5 shards").required().type_name("DIR");
  command
      .add_option("--split", options->split,
                  "Which split to read, if the folder holds both (default: the one it holds)")
      .type_name("{train,test}");
  command.add_flag("--json", options->json, "Print one JSON object instead of a sentence");
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return evaluate(comm, *options); });
          }};
}

}  // namespace quern
