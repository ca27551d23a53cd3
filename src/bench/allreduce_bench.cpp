// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "bench/benches.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bench/lone_step.hpp"
#include "bench/machine_meter.hpp"
#include "bench/report.hpp"
#include "bench/timing.hpp"
#include "comm/agree.hpp"
#include "comm/device_transport.hpp"
#include "comm/exchange.hpp"
#include "parallel/device_stream.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/halving.hpp"
#include "parallel/make_reducer.hpp"
#include "plan/step_demand.hpp"
#include "runtime/devices.hpp"
#include "spec/training_spec.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/model.hpp"
#include "strategy/recipe_grid.hpp"
#include "train/load_recipe.hpp"

namespace quern {

namespace {

/// A gradient reduction of one size to be timed, in one mode of determinism.
class ReductionProbe {
 public:
  /// Collective. Reduced as in training: through shared memory inside a node, between devices. A
  /// gradient of `num_floats` (>= 1) floats, zeros: adding does not take longer for other numbers.
  ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                 const BatchPartition& partition);

  /// Partial sums that this rank passes on.
  int num_partial_sums() const { return num_partial_sums_; }
  /// Collective.
  void reduce();

  std::vector<double> times_s;             ///< one value a round
  std::vector<double> times_after_step_s;  ///< the same after a step of every rank

 private:
  ExecSpace exec_;
  std::unique_ptr<DeviceTransport> transport_;
  std::unique_ptr<GradientReducer> reducer_;
  ReductionPlan plan_{};
  int num_partial_sums_ = 0;
};

ReductionProbe::ReductionProbe(Communicator& comm, Determinism mode, std::int64_t num_floats,
                               const BatchPartition& partition)
    : transport_(connect_devices(comm, CommBackend::automatic)),
      reducer_(make_reducer(comm, transport_.get(), num_floats,
                            mode == Determinism::fast ? SumOrder::ranks : SumOrder::tree)) {
  num_partial_sums_ = reducer_->num_partial_sums(partition, comm.rank());
  plan_ = reducer_->add_plan(partition);
  reducer_->allocate();
}

void ReductionProbe::reduce() {
  reducer_->reduce(exec_, plan_);
  if constexpr (!kHostExecution) exec_.fence("quern::bench::reduction_probe");
}

// A gradient to reduce.
struct Gradient {
  std::string workload;
  std::int64_t floats = 0;
  BatchPartition partition;
  std::optional<Recipe> own_step = {};  ///< what a rank computes before, by itself
};

std::optional<ExchangeLoad> load_of(const Gradient& gradient, int ranks_per_node) {
  const auto halving =
      make_lighter_halving(gradient.partition, gradient.floats + 1, 0, ranks_per_node);
  return halving ? std::optional(halving->load) : std::nullopt;
}

Gradient gradient_of_size(std::uint64_t bytes, int num_blocks, int num_ranks) {
  return {"", static_cast<std::int64_t>(ceil_div(bytes, sizeof(float))),
          BatchPartition(num_blocks, 1, num_ranks)};
}

Gradient gradient_of_recipe(Communicator& comm, const std::string& file,
                            const std::vector<std::string>& overrides) {
  const Recipe recipe = load_recipe(comm, file, overrides);
  return agree(comm, [&] {
    const Model model(recipe);
    // No data is loaded: there are samples for full batches.
    const BatchRule batches = training_batches(recipe, comm.size(), kMaxGlobalBatch);
    const BatchCut cut = batches.cut(model.network().row_multiple());
    return Gradient{recipe.name, model.network().table().reduced_size() + Loss::kColumns,
                    make_batch_plan(cut, batches.full_batch, comm.rank(), comm.size()).partition};
  });
}

/// What the rank with most samples computes of a batch that all share. AgreedError (exit 2) where
/// they also share the network.
Recipe own_step_of(Communicator& comm, const std::string& file,
                   const std::vector<std::string>& overrides) {
  const Recipe given = load_recipe(comm, file, overrides);
  const StepDemand demand = agree(comm, [&] {
    const Recipe recipe = with_strategy(given, comm.size());
    if (recipe.parallel.pipeline > 1 || recipe.parallel.tensor > 1) {
      throw InputError("--after-step: the ranks of '" + recipe.name +
                       "' share the network, so none makes a step by itself (expected "
                       "parallel.pipeline = 1 and parallel.tensor = 1)");
    }
    return StepDemands(recipe).of(recipe, comm.size(), comm.node_size());
  });
  return recipe_of_batch(comm, file, overrides, comm.size(), demand.block_samples, demand.samples);
}

/// Options that say something of recipes. AgreedError (exit 2).
void refuse_without_recipes(Communicator& comm, const AllreduceOptions& options) {
  const char* option = options.after_step           ? "--after-step"
                       : !options.overrides.empty() ? "--set"
                                                    : nullptr;
  if (!option) return;
  throw AgreedError(comm,
                    std::string(option) +
                        " without a recipe (expected recipes: what is measured "
                        "are gradients of so many bytes alone)",
                    ExitCode::bad_input);
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
  if (recipes.empty()) refuse_without_recipes(comm, options);
  std::vector<Gradient> all;
  for (const std::uint64_t bytes : sizes) {
    all.push_back(gradient_of_size(bytes, options.blocks, comm.size()));
  }
  for (const std::string& file : recipes) {
    all.push_back(gradient_of_recipe(comm, file, options.overrides));
    if (options.after_step) all.back().own_step = own_step_of(comm, file, options.overrides);
  }
  return all;
}

std::optional<Spread> spread(const std::optional<ReductionProbe>& probe) {
  if (!probe) return std::nullopt;
  return spread_of(probe->times_s);
}

std::optional<Spread> spread_after_step(const std::optional<ReductionProbe>& probe) {
  if (!probe || probe->times_after_step_s.empty()) return std::nullopt;
  return spread_of(probe->times_after_step_s);
}

/// In every round the steps by themselves, and with a sum of each mode after each: the difference
/// has what the two take from each other, of caches and of turns on the cores.
void measure_after_step(Communicator& comm, const Recipe& own_step, int rounds,
                        const std::vector<ReductionProbe*>& probes) {
  constexpr double kRound = 0.05;  // seconds, for each
  constexpr int kLeastSteps = 5;
  constexpr int kMostSteps = 300;
  const ExecSpace exec = make_instance();
  LoneStep alone(own_step);
  const auto step = [&] { alone.run(exec, 1); };
  time_calls(comm, kLeastSteps, step);
  const int steps =
      calls_that_fill(kRound, time_calls(comm, kLeastSteps, step), kLeastSteps, kMostSteps);
  for (int round = 0; round < rounds; ++round) {
    const double step_s = time_calls(comm, steps, step);
    for (ReductionProbe* probe : probes) {
      const auto step_and_sum = [&] {
        step();
        probe->reduce();
      };
      probe->times_after_step_s.push_back(time_calls(comm, steps, step_and_sum) - step_s);
    }
  }
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
  if (gradient.own_step) {
    std::vector<ReductionProbe*> probes;
    if (invariant) probes.push_back(&*invariant);
    if (fast) probes.push_back(&*fast);
    measure_after_step(comm, *gradient.own_step, options.rounds, probes);
  }
  return {gradient.workload,
          gradient.floats * static_cast<std::int64_t>(sizeof(float)),
          gradient.partition.num_blocks(),
          invariant ? invariant->num_partial_sums() : 0,
          spread(invariant),
          spread(fast),
          spread_of(transport_s),
          spread_after_step(invariant),
          spread_after_step(fast),
          invariant && kHostExecution ? load_of(gradient, comm.node_size()) : std::nullopt};
}

}  // namespace

ExitCode bench_allreduce(Communicator& comm, const AllreduceOptions& options) {
  check_json_file(comm, options.json);
  const std::vector<Gradient> all = gradients(comm, options);
  if (comm.size() == 1) log::warn("one rank: there is nothing to reduce (mpirun -n 2 quern ...)");
  MachineMeter meter(comm);
  AllreduceBenchInfo info;
  info.rounds = options.rounds;
  for (const Gradient& gradient : all) {
    meter.measure();
    info.rows.push_back(measure(comm, gradient, options));
  }
  log::print(allreduce_bench_text(meter.info(), info));
  write_json_file(comm, options.json, allreduce_bench_json(meter.info(), info));
  return ExitCode::done;
}

}  // namespace quern
