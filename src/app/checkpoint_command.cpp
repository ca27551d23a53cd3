// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/best_option.hpp"
#include "app/checkpoint_report.hpp"
#include "app/commands.hpp"
#include "app/out_file.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/model_hash.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/weights_file.hpp"
#include "config/read_recipe.hpp"
#include "exchange/onnx_model.hpp"
#include "exchange/torch_model.hpp"
#include "io/output_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

struct Options {
  std::string path;
  std::string other_path;
  std::vector<std::string> paths;
  std::string out;
  std::string model;
  bool json = false;
  bool recipe = false;
  bool force = false;
  bool best = false;
};

ExitCode list(const Options& options) {
  const auto folder = checkpoint_folder_of(options.path);
  if (!folder) {
    throw InputError(fmt::format("'{}' is a file, expected a run folder or a folder of checkpoints",
                                 options.path));
  }
  log::print(list_report(*folder));
  return ExitCode::done;
}

ExitCode show(const Options& options) {
  const LoadedCheckpoint checkpoint = load_chosen(options.path, options.best);
  if (options.recipe) {
    log::print(checkpoint.state().origin.recipe);
  } else {
    log::print(options.json ? show_json(checkpoint) : show_report(checkpoint));
  }
  return ExitCode::done;
}

/// The file, or every checkpoint of the folder.
std::vector<fs::path> files_to_verify(const std::string& path) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) return {path};
  checkpoint_file_of(path);  // throws when there is none
  std::vector<fs::path> files;
  for (const CheckpointFile& file : list_checkpoints(*folder)) files.push_back(file.path);
  if (const auto best = best_checkpoint_of(*folder)) files.push_back(*best);
  return files;
}

/// Nothing where a run has deleted the file meanwhile, which it may.
std::optional<std::vector<std::string>> damage_of(const fs::path& file, bool may_go) {
  const auto went = [&] { return may_go && is_gone(file); };
  try {
    std::vector<std::string> damage = find_damage(file);
    if (!damage.empty() && went()) return std::nullopt;
    return damage;
  } catch (const Error&) {
    if (went()) return std::nullopt;
    throw;
  }
}

ExitCode verify(const Options& options) {
  int num_files = 0;
  int num_damaged = 0;
  for (const std::string& path : options.paths) {
    const int before = num_files;
    while (num_files == before) {  // again where all of them have gone
      for (const fs::path& file : files_to_verify(path)) {
        const std::optional<std::vector<std::string>> damage = damage_of(file, file != path);
        if (!damage) continue;
        if (damage->empty()) log::print(fmt::format("good: '{}'", printable(file.string())));
        for (const std::string& line : *damage) log::print("damaged: " + printable(line));
        num_files += 1;
        num_damaged += damage->empty() ? 0 : 1;
      }
    }
  }
  if (num_damaged == 0) return ExitCode::done;
  throw UnusableError(fmt::format("{} of {} checkpoints damaged", num_damaged, num_files));
}

ExitCode hash(const Options& options) {
  log::print(model_hash(load_chosen(options.path, options.best).state().model));
  return ExitCode::done;
}

ExitCode diff(const Options& options) {
  const LoadedCheckpoint first = load_from(options.path);
  const LoadedCheckpoint second = load_from(options.other_path);
  const Comparison comparison = compare_checkpoints(first.state(), second.state());
  log::print(diff_report(first, second, comparison));
  return comparison.same_training_state() ? ExitCode::done : ExitCode::failure;
}

// Else safetensors. Another ending promises another format than would be written.
bool is_onnx_file(const fs::path& out) {
  const std::string ending = out.extension().string();
  if (!ending.empty() && ending != ".onnx" && ending != ".safetensors") {
    throw InputError("'" + out.string() + "' ends in " + ending +
                     ", which is no format of an export (expected .safetensors or .onnx; --model "
                     "writes a module of PyTorch)");
  }
  return ending == ".onnx";
}

ExitCode export_model(const Options& options) {
  const fs::path out = options.out;
  const fs::path model = options.model;
  if (out.empty() && model.empty()) {
    throw InputError("checkpoint export writes nothing (expected --out, --model or both)");
  }
  const bool is_onnx = is_onnx_file(out);
  if (!out.empty()) check_out_file(out, options.force);
  if (!model.empty()) check_out_file(model, options.force);
  const LoadedCheckpoint checkpoint = load_chosen(options.path, options.best);
  const CheckpointState& state = checkpoint.state();
  std::optional<Recipe> recipe;
  if (is_onnx || !model.empty())
    recipe = parse_recipe(state.origin.recipe, "the recipe inside '" + options.path + "'");
  const std::string text =
      model.empty() ? ""
                    : torch_model(*recipe, is_onnx ? "" : out.filename().string(), state.input);
  if (is_onnx) {
    write_whole_file(out, onnx_model(*recipe, state));
  } else if (!out.empty()) {
    write_safetensors(out, state);
  }
  if (!out.empty())
    log::info(fmt::format("wrote {} tensors to '{}'", state.model.size(), out.string()));
  if (!model.empty()) {
    write_whole_file(model, text);
    log::info(fmt::format("wrote the network for PyTorch to '{}'", model.string()));
  }
  return ExitCode::done;
}

constexpr const char* kFileOrRun = "Checkpoint file, or a run folder for its newest checkpoint";

std::vector<Command> add_subcommands(CommandLine checkpoint, Options& options) {
  CommandLine ls = checkpoint.add_command("ls", "List checkpoints, newest first");
  ls.add_option("FOLDER", options.path, "Run folder or folder of checkpoints")
      .required()
      .type_name("");

  CommandLine shown = checkpoint.add_command("show", "Print attributes and tensor shapes");
  shown.add_option("FILE", options.path, kFileOrRun).required().type_name("");
  add_best_option(shown, options.best);
  const Option json = shown.add_flag("--json", options.json, "Print JSON");
  shown.add_flag("--recipe", options.recipe, "Print only the recipe it was trained with")
      .excludes(json);

  CommandLine verified =
      checkpoint.add_command("verify", "Check every byte; exit status 93 on damage");
  verified.add_option("FILE", options.paths, "Checkpoint files, or run folders for all of theirs")
      .required()
      .type_name("");

  CommandLine hashed = checkpoint.add_command("hash", "Print the SHA-256 of the model");
  hashed.add_option("FILE", options.path, kFileOrRun).required().type_name("");
  add_best_option(hashed, options.best);

  CommandLine compared = checkpoint.add_command(
      "diff", "Compare; exit status 0 if model, optimizer and progress are equal, else 1");
  compared.add_option("A", options.path, kFileOrRun).required().type_name("");
  compared.add_option("B", options.other_path, kFileOrRun).required().type_name("");

  CommandLine exported = checkpoint.add_command(
      "export", "Write the model as safetensors or ONNX, or as a module of PyTorch");
  exported.add_option("FILE", options.path, kFileOrRun).required().type_name("");
  add_best_option(exported, options.best);
  exported
      .add_option("--out", options.out,
                  "Its weights: ONNX where the name ends in .onnx, safetensors where it ends in "
                  ".safetensors or has no ending")
      .not_empty()
      .type_name("FILE");
  exported
      .add_option("--model", options.model,
                  "Python file that builds the network in PyTorch and loads the safetensors")
      .not_empty()
      .type_name("FILE");
  exported.add_flag("--force", options.force, "Replace existing files");

  const auto command = [&options](CommandLine line, ExitCode (*run)(const Options&)) {
    return Command{line, [run, &options] { return run(options); }};
  };
  return {command(ls, list),     command(shown, show),    command(verified, verify),
          command(hashed, hash), command(compared, diff), command(exported, export_model)};
}

}  // namespace

Command add_checkpoint_command(CommandLine app) {
  CommandLine checkpoint = app.add_command("checkpoint", "Inspect checkpoints");
  checkpoint.require_command();
  const auto options = std::make_shared<Options>();
  checkpoint.keep(options);
  const std::vector<Command> commands = add_subcommands(checkpoint, *options);
  return {checkpoint, [commands] { return parsed_command(commands).run(); }};
}

}  // namespace quern
