// SPDX-License-Identifier: Apache-2.0
#include "app/bench_command.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "app/load_recipe.hpp"
#include "app/ranks.hpp"
#include "app/results_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/philox.hpp"
#include "base/stopwatch.hpp"
#include "comm/agree.hpp"
#include "linalg/fma_peak.hpp"
#include "train/training_step.hpp"

namespace quern {

namespace {

struct StepOptions {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string json;
  int steps = 0;
  int warmup = 20;
  int rounds = 5;
};

// Data of the recipe's shape without files: the kernels' speed does not depend on the pixels.
Samples make_samples(const Recipe& recipe, const Shape& output, int global_batch) {
  const std::int64_t count = std::max<std::int64_t>(16 * std::int64_t{global_batch}, 1024);
  if (recipe.data.source == DataSource::random) {
    return make_random_samples(recipe.seed, count, recipe.network.input, output.units());
  }
  Samples samples;
  samples.count = count;
  samples.shape = recipe.network.input;
  samples.classes = output.units();
  const auto units = static_cast<std::size_t>(samples.shape.units());
  View<std::uint8_t> images("quern::app::bench_images", static_cast<std::size_t>(count) * units);
  View<std::uint8_t> labels("quern::app::bench_labels", static_cast<std::size_t>(count));
  const std::uint32_t classes =
      std::min<std::uint32_t>(256, static_cast<std::uint32_t>(samples.classes));
  Kokkos::parallel_for(
      "quern::app::bench_samples", RangePolicy(ExecSpace(), 0, count),
      KOKKOS_LAMBDA(std::int64_t sample) {
        const auto begin = static_cast<std::size_t>(sample) * units;
        for (std::size_t u = 0; u < units; ++u) {
          images(begin + u) = static_cast<std::uint8_t>(
              random_block(1, RandomUse::samples, 1, begin + u).word[0] & 255u);
        }
        labels(static_cast<std::size_t>(sample)) = static_cast<std::uint8_t>(
            random_block(1, RandomUse::samples, 2, begin).word[0] % classes);
      });
  samples.images = images;
  samples.labels = labels;
  return samples;
}

// Seconds of `steps` steps, the slowest rank's.
double time_steps(Communicator& comm, TrainingStep& step, const Samples& samples, int steps) {
  const ExecSpace exec;
  const std::int64_t per_epoch = samples.count / step.full_batch().samples();
  comm.barrier();
  const Stopwatch watch;
  for (int i = 0; i < steps; ++i) {
    if (i % per_epoch == 0) step.set_position(i, i / per_epoch, 0);
    step.run(exec, false);
  }
  exec.fence("quern::app::bench_end");
  std::int64_t nanoseconds = static_cast<std::int64_t>(watch.seconds() * 1e9);
  comm.all_reduce_max(std::span(&nanoseconds, 1));
  return static_cast<double>(nanoseconds) * 1e-9;
}

// Enough steps that a round takes about 0.4 s.
int choose_steps(double step_s) {
  return std::clamp(static_cast<int>(0.4 / step_s), 5, 5000);
}

ExitCode bench_step(Communicator& comm, const StepOptions& options) {
  const Recipe recipe = load_recipe(comm, options.recipe, options.overrides);
  Model model = agree(comm, [&] { return Model(recipe); });
  const int global_batch = agree(comm, [&] { return recipe.global_batch(comm.size()); });
  const Samples samples = make_samples(recipe, model.network().output_shape(), global_batch);
  TrainingStep step(recipe, comm, model, samples);

  const ExecSpace exec;
  std::vector<double> peaks;
  std::vector<double> seconds;
  const double first =
      time_steps(comm, step, samples, std::max(1, options.warmup)) / std::max(1, options.warmup);
  StepBenchFacts facts;
  facts.steps = options.steps > 0 ? options.steps : choose_steps(first);
  for (int round = 0; round < options.rounds; ++round) {
    peaks.push_back(measure_fma_peak(exec));  // between the rounds: the clock may drift
    seconds.push_back(time_steps(comm, step, samples, static_cast<int>(facts.steps)) /
                      static_cast<double>(facts.steps));
  }
  std::sort(seconds.begin(), seconds.end());
  std::sort(peaks.begin(), peaks.end());
  double peak = peaks[peaks.size() / 2];
  comm.all_reduce_sum(std::span(&peak, 1));

  facts.workload = recipe.name;
  facts.device = ExecSpace::name();
  facts.ranks = comm.size();
  facts.threads = exec.concurrency();
  facts.global_batch = step.full_batch().samples();
  facts.rounds = options.rounds;
  facts.step_s = seconds[seconds.size() / 2];
  facts.fastest_step_s = seconds.front();
  facts.slowest_step_s = seconds.back();
  facts.flop_per_sample = 2.0 * static_cast<double>(model.network().training_macs());
  facts.peak_gflops = peak;
  log::print(step_bench_report(facts));
  if (!options.json.empty()) {
    run_on_root(comm, [&] {
      std::ofstream file(options.json, std::ios::trunc);
      file << step_bench_json(facts) << std::endl;
      if (!file) throw InputError("cannot write '" + options.json + "'");
    });
  }
  return ExitCode::done;
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  const auto options = std::make_shared<StepOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure the speed of this machine and program");
  command->require_subcommand(1);
  CLI::App* step = command->add_subcommand(
      "step", "Training steps of a recipe on made-up data: samples/s, fraction of the FMA peak");
  step->add_option("recipe", options->recipe, "Recipe file")->required();
  step->add_option("--set", options->overrides, "Override a key of the recipe: key.path=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  step->add_option("--steps", options->steps, "Steps of a round (default: about 0.4 s worth)")
      ->check(CLI::Range(1, 1000000));
  step->add_option("--warmup", options->warmup, "Steps before the first round")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  step->add_option("--rounds", options->rounds, "Rounds; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  step->add_option("--json", options->json, "Write the figures to this file, too");
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return bench_step(comm, *options); });
          }};
}

}  // namespace quern
