// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.hpp"
#include "app/sample_set.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "io/shard_format.hpp"
#include "io/shard_writer.hpp"
#include "readers/sample_file.hpp"

namespace quern {

namespace {

struct ShardOptions {
  SampleSetSource source;
  std::string out;
  std::string split = "train";
  std::string name;
  int shards = 1;
  bool force = false;
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
  if (match != Sha256Match::not_asked) log::print(path + describe(match));
}

// "60000 images [1, 28, 28], 10 classes"
std::string describe(const ShardContent& content, std::int64_t count) {
  const std::string type = content.has_pixels() ? "" : std::string(to_string(content.input)) + " ";
  std::string text = fmt::format("{} {}{} {}", count, type, content.input_name(),
                                 image_text(content.shape, content.has_pixels()));
  if (content.has_labels()) text += fmt::format(", {} classes", content.classes);
  if (content.has_targets()) {
    text += fmt::format(", targets {}", to_string(content.target_shape));
  }
  return text;
}

ExitCode make_shards(const ShardOptions& options) {
  const SampleSet set = read_sample_set(options.source);
  const ShardSetName name = {options.name.empty() ? default_name(options) : options.name,
                             options.split, options.shards};
  const auto shards = write_shards(options.out, name, set.content, set.arrays(),
                                   options.force ? Overwrite::yes : Overwrite::no);

  report_sha256(options.source.inputs.front(), set.input_sha256);
  report_sha256(options.source.labels.path, set.answer_sha256);
  for (const WrittenShard& shard : shards) {
    log::print(fmt::format("{}  samples {} to {}", shard.path.string(), shard.first_index,
                           shard.first_index + shard.count - 1));
  }
  log::print(fmt::format("{} {}: {}, {} shard{} in {}", name.name, name.split,
                         describe(set.content, set.count), shards.size(),
                         shards.size() == 1 ? "" : "s", options.out));
  return ExitCode::done;
}

}  // namespace

Command add_shard_command(CommandLine app) {
  const auto options = std::make_shared<ShardOptions>();
  SampleSetSource& source = options->source;
  CommandLine command = app.add_command(
      "shard", "Turn samples (IDX, NumPy, HDF5, CSV, CIFAR, folders of pictures) into HDF5 shards");
  command
      .add_option("--images", source.inputs,
                  "Samples [n, ...]: IDX or .npy (plain or gzip), FILE.npz:NAME, FILE.h5:/NAME, "
                  "CIFAR, a table FILE.csv or FILE.csv:COLUMNS, or a folder with a folder of "
                  "pictures for each class. Several files follow one another. Bytes are pixels, "
                  "other numbers are values")
      .required()
      .type_name("FILE...");
  const Option labels =
      command.add_option("--labels", source.labels.path, "The class of each sample, [n]")
          .type_name("FILE");
  command
      .add_option("--targets", source.targets.path,
                  "Instead of labels: numbers that are to be predicted for each sample, [n, ...]")
      .type_name("FILE")
      .excludes(labels);
  command.add_option("--from", source.format, "Format of the files")
      .one_of(file_format_names())
      .show_default();
  command.add_option("--out", options->out, "Folder for the shards; created if it is missing")
      .required()
      .type_name("DIR");
  command.add_option("--shards", options->shards, "Number of shards")
      .in_range(1, kMaxShards)
      .show_default();
  command.add_option("--split", options->split, "Which split the samples are")
      .one_of({"train", "test"})
      .show_default();
  command
      .add_option("--name", options->name,
                  "Name of the data set (default: the last folder of --out that is not the "
                  "split's name)")
      .type_name("NAME");
  command
      .add_option("--classes", source.classes, "Number of classes (default: the largest label + 1)")
      .in_range(1, kMaxClasses);
  command
      .add_option("--sha256", source.sha256,
                  "Expected SHA-256 of the samples' file, or of its unpacked content")
      .type_name("HEX");
  command
      .add_option("--sha256-labels", source.labels.sha256,
                  "Expected SHA-256 of the labels' file, or of its unpacked content")
      .type_name("HEX");
  command.add_flag("--force", options->force, "Replace all shards of this name and split");
  return {command, [options] { return make_shards(*options); }};
}

}  // namespace quern
