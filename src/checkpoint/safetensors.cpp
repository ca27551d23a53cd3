// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "checkpoint/canonical_bytes.hpp"
#include "checkpoint/train_attributes.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace {

std::string header_json(const CheckpointState& state) {
  nlohmann::ordered_json header;
  auto& metadata = header["__metadata__"];
  metadata["format"] = "pt";
  for (const TrainAttribute& attribute : train_attributes(state)) {
    metadata[attribute.name] = value_text(attribute.value);
  }
  if (!state.class_names.empty()) metadata["class_names"] = join_lines(state.class_names);
  std::size_t offset = 0;
  for (const NamedTensor& tensor : state.model) {
    const std::size_t end = offset + tensor.values.size_bytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Names of classes may be those of folders, in any encoding.
  std::string json = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  json.resize((json.size() + 7) / 8 * 8, ' ');  // the data begin on a multiple of 8
  return json;
}

void write_bytes(std::ofstream& file, std::span<const std::byte> bytes) {
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const CheckpointState& state) {
  const std::string header = header_json(state);
  const auto length = static_cast<std::uint64_t>(header.size());
  PendingFile pending(path);
  errno = 0;
  std::ofstream file(pending.temporary(), std::ios::binary);
  write_bytes(file, std::as_bytes(std::span(&length, 1)));
  write_bytes(file, std::as_bytes(std::span(header)));
  for (const NamedTensor& tensor : state.model) write_bytes(file, std::as_bytes(tensor.values));
  file.close();
  if (!file) {
    throw Error(fmt::format("cannot write '{}': {}", path.string(),
                            errno != 0 ? std::generic_category().message(errno) : "unknown cause"));
  }
  pending.commit();
}

}  // namespace quern
