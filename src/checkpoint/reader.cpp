// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/canonical_bytes.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/dataset_path.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/optional_attributes.hpp"
#include "checkpoint/seal.hpp"
#include "checkpoint/train_attributes.hpp"
#include "io/h5_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

/// Whatever could be read, and what is wrong with the rest.
struct Examination {
  CheckpointState state;
  std::vector<std::vector<float>> storage;
  std::vector<std::string> damage;
};

void check_format(const H5File& file) {
  if (!file.has_attribute("/", "format")) {
    throw Error(
        fmt::format("it is no checkpoint: the root attribute 'format' is missing, expected "
                    "'{}'",
                    kCheckpointFormat));
  }
  const std::string format = file.read_string("/", "format");
  if (format != kCheckpointFormat) {
    throw Error(fmt::format("it is no checkpoint: its format is '{}', expected '{}'",
                            printable(format), kCheckpointFormat));
  }
  const std::int64_t version = file.read_int64("/", "format_version");
  if (version != kCheckpointVersion) {
    throw Error(fmt::format("its format_version is {}, this Quern reads {}{}", version,
                            kCheckpointVersion,
                            version > kCheckpointVersion ? " (it comes from a newer Quern)" : ""));
  }
}

Manifest read_manifest(const H5File& file) {
  const std::string text = file.read_string("/", "manifest");
  const std::string expected = file.read_string("/", "manifest_sha256");
  if (sha256(text) != expected) {
    throw Error(fmt::format("the manifest is damaged: expected SHA-256 {}, found {}", expected,
                            sha256(text)));
  }
  return parse_manifest(text);
}

void read_attribute(const H5File& file, const std::string& name, std::int64_t& value) {
  value = file.read_int64("/train", name);
}
void read_attribute(const H5File& file, const std::string& name, std::uint64_t& value) {
  value = file.read_uint64("/train", name);
}
void read_attribute(const H5File& file, const std::string& name, double& value) {
  value = file.read_double("/train", name);
}
void read_attribute(const H5File& file, const std::string& name, std::string& value) {
  value = file.read_string("/train", name);
}

void read_train(const H5File& file, const Manifest& manifest, CheckpointState& state) {
  std::vector<TrainAttribute> attributes = train_attributes(state);
  for (TrainAttribute& attribute : attributes) {
    std::visit([&](auto& value) { read_attribute(file, attribute.name, value); }, attribute.value);
  }
  const std::string found = train_attributes_sha256(attributes);
  if (found != manifest.train_sha256) {
    throw Error(fmt::format("the attributes of '/train' are damaged: expected SHA-256 {}, found {}",
                            manifest.train_sha256, found));
  }
  set_train_attributes(attributes, state);
}

void require_equal(const std::string& path, const char* what, const std::string& expected,
                   const std::string& found) {
  if (found == expected) return;
  throw Error(fmt::format("dataset '{}' is damaged: expected {} {}, found {}", path, what, expected,
                          found));
}

/// `bytes_left` counts down from the size of the file: however a file lies, reading it never takes
/// more memory than its size.
std::vector<float> read_values(const H5File& file, const ManifestEntry& entry,
                               std::int64_t& bytes_left) {
  const H5DatasetInfo info = file.dataset_info(entry.path);
  require_equal(entry.path, "type", to_string(H5Type::float32), to_string(info.type));
  require_equal(entry.path, "shape", shape_text(entry.shape), shape_text(info.shape));
  bytes_left -= info.bytes;
  if (bytes_left < 0) {
    throw Error(fmt::format("dataset '{}' does not fit into the file", entry.path));
  }
  std::vector<float> values(static_cast<std::size_t>(info.elements));
  file.read_dataset(entry.path, values);
  require_equal(entry.path, "SHA-256", entry.sha256, sha256_of_values(values));
  require_equal(entry.path, "attribute sha256", entry.sha256,
                file.read_string(entry.path, "sha256"));
  return values;
}

std::vector<NamedTensor>& tensors_of(CheckpointState& state, const std::string& state_array) {
  if (state_array.empty()) return state.model;
  const auto found =
      std::find_if(state.optimizer.begin(), state.optimizer.end(),
                   [&](const OptimizerTensors& known) { return known.name == state_array; });
  if (found != state.optimizer.end()) return found->tensors;
  return state.optimizer.emplace_back(OptimizerTensors{state_array, {}}).tensors;
}

void read_dataset(const H5File& file, const ManifestEntry& entry, std::int64_t& bytes_left,
                  Examination& result) {
  const auto owner = owner_of_dataset(entry.path);
  if (!owner) {
    throw Error(fmt::format("the manifest lists '{}', expected a path below /model or /optimizer",
                            entry.path));
  }
  result.storage.push_back(read_values(file, entry, bytes_left));
  tensors_of(result.state, owner->state_array)
      .push_back({owner->tensor, entry.shape, result.storage.back()});
}

/// Messages of io/ name the file already.
std::string with_place(const fs::path& path, const std::string& message) {
  const std::string place = fmt::format("'{}'", path.string());
  return message.find(place) == std::string::npos ? fmt::format("{}: {}", place, message) : message;
}

/// Runs `read`; a problem becomes a line of damage instead of an exception. SystemFailure where the
/// file could not be read, and may be whole.
template <class Read>
void collect_damage(const fs::path& path, Examination& result, const Read& read) {
  try {
    read();
  } catch (const SystemFailure& failure) {
    throw SystemFailure(with_place(path, failure.what()));
  } catch (const std::bad_alloc&) {
    throw SystemFailure(with_place(path, "out of memory while it was read"));
  } catch (const std::exception& problem) {
    const auto* of_system = dynamic_cast<const std::system_error*>(&problem);
    if (of_system)
      throw_system_failure(of_system->code().value(), with_place(path, "cannot be read"));
    result.damage.push_back(with_place(path, problem.what()));
  }
}

/// A file that only claims to be the newest would take the place of the one that is.
void check_name(const fs::path& path, std::int64_t step) {
  const auto named = step_of_name(path.filename().string());
  if (!named || *named == step) return;
  throw Error(fmt::format("it is of step {}, expected step {} as its name says", step, *named));
}

/// What to do with a file without a seal. HDF5 may crash on a damaged one.
enum class Unsealed { leave_closed, look_inside };

enum class Tensors { read, leave_out };

Examination examine(const fs::path& path, Unsealed unsealed, Tensors tensors = Tensors::read) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw_system_failure(error.value(), fmt::format("'{}': cannot be read", path.string()));
    throw InputError(fmt::format("there is no checkpoint '{}'", path.string()));
  }
  Examination result;
  bool sealed = true;
  collect_damage(path, result, [&] {
    sealed = has_seal(path);
    check_seal(path);
  });
  if (!result.damage.empty() && (sealed || unsealed == Unsealed::leave_closed)) return result;
  collect_damage(path, result, [&] {
    const H5File file = H5File::open_read(path);
    check_format(file);
    const Manifest manifest = read_manifest(file);
    collect_damage(path, result, [&] {
      read_train(file, manifest, result.state);
      check_name(path, result.state.progress.step);
      read_optional_attributes(file, result.state);
    });
    if (tensors == Tensors::leave_out) return;
    auto bytes_left = static_cast<std::int64_t>(fs::file_size(path));
    for (const ManifestEntry& entry : manifest.datasets) {
      collect_damage(path, result, [&] { read_dataset(file, entry, bytes_left, result); });
    }
  });
  return result;
}

void expect_no_damage(const Examination& result) {
  if (result.damage.empty()) return;
  const std::size_t others = result.damage.size() - 1;
  throw UnusableError(result.damage[0] + (others > 0 ? fmt::format(" (and {} more)", others) : ""));
}

// ", or ...", where that of the best evaluation is whole.
std::string best_in_their_place(const fs::path& folder) {
  const auto best = best_checkpoint_of(folder);
  if (!best) return "";
  try {
    read_checkpoint(*best);
  } catch (const Error&) {
    return "";
  }
  return fmt::format(", or '{}', that of the best evaluation, by its name", best->string());
}

bool is_newer(const std::vector<CheckpointFile>& checkpoints, std::int64_t step) {
  return !checkpoints.empty() && checkpoints.back().step > step;
}

}  // namespace

LoadedCheckpoint read_checkpoint(const fs::path& path) {
  Examination result = examine(path, Unsealed::leave_closed);
  expect_no_damage(result);
  return {path, std::move(result.state), std::move(result.storage)};
}

TrainingProgress read_progress(const fs::path& path) {
  const Examination result = examine(path, Unsealed::leave_closed, Tensors::leave_out);
  expect_no_damage(result);
  return result.state.progress;
}

std::vector<std::string> find_damage(const fs::path& path) {
  return examine(path, Unsealed::look_inside).damage;
}

std::optional<LoadedCheckpoint> load_newest_good(const fs::path& folder,
                                                 const DamageReport& report) {
  std::vector<CheckpointFile> checkpoints = list_checkpoints(folder);
  for (std::int64_t newest_seen = -1; is_newer(checkpoints, newest_seen);
       checkpoints = list_checkpoints(folder)) {
    newest_seen = checkpoints.back().step;
    for (auto file = checkpoints.rbegin(); file != checkpoints.rend(); ++file) {
      try {
        return read_checkpoint(file->path);
        // A run that goes on meanwhile deletes old ones; then there is a newer one to be listed.
      } catch (const SystemFailure&) {
        // To go on from an older one would cost what this one, perhaps whole, has learned.
        if (!is_gone(file->path)) throw;
      } catch (const Error& problem) {
        if (!is_gone(file->path)) report(file->path, problem.what());
      }
    }
  }
  if (checkpoints.empty()) return std::nullopt;
  throw UnusableError(
      fmt::format("none of the {} checkpoints in '{}' can be used (quern "
                  "checkpoint verify says why; expected one that is whole{})",
                  checkpoints.size(), folder.string(), best_in_their_place(folder)));
}

std::optional<LoadedCheckpoint> load_newest(const fs::path& folder,
                                            std::vector<fs::path>* damaged) {
  return load_newest_good(folder, [&](const fs::path& path, const std::string& problem) {
    log::warn(problem + "; this checkpoint is passed over");
    if (damaged) damaged->push_back(path);
  });
}

}  // namespace quern
