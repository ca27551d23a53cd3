// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/lost_columns.hpp"
#include "app/new_shards.hpp"
#include "app/sample_order.hpp"
#include "app/sample_set.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/number_runs.hpp"
#include "base/text.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "io/shard_format.hpp"
#include "io/shard_writer.hpp"
#include "readers/sample_file.hpp"
#include "runtime/ranks.hpp"

namespace quern {

namespace {

struct ShardOptions {
  SampleSetSource source;
  std::string out;
  std::string split = "train";
  std::string name;
  int shards = 1;
  int shuffle = kInOrder;                // the seed
  std::vector<double> hold_out;          // shares of all samples
  std::vector<std::string> hold_out_to;  // a folder for each
  bool force = false;

  static constexpr int kInOrder = -1;
};

// data/fashion-mnist/train for split train: the folder above names the data set.
std::string default_name(const ShardOptions& options) {
  std::filesystem::path folder = std::filesystem::absolute(options.out).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();
  if (folder.filename() == options.split) folder = folder.parent_path();
  return folder.filename().string();
}

const char* describe(Sha256Match match) {
  switch (match) {
    case Sha256Match::file:
      return ", SHA-256 of the file as expected";
    case Sha256Match::content:
      return ", SHA-256 of the unpacked content as expected";
    case Sha256Match::not_asked:
      break;
  }
  return "";
}

void report_sha256(const std::string& path, Sha256Match match) {
  if (match != Sha256Match::not_asked) log::print(printable(path) + describe(match));
}

// "60000 images [1, 28, 28], 10 classes", "500 samples of float32 [3], targets [1]"
std::string describe(const ShardContent& content, std::int64_t count) {
  const std::string samples = content.has_pixels()
                                  ? count_text(count, "image")
                                  : count_text(count, "sample") + " of " + to_string(content.input);
  std::string text = fmt::format("{} {}", samples, image_text(content.shape, content.has_pixels()));
  if (content.has_labels()) text += ", " + count_text(content.classes, "class");
  if (content.has_targets()) {
    text += fmt::format(", targets {}", to_string(content.target_shape));
  }
  return text;
}

// Consecutive shards, so that a rank keeps consecutive samples.
int first_shard(int num_shards, int rank, int num_ranks) {
  return static_cast<int>(std::int64_t{num_shards} * rank / num_ranks);
}

// Each rank has seen the labels of its own samples alone.
void agree_on_classes(Communicator& comm, SampleSet& set) {
  std::int64_t classes = set.content.classes;
  comm.all_reduce_max(std::span(&classes, 1));
  if (set.content.has_labels()) set_classes(set, static_cast<int>(classes));
}

// Each rank has read its own images alone.
void agree_on_losses(Communicator& comm, ImageLosses& losses) {
  std::int64_t found[] = {losses.depth, losses.transparency};
  comm.all_reduce_max(found);
  losses = {found[0] != 0, found[1] != 0};
}

// As images are divided, so that masks of 0 and 255 become probabilities. Masks of 0 and 1 are
// some already. Collective.
void divide_targets(Communicator& comm, const ShardOptions& options, SampleSet& set) {
  constexpr std::int64_t kByte = 255;
  constexpr std::int64_t kMostClasses = 32;
  if (!set.targets_are_bytes) return;
  std::int64_t largest = 0;
  for (const float value : set.targets)
    largest = std::max(largest, static_cast<std::int64_t>(value));
  comm.all_reduce_max(std::span(&largest, 1));
  if (largest <= 1) return;
  for (float& value : set.targets) value /= static_cast<float>(kByte);
  const std::string files = origins_of(options.source).answers;
  if (largest < kMostClasses) {
    log::warn(fmt::format(
        "{}: images whose largest value is {} were divided by 255: maps of class numbers are not "
        "supported as targets (a mask of 0 and 255, or a channel of a .npy file, for each class)",
        files, largest));
  } else {
    log::info(files + ": the images' bytes are divided by 255, as those of inputs are");
  }
}

void warn(const ShardOptions& options, const SampleSet& set) {
  for (const std::string& warning : warnings_about(set, options.source)) log::warn(warning);
  // Of a test set it is meant: its classes are those of the training set.
  if (options.split == "train" && !set.empty_class.empty())
    log::warn(fmt::format("'{}' holds no images: no sample is of this class", set.empty_class));
}

// "0, 8 to 98"
std::string classes_text(const std::vector<int>& classes) {
  std::string text;
  for (const auto& [first, last] : number_runs(classes)) {
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(last);
  }
  return text;
}

// Labels that begin with 1, or one that is far too large, make classes that nobody meant.
// Collective. A test set may well lack some of the training set's.
void warn_of_empty_classes(Communicator& comm, const ShardOptions& options, const SampleSet& set) {
  if (!set.content.has_labels()) return;
  if (options.split != "train" || !set.empty_class.empty()) return;
  std::vector<std::int64_t> samples(static_cast<std::size_t>(set.content.classes));
  for (const std::int32_t label : set.labels) ++samples[static_cast<std::size_t>(label)];
  comm.all_reduce_sum(std::span(samples));
  std::vector<int> empty;
  for (int label = 0; label < set.content.classes; ++label)
    if (samples[static_cast<std::size_t>(label)] == 0) empty.push_back(label);
  if (empty.empty() || comm.rank() != 0) return;
  log::warn(fmt::format("of {} classes {} {} no sample: {}", set.content.classes, empty.size(),
                        empty.size() == 1 ? "has" : "have",
                        printable_start(classes_text(empty), 100)));
}

void warn_of_rows_of_bytes(const ShardOptions& options, const SampleSet& set) {
  const Shape& shape = set.content.shape;
  if (!set.content.has_pixels() || shape.height > 1 || shape.width > 1) return;
  log::warn(fmt::format(
      "{}: rows of bytes are taken as pixels, which networks read divided by 255 (--as-values "
      "takes them as the numbers that they are)",
      origins_of(options.source).inputs));
}

// Bytes that another library has made integers or floats: networks learn slowly from such large
// numbers. Rows with a few numbers are more likely counts. Collective.
void warn_of_pixels_as_values(Communicator& comm, const ShardOptions& options,
                              const SampleSet& set) {
  constexpr std::int64_t kLeastUnits = 64;
  constexpr float kLargestByte = 255;
  if (set.content.has_pixels() || options.source.as_values) return;
  if (set.content.shape.units() < kLeastUnits) return;
  const bool are_bytes = std::all_of(set.values.begin(), set.values.end(), [](float value) {
    return value >= 0 && value <= kLargestByte && value == std::floor(value);
  });
  const bool is_above_one =
      std::any_of(set.values.begin(), set.values.end(), [](float value) { return value > 1; });
  std::int64_t found[] = {!are_bytes, is_above_one};
  comm.all_reduce_max(found);
  if (found[0] != 0 || found[1] == 0 || comm.rank() != 0) return;
  log::warn(fmt::format(
      "{}: all values are whole numbers from 0 to 255, which looks like pixels: save them as "
      "uint8, "
      "which networks read divided by 255, or train with data.normalize = \"dataset\" (--as-values "
      "says that they are values)",
      origins_of(options.source).inputs));
}

void warn_of_lost_columns(Communicator& comm, const ShardOptions& options, const SampleSet& set) {
  const std::vector<std::string> sentences = lost_columns(comm, set, options.source);
  if (comm.rank() != 0) return;
  for (const std::string& sentence : sentences) log::warn(sentence);
}

void check_same_samples(Communicator& comm, const SampleSet& set) {
  const std::string mine = describe(set.content, set.count);
  const std::string first = broadcast_string(comm, mine);
  agree(comm, [&] {
    if (mine != first) {
      throw InputError(
          fmt::format("found {}, but rank 0 found {}: expected a file system that all "
                      "ranks share",
                      mine, first));
    }
  });
}

void report(const ShardOptions& options, const std::vector<NewShards>& sets) {
  report_sha256(options.source.inputs.front(), sets.front().set.input_sha256);
  report_sha256(options.source.labels.path, sets.front().set.answer_sha256);
  for (const auto& [folder, name, set, first, last] : sets) {
    for (int index = 0; index < name.num_shards; ++index) {
      const auto path = std::filesystem::path(folder) /
                        to_string(ShardFileName{name.name, name.split, index, name.num_shards});
      log::print(fmt::format("{}  samples {} to {}", printable(path.string()),
                             set.count * index / name.num_shards,
                             set.count * (index + 1) / name.num_shards - 1));
    }
    log::print(fmt::format("{} {}: {}, {} in {}", name.name, name.split,
                           describe(set.content, set.count), count_text(name.num_shards, "shard"),
                           printable(folder)));
  }
}

// "a/train" and "a/x/../train/" are one.
bool is_same_folder(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::path(path) / "");
  };
  return plain(a) == plain(b);
}

void check_held_out(const ShardOptions& options) {
  if (options.hold_out.size() != options.hold_out_to.size())
    throw InputError(
        fmt::format("--hold-out is given {}, --hold-out-to {}, expected a folder for each share",
                    count_text(std::ssize(options.hold_out), "time"),
                    count_text(std::ssize(options.hold_out_to), "time")));
  if (options.hold_out.empty()) return;
  for (const double share : options.hold_out) check_share(share);
  const double sum = std::accumulate(options.hold_out.begin(), options.hold_out.end(), 0.0);
  if (sum >= 1)
    throw InputError(
        fmt::format("the shares of --hold-out add up to {}, expected less than 1", sum));
  if (options.split != "train")
    throw InputError("--hold-out takes a test set out of a training set, expected --split train");
  std::vector<std::string> folders = {options.out};
  for (const std::string& folder : options.hold_out_to) {
    for (const std::string& other : folders)
      if (is_same_folder(folder, other))
        throw InputError(
            fmt::format("--hold-out-to '{}' is the folder of {}, expected another", folder,
                        &other == &folders.front() ? "--out" : "another --hold-out-to"));
    folders.push_back(folder);
  }
}

// Before anything is read. One rank has to hold all samples.
void check_order_options(Communicator& comm, const ShardOptions& options) {
  const bool orders = options.shuffle != ShardOptions::kInOrder;
  agree(comm, [&] {
    if (orders && comm.size() > 1)
      throw InputError(
          fmt::format("--shuffle needs all samples on one rank, found {} ranks", comm.size()));
    check_held_out(options);
  });
}

// The first share is the end of the shuffled samples, the next one what comes before.
void hold_out(const ShardOptions& options, std::vector<NewShards>& sets) {
  const std::int64_t whole = sets.front().set.count;
  for (std::size_t i = 0; i < options.hold_out.size(); ++i) {
    const std::int64_t count = held_out_samples(options.hold_out[i], whole);
    NewShards& train = sets.front();
    if (count >= train.set.count)
      throw InputError(fmt::format("--hold-out: nothing of {} is left to train with",
                                   count_text(whole, "sample")));
    NewShards test;
    test.folder = options.hold_out_to[i];
    test.set = split_off(train.set, count);
    test.last = static_cast<int>(std::min<std::int64_t>(options.shards, count));
    test.name = {train.name.name, "test", test.last};
    sets.push_back(std::move(test));
  }
}

ExitCode make_shards(Communicator& comm, const ShardOptions& options) {
  check_order_options(comm, options);
  NewShards read;
  read.folder = options.out;
  read.first = first_shard(options.shards, comm.rank(), comm.size());
  read.last = first_shard(options.shards, comm.rank() + 1, comm.size());
  read.name = {options.name.empty() ? default_name(options) : options.name, options.split,
               options.shards};
  const ChooseRange choose_own = [&](std::int64_t total) {
    const std::int64_t begin = total * read.first / options.shards;
    return SampleRange{begin, total * read.last / options.shards - begin};
  };
  const ChooseRange choose = comm.size() == 1 ? ChooseRange() : choose_own;
  read.set = agree(comm, [&] { return read_sample_set(options.source, choose); });
  agree_on_classes(comm, read.set);
  agree_on_losses(comm, read.set.losses);
  check_same_samples(comm, read.set);
  divide_targets(comm, options, read.set);
  // Before they are shuffled: messages tell a sample's number in the files.
  check_values(comm, read, origins_of(options.source));
  if (options.shuffle != ShardOptions::kInOrder)
    shuffle_samples(read.set, static_cast<std::uint64_t>(options.shuffle));
  std::vector<NewShards> sets;
  sets.push_back(std::move(read));
  agree(comm, [&] { hold_out(options, sets); });
  write_together(comm, sets, options.force ? Overwrite::yes : Overwrite::no);
  warn(options, sets.front().set);
  warn_of_rows_of_bytes(options, sets.front().set);
  warn_of_pixels_as_values(comm, options, sets.front().set);
  warn_of_lost_columns(comm, options, sets.front().set);
  warn_of_empty_classes(comm, options, sets.front().set);
  if (comm.rank() == 0) report(options, sets);
  return ExitCode::done;
}

}  // namespace

Command add_shard_command(CommandLine app) {
  const auto options = std::make_shared<ShardOptions>();
  SampleSetSource& source = options->source;
  CommandLine command = app.add_command(
      "shard",
      "Convert samples (IDX, NumPy, HDF5, CSV, CIFAR, image folders) to HDF5 shards; alone or "
      "under mpirun");
  command
      .add_option(
          "--images", source.inputs,
          "Samples [n, ...]: IDX or .npy (plain or gzip), FILE.npz:NAME, FILE.h5:/NAME, "
          "CIFAR, a table FILE.csv or FILE.csv:COLUMNS, or images: a folder with a folder "
          "for each class, a folder without, or single files. Several files follow one another. "
          "Bytes are pixels unless --as-values, other numbers are values")
      .required()
      .type_name("FILE...");
  const Option labels =
      command.add_option("--labels", source.labels.path, "The class of each sample, [n]")
          .not_empty()
          .type_name("FILE");
  command
      .add_option("--targets", source.targets.path,
                  "Instead of labels: numbers that are to be predicted for each sample, [n, ...]; "
                  "or a folder of images, divided by 255")
      .not_empty()
      .type_name("FILE")
      .excludes(labels);
  command.add_option("--from", source.format, "Format of the files")
      .one_of(file_format_names())
      .show_default();
  command.add_option("--out", options->out, "Folder for the shards; created if it is missing")
      .required()
      .not_empty()
      .type_name("DIR");
  command.add_option("--shards", options->shards, "Number of shards")
      .in_range(1, kMaxShards)
      .show_default();
  const Option shuffle =
      command
          .add_option(
              "--shuffle", options->shuffle,
              "Shuffle the samples with this seed. Use it for sets that will be streamed and "
              "whose files are sorted by class")
          .in_range(0, std::numeric_limits<int>::max())
          .type_name("SEED");
  Option hold_out =
      command
          .add_option("--hold-out", options->hold_out,
                      "Leave this share of the shuffled samples out of the training set, as 0.1. "
                      "May be repeated, with a folder each: a set for validation and one for tests")
          .type_name("SHARE")
          .one_value_each()
          .needs(shuffle);
  const Option hold_out_to =
      command
          .add_option("--hold-out-to", options->hold_out_to,
                      "Folder for the shards of those, which become a set of the split test")
          .type_name("DIR")
          .one_value_each()
          .not_empty()
          .needs(hold_out);
  hold_out.needs(hold_out_to);
  command.add_option("--split", options->split, "Which split the samples are")
      .one_of({"train", "test"})
      .show_default();
  command
      .add_option("--name", options->name,
                  "Name of the data set (default: the last folder of --out that is not the "
                  "split's name)")
      .not_empty()
      .type_name("NAME");
  command
      .add_option("--classes", source.classes, "Number of classes (default: the largest label + 1)")
      .in_range(1, kMaxClasses);
  command
      .add_option(
          "--class-names", source.class_names,
          "Text file with the name of each class, a line each, from class 0 on; with --labels")
      .not_empty()
      .type_name("FILE");
  command.add_flag("--as-values", source.as_values,
                   "Treat bytes as plain numbers, not as pixels (pixels are divided by 255)");
  command
      .add_option("--sha256", source.sha256,
                  "Expected SHA-256 of the samples' file, or of its unpacked content")
      .not_empty()
      .type_name("HEX");
  command
      .add_option("--sha256-labels", source.labels.sha256,
                  "Expected SHA-256 of the labels' file, or of its unpacked content")
      .not_empty()
      .type_name("HEX");
  command.add_flag("--force", options->force, "Replace all shards of this name and split");
  return {command,
          [options] {
            return run_on_hosts([&](Communicator& comm) { return make_shards(comm, *options); });
          },
          Started::as_ranks};
}

}  // namespace quern
