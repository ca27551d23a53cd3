// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "app/commands.hpp"
#include "app/monitor/event_file.hpp"
#include "app/monitor/metrics_csv.hpp"
#include "app/out_file.hpp"
#include "base/count_text.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "io/output_file.hpp"

namespace quern {

namespace {

struct MetricsOptions {
  std::string run;
  bool csv = false;
  std::string out;
  std::string tensorboard;
};

// One name for a run: a second export takes the place of the first.
void write_events(const std::filesystem::path& folder, const RunLog& run) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_write_failure("cannot make '" + folder.string() + "'", error.value());
  const std::int64_t begin = run.events.empty() ? 0 : run.events.front().time;
  const auto file = folder / ("events.out.tfevents." + std::to_string(begin) + ".quern");
  write_whole_file(file, event_file(run));
  log::print(file.string());
}

ExitCode export_metrics(const MetricsOptions& options) {
  if (!options.csv && options.tensorboard.empty())
    throw InputError("metrics expects --csv or --tensorboard DIR");
  if (!options.csv && !options.out.empty()) throw InputError("--out is of --csv");
  const std::filesystem::path folder = options.run;
  refuse_input_as_output(options.out,
                         {(folder / "metrics.jsonl").string(), (folder / "events.jsonl").string(),
                          (folder / "recipe.toml").string()});
  const RunLog run = read_run_log(options.run);
  if (!run.has_metrics) {
    throw InputError("'" + options.run +
                     "' has no metrics.jsonl (expected the folder of a run that has trained)");
  }
  if (run.unreadable_lines > 0)
    log::warn("left out " + count_text(run.unreadable_lines, "unreadable line") +
              " of metrics.jsonl");
  if (!options.tensorboard.empty()) write_events(options.tensorboard, run);
  if (!options.csv) return ExitCode::done;
  if (options.out.empty()) {
    log::print(metrics_csv(run));
  } else {
    write_whole_file(options.out, metrics_csv(run) + "\n");
  }
  return ExitCode::done;
}

}  // namespace

Command add_metrics_command(CommandLine app) {
  const auto options = std::make_shared<MetricsOptions>();
  CommandLine command = app.add_command(
      "metrics", "Export the metrics of a run as CSV or as a TensorBoard event file");
  command.add_option("run", options->run, "Run folder").required().type_name("RUN_DIR");
  command.add_flag("--csv", options->csv, "A table, one line per record of metrics.jsonl");
  command.add_option("--out", options->out, "CSV file (default: standard output)")
      .not_empty()
      .type_name("FILE");
  command
      .add_option("--tensorboard", options->tensorboard,
                  "Write an event file into this folder, in place of an earlier one of the run")
      .not_empty()
      .type_name("DIR");
  return {command, [options] { return export_metrics(*options); }};
}

}  // namespace quern
