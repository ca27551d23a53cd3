// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "bench/benches.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "base/log.hpp"
#include "base/stopwatch.hpp"
#include "base/unit_text.hpp"
#include "base/version.hpp"
#include "bench/machine_meter.hpp"
#include "bench/report.hpp"
#include "bench/scratch_files.hpp"
#include "bench/timing.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "comm/serial/communicator.hpp"
#include "config/write_recipe.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "optim/optimizer.hpp"
#include "samples/load_samples.hpp"
#include "samples/shard_stream.hpp"
#include "state/snapshot.hpp"
#include "strategy/model.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/sample_stream.hpp"
#include "train/load_recipe.hpp"

namespace quern {

namespace {

template <class Work>
double seconds_of(Work&& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

// Writes, verifies and removes checkpoints of `state`, in turn with raw files of the same bytes:
// two rows, writing and reading.
std::vector<IoRow> time_checkpoint(const std::string& what, const CheckpointState& state,
                                   const ScratchFolder& scratch, int rounds) {
  const std::filesystem::path raw = scratch.path() / "raw";
  // Once before the rounds; its bytes are those of the raw file.
  const std::filesystem::path file = write_checkpoint(scratch.path(), state);
  std::vector<std::byte> bytes;
  read_raw_file(file, bytes);
  write_raw_file(raw, bytes);
  std::vector<std::byte> buffer = bytes;
  std::vector<double> writes, raw_writes, reads, raw_reads;
  for (int round = 0; round < rounds; ++round) {
    scratch.stop_if_interrupted();
    writes.push_back(seconds_of([&] { write_checkpoint(scratch.path(), state); }));
    raw_writes.push_back(seconds_of([&] { write_raw_file(raw, bytes); }));
    reads.push_back(seconds_of([&] { read_checkpoint(file); }));
    raw_reads.push_back(seconds_of([&] { read_raw_file(raw, buffer); }));
  }
  std::filesystem::remove(file);
  std::filesystem::remove(raw);
  const auto size = static_cast<std::int64_t>(bytes.size());
  return {{"checkpoint_write", what, size, 0, spread_of(writes), spread_of(raw_writes)},
          {"checkpoint_read", what, size, 0, spread_of(reads), spread_of(raw_reads)}};
}

RunOrigin bench_origin(const std::string& recipe) {
  RunOrigin origin;
  origin.recipe = recipe;
  origin.git_commit = git_commit();
  origin.version = version();
  origin.created = utc_timestamp();
  return origin;
}

// What training with this recipe would write, at its first step.
std::vector<IoRow> time_checkpoint_of(const Recipe& recipe, const ScratchFolder& scratch,
                                      int rounds) {
  Model model(recipe);
  model.allocate(kLanes);
  const ParameterTable& table = model.network().table();
  const auto optimizer = make_optimizer(recipe.optimizer, table);
  TrainState state{model.parameters(), {}, StatePlace::rank, {}};
  for (const OptimizerState& array : optimizer->state())
    state.optimizer.push_back({array.name, {array.values}});
  SerialCommunicator comm;
  Snapshot snapshot(ProcessGrid(comm), table, table, state);
  snapshot.state.origin = bench_origin(to_toml(recipe));
  return time_checkpoint(recipe.name, snapshot.state, scratch, rounds);
}

std::vector<IoRow> time_checkpoint_of(std::uint64_t bytes, const ScratchFolder& scratch,
                                      int rounds) {
  const std::vector<float> values(ceil_div(bytes, sizeof(float)), 0.5f);
  CheckpointState state;
  state.model = {{"bench.weight", {static_cast<std::int64_t>(values.size())}, values}};
  state.origin = bench_origin("");
  return time_checkpoint(bytes_text(static_cast<std::int64_t>(bytes)), state, scratch, rounds);
}

// As many images as MNIST's, in eight shards.
void write_synthetic_shards(const std::filesystem::path& folder) {
  constexpr std::size_t kCount = 60000;
  ShardSetSpec spec;
  spec.name = "bench";
  spec.split = "train";
  spec.shape = Shape{1, 28, 28};
  spec.classes = 10;
  spec.num_shards = 8;
  std::mt19937 random(1);
  std::vector<std::uint8_t> images(kCount * static_cast<std::size_t>(spec.shape.units()));
  for (std::uint8_t& pixel : images) pixel = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> labels(kCount);
  for (std::size_t i = 0; i < kCount; ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  write_shards(folder, spec, images, labels, Overwrite::no);
}

// The files of the set that fall to this rank when all ranks share the reading.
std::vector<std::filesystem::path> own_files(const Communicator& comm, const ShardSet& shards) {
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < shards.shards().size(); ++i) {
    if (static_cast<int>(i) % comm.size() == comm.rank()) files.push_back(shards.shards()[i].path);
  }
  return files;
}

// All ranks load the data set as at the start of training: read, verified, one copy per node.
IoRow time_shards(Communicator& comm, const std::string& folder, const std::string& what,
                  const ScratchFolder* scratch, int rounds) {
  const ShardSet shards = agree(comm, [&] { return ShardSet::open(folder, ""); });
  const auto files = own_files(comm, shards);
  std::vector<std::vector<std::byte>> buffers(files.size());
  const auto read_raw = [&] {
    for (std::size_t i = 0; i < files.size(); ++i) read_raw_file(files[i], buffers[i]);
  };
  const auto load = [&] { load_shards(comm, folder, shards.split()); };
  load();
  agree(comm, read_raw);
  std::vector<double> seconds, raw_seconds;
  for (int round = 0; round < rounds; ++round) {
    run_on_root(comm, [&] { scratch->stop_if_interrupted(); });
    seconds.push_back(time_together(comm, load));
    raw_seconds.push_back(time_together(comm, [&] { agree(comm, read_raw); }));
  }
  return {"shards_read",         what, shards.stored_bytes(), shards.count(), spread_of(seconds),
          spread_of(raw_seconds)};
}

// Half of a smaller set has no room for windows.
constexpr std::int64_t kFewestStreamed = 64;

// A set on its way to all ranks, as in training with half of it in memory, with nothing to compute.
class StreamedRun {
 public:
  StreamedRun(Communicator& comm, const ShardSet& shards) : comm_(comm) {
    Recipe recipe;
    recipe.data.global_batch =
        static_cast<int>(std::clamp<std::int64_t>(shards.count() / kFewestStreamed, 1, 256));
    recipe.data.memory = shards.count() * shards.content().memory_bytes() / 2;
    recipe.train.epochs = 2;
    samples_ = stream_training_shards(make_grid(comm, recipe), recipe, shards);
  }

  // Enters each window from the one before the epoch's first on: the stream is a window ahead.
  void read_epoch(std::int64_t epoch) {
    const WindowPlan& plan = samples_.stream->plan();
    const std::int64_t first = epoch * plan.windows;
    agree(comm_, [&] {
      for (std::int64_t i = std::max<std::int64_t>(first - 1, 0); i < first + plan.windows - 1;
           ++i) {
        const std::int64_t last_step = plan.first_step(i % plan.windows + 1) - 1;
        samples_.stream->prepare(i / plan.windows, last_step * plan.batch);
      }
    });
  }

 private:
  Communicator& comm_;
  Samples samples_;
};

// Two rows: the first epoch of a run, where every block is verified, and its second. `cold`: the
// system is asked to drop its copies of the files before each of them, and before they are read
// plainly, file after file.
std::vector<IoRow> time_stream(Communicator& comm, const std::string& folder,
                               const std::string& what, const ScratchFolder* scratch, int rounds,
                               bool cold) {
  const ShardSet shards = agree(comm, [&] { return ShardSet::open(folder, ""); });
  const auto files = own_files(comm, shards);
  // As much memory as the stream has: half of the set.
  std::vector<std::vector<std::byte>> buffers(std::max<std::size_t>(1, files.size() / 2));
  const auto read_raw = [&] {
    agree(comm, [&] {
      for (std::size_t i = 0; i < files.size(); ++i)
        read_raw_file(files[i], buffers[i % buffers.size()]);
    });
  };
  const auto time = [&](const auto& work) {
    if (cold) {
      agree(comm, [&] {
        for (const auto& file : files) drop_cached_file(file);
      });
    }
    return time_together(comm, work);
  };
  read_raw();
  std::vector<double> first, second, raw;
  for (int round = 0; round < rounds; ++round) {
    run_on_root(comm, [&] { scratch->stop_if_interrupted(); });
    StreamedRun run(comm, shards);
    first.push_back(time([&] { run.read_epoch(0); }));
    second.push_back(time([&] { run.read_epoch(1); }));
    raw.push_back(time(read_raw));
  }
  const auto row = [&](const char* operation, const std::vector<double>& seconds) {
    return IoRow{operation,      what, shards.stored_bytes(), shards.count(), spread_of(seconds),
                 spread_of(raw), cold};
  };
  return {row("shards_streamed", first), row("shards_streamed_again", second)};
}

std::vector<IoRow> time_checkpoints(Communicator& comm, const ScratchFolder* scratch,
                                    const IoOptions& options) {
  std::vector<IoRow> rows;
  const auto add = [&](const auto& of) {
    run_on_root(comm, [&] {
      for (IoRow& row : time_checkpoint_of(of, *scratch, options.rounds)) rows.push_back(row);
    });
  };
  for (const std::uint64_t bytes : options.bytes) add(bytes);
  if (!options.recipes.empty() || options.bytes.empty()) {
    for (const std::string& file : recipes_or_default(comm, options.recipes)) {
      add(load_recipe(comm, file, options.overrides));
    }
  }
  return rows;
}

}  // namespace

ExitCode bench_io(Communicator& comm, const IoOptions& options) {
  check_json_file(comm, options.json);
  if (options.recipes.empty() && !options.bytes.empty() && !options.overrides.empty()) {
    throw AgreedError(
        comm,
        "--set without a recipe (expected recipes: --bytes takes the place of the usual ones)",
        ExitCode::bad_input);
  }
  if (!options.data.empty()) run_on_root(comm, [&] { ShardSet::open(options.data, ""); });
  std::optional<ScratchFolder> scratch;
  run_on_root(comm, [&] { scratch.emplace(options.run_dir); });
  MachineMeter meter(comm);
  meter.measure();

  IoBenchInfo info;
  info.folder = options.run_dir;
  info.rounds = options.rounds;
  const ScratchFolder* here = scratch ? &*scratch : nullptr;  // rank 0 only
  info.rows = time_checkpoints(comm, here, options);
  meter.measure();
  std::string folder = options.data;
  if (folder.empty()) {
    run_on_root(comm, [&] {
      folder = here->path() / "shards";
      write_synthetic_shards(folder);
    });
    folder = broadcast_string(comm, folder);
  }
  const std::string what = options.data.empty() ? "synthetic" : options.data;
  info.rows.push_back(time_shards(comm, folder, what, here, options.rounds));
  if (info.rows.back().samples >= kFewestStreamed) {
    for (const bool cold : {false, true})
      for (IoRow& row : time_stream(comm, folder, what, here, options.rounds, cold))
        info.rows.push_back(std::move(row));
  }
  meter.measure();
  log::print(io_bench_text(meter.info(), info));
  write_json_file(comm, options.json, io_bench_json(meter.info(), info));
  return ExitCode::done;
}

}  // namespace quern
