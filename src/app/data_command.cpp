// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/common_options.hpp"
#include "app/contact_sheet.hpp"
#include "app/data_summary.hpp"
#include "base/log.hpp"

namespace quern {

namespace {

struct ShowOptions {
  std::string folder;
  std::string split;
  std::string contact_sheet;
  bool json = false;
};

/// Room for the samples of one shard.
struct ShardBuffers {
  void resize(const ShardContent& content, std::int64_t count) {
    const auto size = [&](bool is_there, int units) {
      return is_there ? static_cast<std::size_t>(count * units) : 0;
    };
    images.resize(size(content.has_pixels(), content.shape.units()));
    values.resize(size(!content.has_pixels(), content.shape.units()));
    labels.resize(size(content.has_labels(), 1));
    targets.resize(size(content.has_targets(), content.target_shape.units()));
  }
  SampleArrays arrays() { return {images, values, labels, targets}; }

  std::vector<std::uint8_t> images;
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
};

// One shard after the other: sets may be larger than memory.
ExitCode show(const ShowOptions& options) {
  const ShardSet set = ShardSet::open(options.folder, options.split);
  DataSummarizer summarizer(set);
  std::optional<ContactSheet> sheet;
  if (!options.contact_sheet.empty()) sheet.emplace(set);
  ShardBuffers buffers;
  for (const Shard& shard : set.shards()) {
    buffers.resize(set.content(), shard.count);
    set.read_shard(shard, buffers.arrays());
    summarizer.add(buffers.arrays(), shard.count);
    if (sheet) sheet->add(buffers.arrays(), shard.count);
  }
  if (sheet) sheet->write(options.contact_sheet);
  const DataSummary summary = summarizer.finish();
  log::print(options.json ? summary_json(summary) : summary_report(summary));
  return ExitCode::done;
}

}  // namespace

Command add_data_command(CommandLine app) {
  CommandLine data = app.add_command("data", "Look at data sets");
  data.require_command();
  const auto options = std::make_shared<ShowOptions>();
  CommandLine command = data.add_command(
      "show", "Verify a set of shards and show its shapes, ranges, classes, and a contact sheet");
  command.add_option("folder", options->folder, "Folder of HDF5 shards")
      .required()
      .type_name("DIR");
  add_split_option(command, options->split);
  command
      .add_option("--contact-sheet", options->contact_sheet,
                  "Write an image of the first samples, a row for each class")
      .not_empty()
      .type_name("FILE.png");
  command.add_flag("--json", options->json, "Print one JSON object instead of a report");
  return {data, [options] { return show(*options); }};
}

}  // namespace quern
