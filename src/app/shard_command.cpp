// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "io/idx_reader.hpp"
#include "io/shard_writer.hpp"

namespace quern {

namespace {

struct ShardOptions {
  std::string images;
  std::string labels;
  std::string out;
  std::string split = "train";
  std::string name;
  std::string sha256_images;
  std::string sha256_labels;
  int shards = 1;
  int classes = 0;
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

void check_counts(const ShardOptions& options, std::int64_t num_images, std::size_t num_labels) {
  if (num_images == static_cast<std::int64_t>(num_labels)) return;
  throw InputError(fmt::format("'{}' holds {} images, but '{}' holds {} labels", options.images,
                               num_images, options.labels, num_labels));
}

ExitCode make_shards(const ShardOptions& options) {
  const IdxLabels labels = read_idx_labels(options.labels, options.sha256_labels);
  const IdxImages images = read_idx_images(options.images, options.sha256_images);
  check_counts(options, images.count, labels.labels.size());

  ShardSetSpec spec;
  spec.name = options.name.empty() ? default_name(options) : options.name;
  spec.split = options.split;
  spec.shape = images.shape;
  spec.num_shards = options.shards;
  spec.classes = options.classes > 0
                     ? options.classes
                     : 1 + *std::max_element(labels.labels.begin(), labels.labels.end());
  const auto shards = write_shards(options.out, spec, images.pixels, labels.labels,
                                   options.force ? Overwrite::yes : Overwrite::no);

  if (images.sha256 != Sha256Match::not_asked) {
    log::print(options.images + describe(images.sha256));
  }
  if (labels.sha256 != Sha256Match::not_asked) {
    log::print(options.labels + describe(labels.sha256));
  }
  for (const WrittenShard& shard : shards) {
    log::print(fmt::format("{}  samples {} to {}", shard.path.string(), shard.first_index,
                           shard.first_index + shard.count - 1));
  }
  log::print(fmt::format("{} {}: {} images [{}, {}, {}], {} classes, {} shard{} in {}", spec.name,
                         spec.split, images.count, spec.shape.channels, spec.shape.height,
                         spec.shape.width, spec.classes, shards.size(),
                         shards.size() == 1 ? "" : "s", options.out));
  return ExitCode::done;
}

}  // namespace

Command add_shard_command(CommandLine app) {
  const auto options = std::make_shared<ShardOptions>();
  CommandLine command = app.add_command("shard", "Turn IDX files (plain or gzip) into HDF5 shards");
  command
      .add_option("--images", options->images,
                  "IDX file of uint8 images, [n, h, w] or [n, c, h, w]")
      .required()
      .type_name("FILE");
  command.add_option("--labels", options->labels, "IDX file of uint8 labels, [n]")
      .required()
      .type_name("FILE");
  command.add_option("--out", options->out, "Folder for the shards; created if it is missing")
      .required()
      .type_name("DIR");
  command.add_option("--shards", options->shards, "Number of shards")
      .in_range(1, 99999)
      .show_default();
  command.add_option("--split", options->split, "Which split the images are")
      .one_of({"train", "test"})
      .show_default();
  command
      .add_option("--name", options->name,
                  "Name of the data set (default: the last folder of --out that is not the "
                  "split's name)")
      .type_name("NAME");
  command
      .add_option("--classes", options->classes,
                  "Number of classes (default: the largest label + 1)")
      .in_range(1, 256);
  command
      .add_option("--sha256", options->sha256_images,
                  "Expected SHA-256 of the images file, or of its unpacked content")
      .type_name("HEX");
  command
      .add_option("--sha256-labels", options->sha256_labels,
                  "Expected SHA-256 of the labels file, or of its unpacked content")
      .type_name("HEX");
  command.add_flag("--force", options->force, "Replace all shards of this name and split");
  return {command, [options] { return make_shards(*options); }};
}

}  // namespace quern
