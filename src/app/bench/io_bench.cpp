// SPDX-License-Identifier: Apache-2.0
#include "app/bench/io_bench.hpp"

#include <memory>
#include <optional>
#include <random>

#include "app/bench/checkpoint_probe.hpp"
#include "app/bench/machine_meter.hpp"
#include "app/bench/options.hpp"
#include "app/bench/raw_file.hpp"
#include "app/bench/text.hpp"
#include "app/bench/timing.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "config/write_recipe.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "runtime/ranks.hpp"
#include "train/load_recipe.hpp"
#include "train/model.hpp"
#include "train/snapshot.hpp"

namespace quern {

namespace {

struct IoOptions : BenchOptions {
  std::vector<std::string> recipes;
  std::vector<std::string> overrides;
  std::vector<std::uint64_t> bytes;
  std::string data;
  std::string run_dir = ".";
};

RunOrigin made_up_origin(const std::string& recipe) {
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
  const auto optimizer = make_optimizer(recipe.optimizer, table.block_size());
  Snapshot snapshot(table, model.parameters(), optimizer.get());
  snapshot.state.origin = made_up_origin(to_toml(recipe));
  return time_checkpoint(recipe.name, snapshot.state, scratch, rounds);
}

std::vector<IoRow> time_checkpoint_of(std::uint64_t bytes, const ScratchFolder& scratch,
                                      int rounds) {
  const std::vector<float> values((bytes + sizeof(float) - 1) / sizeof(float), 0.5f);
  CheckpointState state;
  state.model = {{"bench.weight", {static_cast<std::int64_t>(values.size())}, values}};
  state.origin = made_up_origin("");
  return time_checkpoint(bytes_text(static_cast<double>(bytes)), state, scratch, rounds);
}

// As many images as MNIST's, in eight shards.
void write_made_up_shards(const std::filesystem::path& folder) {
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
  return {"shards_read",
          what,
          shards.image_bytes() + shards.label_bytes(),
          shards.count(),
          spread_of(seconds),
          spread_of(raw_seconds)};
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

ExitCode bench_io(Communicator& comm, const IoOptions& options) {
  check_json_file(comm, options.json);
  if (!options.data.empty()) run_on_root(comm, [&] { ShardSet::open(options.data, ""); });
  std::optional<ScratchFolder> scratch;
  run_on_root(comm, [&] { scratch.emplace(options.run_dir); });
  MachineMeter meter(comm);
  meter.measure();

  IoBenchFacts facts;
  facts.folder = options.run_dir;
  facts.rounds = options.rounds;
  const ScratchFolder* here = scratch ? &*scratch : nullptr;  // rank 0 only
  facts.rows = time_checkpoints(comm, here, options);
  meter.measure();
  std::string folder = options.data;
  if (folder.empty()) {
    run_on_root(comm, [&] {
      folder = here->path() / "shards";
      write_made_up_shards(folder);
    });
    folder = broadcast_string(comm, folder);
  }
  const std::string what = options.data.empty() ? "made up" : options.data;
  facts.rows.push_back(time_shards(comm, folder, what, here, options.rounds));
  meter.measure();
  log::print(io_bench_text(meter.facts(), facts));
  write_json_file(comm, options.json, io_bench_json(meter.facts(), facts));
  return ExitCode::done;
}

}  // namespace

Command add_io_bench(CommandLine bench) {
  const auto options = std::make_shared<IoOptions>();
  CommandLine command = bench.add_command(
      "io", "Writing and verifying checkpoints and loading shards, against plain files");
  command.add_option("recipes", options->recipes,
                     "Recipe files whose checkpoints to write (default: mlp-mnist, lenet-fashion, "
                     "autoencoder-mnist)");
  add_overrides(command, options->overrides);
  command.add_byte_sizes("--bytes", options->bytes, "Checkpoints of these sizes instead");
  command.add_option("--data", options->data,
                     "Folder of shards to load (default: made-up ones of MNIST's size)");
  command.add_option("--run-dir", options->run_dir, "Folder to write in; left as it was")
      .show_default();
  add_bench_options(command, *options);
  return {command, [options] {
            return run_on_ranks([&](Communicator& comm) { return bench_io(comm, *options); });
          }};
}

}  // namespace quern
