// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/writer.hpp"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/unit_text.hpp"
#include "checkpoint/canonical_bytes.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/dataset_path.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/optional_attributes.hpp"
#include "checkpoint/retention.hpp"
#include "checkpoint/seal.hpp"
#include "checkpoint/train_attributes.hpp"
#include "io/h5_file.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

enum class Parents { make, expect };

void make_folder(const fs::path& folder, Parents parents) {
  std::error_code error;
  if (parents == Parents::make) {
    fs::create_directories(folder, error);
  } else {
    fs::create_directory(folder, error);
  }
  if (error || !fs::is_directory(folder, error)) {
    throw Error(fmt::format("cannot make the checkpoint folder '{}': {}", folder.string(),
                            error ? error.message() : "it is no folder"));
  }
}

/// Calls visit(path in the file, tensor) for the model, then the optimizer.
template <class Visitor>
void for_each_dataset(const CheckpointState& state, const Visitor& visit) {
  for (const NamedTensor& tensor : state.model) visit(model_dataset_path(tensor.name), tensor);
  for (const OptimizerTensors& state_array : state.optimizer) {
    for (const NamedTensor& tensor : state_array.tensors) {
      visit(optimizer_dataset_path(state_array.name, tensor.name), tensor);
    }
  }
}

/// What the file needs on disk, generously.
std::uintmax_t estimated_bytes(const CheckpointState& state) {
  std::uintmax_t bytes = 64 * 1024 + state.origin.recipe.size();
  for (const auto& names : {state.class_names, state.feature_names})
    for (const std::string& name : names) bytes += name.size() + 1;
  for_each_dataset(state, [&](const std::string&, const NamedTensor& tensor) {
    bytes += tensor.values.size_bytes() + 2048;
  });
  return bytes;
}

void require_free_space(const fs::path& folder, std::uintmax_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= bytes) return;
  throw Error(fmt::format("it needs {} and the file system has {} free",
                          bytes_text(static_cast<std::int64_t>(bytes)),
                          bytes_text(static_cast<std::int64_t>(space.available))));
}

void write_attribute(H5File& file, const TrainAttribute& attribute) {
  const char* group = "/train";
  if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    file.write_string(group, attribute.name, *text);
  } else if (const auto* real = std::get_if<double>(&attribute.value)) {
    file.write_double(group, attribute.name, *real);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&attribute.value)) {
    file.write_uint64(group, attribute.name, *natural);
  } else {
    file.write_int64(group, attribute.name, std::get<std::int64_t>(attribute.value));
  }
}

Manifest write_datasets(H5File& file, const CheckpointState& state) {
  Manifest manifest;
  for_each_dataset(state, [&](const std::string& path, const NamedTensor& tensor) {
    expect(num_elements(tensor.shape) == std::ssize(tensor.values),
           "a tensor has as many values as its shape says");
    manifest.datasets.push_back({path, tensor.shape, sha256_of_values(tensor.values)});
    file.write_dataset(path, tensor.values, tensor.shape);
    file.write_string(path, "sha256", manifest.datasets.back().sha256);
  });
  return manifest;
}

std::vector<TensorPlace> places_of_tensors(const H5File& file, const Manifest& manifest) {
  std::vector<TensorPlace> places;
  for (const ManifestEntry& entry : manifest.datasets) {
    const H5DatasetInfo info = file.dataset_info(entry.path);
    places.push_back({info.offset, info.bytes});
  }
  return places;
}

void write_content(const fs::path& path, const CheckpointState& state) {
  H5File file = H5File::create(path);
  file.write_string("/", "format", kCheckpointFormat);
  file.write_int64("/", "format_version", kCheckpointVersion);
  Manifest manifest = write_datasets(file, state);

  const std::vector<TrainAttribute> attributes = train_attributes(state);
  for (const TrainAttribute& attribute : attributes) write_attribute(file, attribute);
  manifest.train_sha256 = train_attributes_sha256(attributes);
  write_optional_attributes(file, state);

  const std::string json = manifest_json(manifest);
  file.write_string("/", "manifest", json);
  file.write_string("/", "manifest_sha256", sha256(json));
  file.flush_and_sync();
  const std::vector<TensorPlace> places = places_of_tensors(file, manifest);
  file.close();
  append_seal(path, places);
}

void write_whole(const fs::path& path, const CheckpointState& state,
                 const std::function<void()>& check = {}) {
  require_free_space(path.has_parent_path() ? path.parent_path() : ".", estimated_bytes(state));
  PendingFile pending(path);
  write_content(pending.temporary(), state);
  pending.commit(check);
}

std::string cannot_write(const fs::path& path, const std::exception& problem) {
  return fmt::format("cannot write the checkpoint '{}': {}", path.string(), problem.what());
}

fs::path write_in_folder(const fs::path& folder, Parents parents, const CheckpointState& state,
                         const std::function<void()>& check) {
  const fs::path path = folder / checkpoint_name(state.progress.step);
  try {
    make_folder(folder, parents);
    write_whole(path, state, check);
  } catch (const std::exception& problem) {
    throw Error(cannot_write(path, problem) + " (older checkpoints are intact)");
  }
  return path;
}

}  // namespace

void write_checkpoint_file(const fs::path& path, const CheckpointState& state) {
  try {
    write_whole(path, state);
  } catch (const InputError& problem) {
    throw InputError(cannot_write(path, problem));
  } catch (const std::exception& problem) {
    throw Error(cannot_write(path, problem));
  }
}

fs::path write_checkpoint(const fs::path& folder, const CheckpointState& state,
                          const std::function<void()>& check) {
  return write_in_folder(folder, Parents::make, state, check);
}

CheckpointWriter::CheckpointWriter(fs::path folder, int keep, std::vector<fs::path> damaged)
    : folder_(std::move(folder)), keep_(keep), damaged_(std::move(damaged)) {
  expect(keep >= 1, "at least one checkpoint is kept");
  make_folder(folder_, Parents::expect);
  remove_stale_temporaries(folder_);
}

fs::path CheckpointWriter::write(const CheckpointState& state, const std::function<void()>& check) {
  // A run folder that was renamed meanwhile must not be made again.
  fs::path path = write_in_folder(folder_, Parents::expect, state, check);
  std::erase(damaged_, path);  // it was, until now
  if (check) check();
  keep_newest(path, keep_, damaged_);
  return path;
}

}  // namespace quern
