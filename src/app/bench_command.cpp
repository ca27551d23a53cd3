// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/out_file.hpp"
#include "bench/benches.hpp"
#include "comm/agree.hpp"
#include "runtime/ranks.hpp"

namespace quern {

namespace {

// What all benchmarks share on the command line.
void add_bench_options(CommandLine command, BenchOptions& options) {
  command.add_option("--rounds", options.rounds, "Number of rounds; the median is reported")
      .in_range(1, 1000)
      .show_default();
  command.add_option("--json", options.json, "Write the figures to this file, too")
      .not_empty()
      .type_name("FILE");
}

std::vector<std::string> inputs_of(const StepOptions& options) {
  return {options.recipe};
}

template <class Options>
std::vector<std::string> inputs_of(const Options& options) {
  return options.recipes.empty() ? default_recipes() : options.recipes;
}

// Recipes, and the shards of --data.
std::vector<std::string> inputs_of(const IoOptions& options) {
  std::vector<std::string> inputs = inputs_of<IoOptions>(options);
  std::error_code error;
  if (options.data.empty()) return inputs;
  for (const auto& entry : std::filesystem::directory_iterator(options.data, error))
    inputs.push_back(entry.path().string());
  return inputs;
}

template <class Options>
Command run_command(CommandLine command, std::shared_ptr<Options> options,
                    ExitCode (*bench)(Communicator&, const Options&)) {
  return {command,
          [options = std::move(options), bench] {
            return run_on_ranks([&](Communicator& comm) { return bench(comm, *options); },
                                [&](Communicator& comm) {
                                  run_on_root(comm, [&] {
                                    refuse_input_as_output(options->json, inputs_of(*options));
                                  });
                                });
          },
          Started::as_ranks};
}

Command add_kernels_bench(CommandLine bench) {
  const auto options = std::make_shared<KernelsOptions>();
  CommandLine command = bench.add_command(
      "kernels",
      "Every kernel of a training step: time, Gflop/s, bytes/s, and how near it is to the limit of "
      "the machine");
  command.add_option("recipes", options->recipes,
                     "Recipe files (default: mlp-mnist, lenet-fashion, autoencoder-mnist)");
  add_set_option(command, options->overrides);
  command
      .add_option("--filter", options->filter,
                  "Show the kernels whose \"layer label\" this regular expression finds")
      .type_name("PATTERN");
  command
      .add_option("--steps", options->steps,
                  "Timed steps of a round, after 20 ms of others, at least one (default: about 0.2 "
                  "s worth)")
      .in_range(1, 1000000);
  add_bench_options(command, *options);
  return run_command(command, options, bench_kernels);
}

Command add_step_bench(CommandLine bench) {
  const auto options = std::make_shared<StepOptions>();
  CommandLine command = bench.add_command(
      "step", "Training steps of a recipe on synthetic data: samples/s, fraction of the FMA peak");
  command.add_option("recipe", options->recipe, "Recipe file").required();
  add_set_option(command, options->overrides);
  command
      .add_option("--steps", options->steps,
                  "Timed steps of a round, after 20 ms of others, at least one (default: about 0.4 "
                  "s worth)")
      .in_range(1, 1000000);
  command.add_option("--warmup", options->warmup, "Steps before anything is timed")
      .in_range(1, 1000000)
      .show_default();
  add_bench_options(command, *options);
  return run_command(command, options, bench_step);
}

Command add_allreduce_bench(CommandLine bench) {
  const auto options = std::make_shared<AllreduceOptions>();
  options->rounds = 15;
  CommandLine command = bench.add_command(
      "allreduce", "The sum of gradients over the ranks, in both modes and against the transport");
  command.add_option("recipes", options->recipes, "Recipe files whose gradients to reduce");
  add_set_option(command, options->overrides);
  command.add_byte_sizes(
      "--bytes", options->bytes,
      "Sizes of gradients (default, without recipes: 4K to 16M and the gradients of "
      "mlp-mnist, lenet-fashion and autoencoder-mnist)");
  command
      .add_option("--blocks", options->blocks,
                  "Micro-blocks of the batch, for --bytes: decides how many partial sums a rank "
                  "passes on in rank-invariant mode")
      .in_range(1, 1 << 16)
      .show_default();
  command.add_option("--mode", options->mode, "train.determinism: rank-invariant, fast or both")
      .one_of({"rank-invariant", "fast", "both"})
      .show_default();
  command.add_flag("--after-step", options->after_step,
                   "Measure the sums of the recipes after a step that each rank makes by itself, "
                   "too: as they are in training, for quern plan");
  add_bench_options(command, *options);
  return run_command(command, options, bench_allreduce);
}

Command add_io_bench(CommandLine bench) {
  const auto options = std::make_shared<IoOptions>();
  CommandLine command = bench.add_command(
      "io", "Writing and verifying checkpoints and loading shards, against plain files");
  command.add_option("recipes", options->recipes,
                     "Recipe files whose checkpoints to write (default: mlp-mnist, lenet-fashion, "
                     "autoencoder-mnist)");
  add_set_option(command, options->overrides);
  command.add_byte_sizes("--bytes", options->bytes, "Checkpoints of these sizes instead");
  command
      .add_option("--data", options->data,
                  "Folder of shards to load (default: synthetic ones of MNIST's size)")
      .not_empty()
      .type_name("DIR");
  command.add_option("--run-dir", options->run_dir, "Folder to write in; left as it was")
      .type_name("DIR")
      .show_default();
  add_bench_options(command, *options);
  return run_command(command, options, bench_io);
}

}  // namespace

Command add_bench_command(CommandLine app) {
  CommandLine bench = app.add_command("bench", "Measure the speed of this machine and program");
  bench.require_command();
  const std::vector<Command> commands = {add_kernels_bench(bench), add_step_bench(bench),
                                         add_allreduce_bench(bench), add_io_bench(bench)};
  return {bench, [commands] { return parsed_command(commands).run(); }, Started::as_ranks};
}

}  // namespace quern
