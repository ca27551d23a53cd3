// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "checkpoint/canonical_bytes.hpp"
#include "checkpoint/train_attributes.hpp"
#include "io/output_file.hpp"

namespace quern {

namespace {

std::string header_json(const CheckpointState& state) {
  nlohmann::ordered_json header;
  auto& metadata = header["__metadata__"];
  metadata["format"] = "pt";
  for (const auto& [name, text] : exported_texts(state)) metadata[name] = text;
  std::size_t offset = 0;
  for (const NamedTensor& tensor : state.model) {
    const std::size_t end = offset + tensor.values.size_bytes();
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  // Texts of a checkpoint of another program may be in any encoding.
  std::string json = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  json.resize((json.size() + 7) / 8 * 8, ' ');  // the data begin on a multiple of 8
  return json;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const CheckpointState& state) {
  const std::string header = header_json(state);
  const auto length = static_cast<std::uint64_t>(header.size());
  OutputFile file(path);
  file.write(text_of(std::as_bytes(std::span(&length, 1))));
  file.write(header);
  for (const NamedTensor& tensor : state.model) file.write(text_of(std::as_bytes(tensor.values)));
  file.finish();
}

}  // namespace quern
