// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_reader.hpp"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "checkpoint/canonical_bytes.hpp"
#include "checkpoint/safetensors_header.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

class File {
 public:
  explicit File(const fs::path& path) {
    std::error_code error;
    const bool exists = fs::exists(path, error);
    throw_system_failure(error.value(), kUnreadable);
    if (!exists) throw Error("there is no such file");
    if (!fs::is_regular_file(path, error)) throw Error("it is no file");
    bytes_ = fs::file_size(path, error);
    errno = 0;
    file_.open(path, std::ios::binary);
    if (error || !file_) {
      throw_system_failure(error ? error.value() : errno, kUnreadable);
      throw Error(fmt::format("{}: {}", kUnreadable, std::strerror(errno)));
    }
  }

  std::uint64_t bytes() const { return bytes_; }

  void read(std::uint64_t begin, std::uint64_t count, void* to) {
    file_.seekg(static_cast<std::streamoff>(begin));
    errno = 0;
    file_.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
    if (file_) return;
    throw_system_failure(errno, kUnreadable);
    throw Error("it cannot be read to its end");
  }

 private:
  static constexpr auto kUnreadable = "it cannot be read";

  std::ifstream file_;
  std::uint64_t bytes_ = 0;
};

bool is_batch_count(const std::string& name) {
  const std::string last = "num_batches_tracked";
  return name == last || name.ends_with('.' + last);
}

std::vector<float> read_values(File& file, std::uint64_t data_begin,
                               const SafetensorsEntry& entry) {
  const std::uint64_t bytes = entry.end - entry.begin;
  if (entry.dtype == "F32") {
    std::vector<float> values(bytes / sizeof(float));
    file.read(data_begin + entry.begin, bytes, values.data());
    return values;
  }
  const bool is_half = entry.dtype == "F16";
  if (!is_half && entry.dtype != "BF16") {
    throw Error(fmt::format("the tensor '{}' is of type {}, expected F32, F16 or BF16", entry.name,
                            entry.dtype));
  }
  std::vector<std::uint16_t> bits(bytes / sizeof(std::uint16_t));
  file.read(data_begin + entry.begin, bytes, bits.data());
  std::vector<float> values;
  values.reserve(bits.size());
  for (const std::uint16_t b : bits)
    values.push_back(is_half ? float_of_half(b) : std::bit_cast<float>(std::uint32_t{b} << 16));
  return values;
}

void check_finite(const std::string& name, const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw Error(fmt::format("the tensor '{}' is not finite, from its value {} on", name, i));
  }
}

LoadedCheckpoint read(const fs::path& path) {
  File file(path);
  std::uint64_t length = 0;
  if (file.bytes() < sizeof length) throw Error("it is too short for a safetensors file");
  file.read(0, sizeof length, &length);
  if (length > kMaxSafetensorsHeader || length > file.bytes() - sizeof length) {
    throw Error(fmt::format("it is no whole safetensors file: a header of {} bytes in a file of {}",
                            length, file.bytes()));
  }
  std::string header(length, '\0');
  file.read(sizeof length, length, header.data());
  const std::uint64_t data_begin = sizeof length + length;

  CheckpointState state;
  std::vector<std::vector<float>> storage;
  SafetensorsTexts texts;
  for (SafetensorsEntry& entry :
       parse_safetensors_header(header, file.bytes() - data_begin, &texts)) {
    if (is_batch_count(entry.name)) continue;
    storage.push_back(read_values(file, data_begin, entry));
    check_finite(entry.name, storage.back());
    state.model.push_back({std::move(entry.name), std::move(entry.shape), storage.back()});
  }
  // Without a recipe it is no file of Quern, and the texts may be in any form.
  if (!texts.recipe.empty()) {
    state.class_names = split_lines(texts.class_names);
    state.feature_names = split_lines(texts.feature_names);
    state.input = std::move(texts.input);
  }
  state.origin.recipe = std::move(texts.recipe);
  return {path, std::move(state), std::move(storage)};
}

}  // namespace

LoadedCheckpoint read_safetensors(const fs::path& path) {
  try {
    return read(path);
  } catch (const SystemFailure& failure) {
    throw SystemFailure(fmt::format("'{}': {}", path.string(), failure.what()));
  } catch (const Error& problem) {
    throw InputError(fmt::format("'{}': {}", path.string(), problem.what()));
  }
}

}  // namespace quern
