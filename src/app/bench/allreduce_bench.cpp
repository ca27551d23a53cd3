// SPDX-License-Identifier: Apache-2.0
#include "app/bench/allreduce_bench.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/bench/allreduce_report.hpp"
#include "app/bench/machine_meter.hpp"
#include "app/bench/options.hpp"
#include "app/bench/reduction_probe.hpp"
#include "app/bench/timing.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "runtime/ranks.hpp"
#include "train/batch_plan.hpp"
#include "train/load_recipe.hpp"
#include "train/model.hpp"

namespace quern {

namespace {

struct AllreduceOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::vector<std::string> overrides;
  std::vector<std::uint64_t> bytes;
  std::string mode = "both";
  int blocks = 8;  // as many as a batch has by default, at least
};

// A gradient to reduce.
struct Gradient {
  std::string workload;
  std::int64_t floats = 0;
  BatchPartition partition;
};

Gradient gradient_of_size(std::uint64_t bytes, int num_blocks, int num_ranks) {
  return {"", static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float)),
          BatchPartition(num_blocks, 1, num_ranks)};
}

Gradient gradient_of_recipe(Communicator& comm, const std::string& file,
                            const std::vector<std::string>& overrides) {
  const Recipe recipe = load_recipe(comm, file, overrides);
  return agree(comm, [&] {
    const Model model(recipe);
    const int samples = recipe.global_batch(comm.size());
    const BatchCut cut{micro_block_size(recipe.train.micro_block, samples),
                       model.network().slot_multiple(), Determinism::rank_invariant};
    return Gradient{recipe.name, model.network().table().block_size() + Loss::kColumns,
                    make_batch_plan(cut, samples, comm.rank(), comm.size()).partition};
  });
}

std::vector<Gradient> gradients(Communicator& comm, const AllreduceOptions& options) {
  std::vector<std::uint64_t> sizes = options.bytes;
  std::vector<std::string> recipes = options.recipes;
  if (sizes.empty() && recipes.empty()) {
    for (std::uint64_t bytes = 4096; bytes <= 16 << 20; bytes *= 4) sizes.push_back(bytes);
    recipes = default_recipes();
    bool found = false;
    if (comm.rank() == 0) {
      found = std::all_of(recipes.begin(), recipes.end(),
                          [](const std::string& file) { return std::filesystem::exists(file); });
    }
    if (!broadcast_value(comm, found)) recipes.clear();
  }
  std::vector<Gradient> all;
  for (const std::uint64_t bytes : sizes) {
    all.push_back(gradient_of_size(bytes, options.blocks, comm.size()));
  }
  for (const std::string& file : recipes) {
    all.push_back(gradient_of_recipe(comm, file, options.overrides));
  }
  return all;
}

std::optional<Spread> spread(const std::optional<ReductionProbe>& probe) {
  if (!probe) return std::nullopt;
  return spread_of(probe->times_s);
}

AllreduceRow measure(Communicator& comm, const Gradient& gradient,
                     const AllreduceOptions& options) {
  constexpr double kRound = 0.02;  // seconds, for each of the methods
  // Where ranks share processors with something else, a call can take a thousand times longer.
  constexpr int kMostCalls = 300;
  std::optional<ReductionProbe> invariant;
  std::optional<ReductionProbe> fast;
  std::vector<float> transport(static_cast<std::size_t>(gradient.floats));
  std::vector<double> transport_s;
  if (options.mode != "fast") {
    invariant.emplace(comm, Determinism::rank_invariant, gradient.floats, gradient.partition);
  }
  if (options.mode != "rank-invariant") {
    fast.emplace(comm, Determinism::fast, gradient.floats, gradient.partition);
  }
  const auto all_reduce = [&] { comm.all_reduce_sum(std::span(transport)); };
  const auto warm_up = [&](auto&& work) {
    const double first = time_calls(comm, 5, work);
    return calls_that_fill(kRound, first, 2, kMostCalls);
  };
  const int invariant_calls = invariant ? warm_up([&] { invariant->reduce(); }) : 0;
  const int fast_calls = fast ? warm_up([&] { fast->reduce(); }) : 0;
  const int transport_calls = warm_up(all_reduce);
  // In turn, so that what disturbs one method disturbs all.
  for (int round = 0; round < options.rounds; ++round) {
    if (invariant) {
      invariant->times_s.push_back(time_calls(comm, invariant_calls, [&] { invariant->reduce(); }));
    }
    if (fast) fast->times_s.push_back(time_calls(comm, fast_calls, [&] { fast->reduce(); }));
    transport_s.push_back(time_calls(comm, transport_calls, all_reduce));
  }
  return {gradient.workload,
          gradient.floats * static_cast<std::int64_t>(sizeof(float)),
          gradient.partition.num_blocks(),
          invariant ? invariant->num_partials() : 0,
          spread(invariant),
          spread(fast),
          spread_of(transport_s)};
}

ExitCode bench_allreduce(Communicator& comm, const AllreduceOptions& options) {
  check_json_file(comm, options.json);
  const std::vector<Gradient> all = gradients(comm, options);
  if (comm.size() == 1) log::warn("one rank: there is nothing to reduce (mpirun -n 2 quern ...)");
  MachineMeter meter(comm);
  AllreduceBenchFacts facts;
  facts.rounds = options.rounds;
  for (const Gradient& gradient : all) {
    meter.measure();
    facts.rows.push_back(measure(comm, gradient, options));
  }
  log::print(allreduce_bench_text(meter.facts(), facts));
  write_json_file(comm, options.json, allreduce_bench_json(meter.facts(), facts));
  return ExitCode::done;
}

}  // namespace

Command add_allreduce_bench(CommandLine bench) {
  const auto options = std::make_shared<AllreduceOptions>();
  options->rounds = 15;
  CommandLine command = bench.add_command(
      "allreduce", "The sum of gradients over the ranks, in both modes and against the transport");
  command.add_option("recipes", options->recipes, "Recipe files whose gradients to reduce");
  add_overrides(command, options->overrides);
  command.add_byte_sizes(
      "--bytes", options->bytes,
      "Sizes of gradients (default, without recipes: 4K to 16M and the gradients of "
      "mlp-mnist, lenet-fashion and autoencoder-mnist)");
  command
      .add_option("--blocks", options->blocks,
                  "Micro-blocks of the batch, for --bytes: decides how many partial sums a rank "
                  "hands over in rank-invariant mode")
      .in_range(1, 1 << 16)
      .show_default();
  command.add_option("--mode", options->mode, "train.determinism: rank-invariant, fast or both")
      .one_of({"rank-invariant", "fast", "both"})
      .show_default();
  add_bench_options(command, *options);
  return {
      command, [options] {
        return run_on_ranks([&](Communicator& comm) { return bench_allreduce(comm, *options); });
      }};
}

}  // namespace quern
