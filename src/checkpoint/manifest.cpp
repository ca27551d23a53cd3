// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"

namespace quern {

namespace {

using nlohmann::json;

constexpr const char* kType = "float32";

const json& member(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) {
    throw Error(fmt::format("the manifest lacks '{}'", key));
  }
  return object[key];
}

std::string text_member(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) throw Error(fmt::format("'{}' in the manifest is no text", key));
  return value.get<std::string>();
}

std::vector<std::int64_t> shape_member(const json& object) {
  const json& value = member(object, "shape");
  std::vector<std::int64_t> shape;
  bool good = value.is_array();
  for (const json& extent : value) {
    good = good && extent.is_number_integer() && extent.get<std::int64_t>() >= 0;
    if (good) shape.push_back(extent.get<std::int64_t>());
  }
  if (!good) throw Error("a 'shape' in the manifest is no list of sizes");
  return shape;
}

ManifestEntry parse_entry(const json& object) {
  ManifestEntry entry{text_member(object, "path"), shape_member(object),
                      text_member(object, "sha256")};
  const std::string type = text_member(object, "type");
  if (type != kType) {
    throw Error(fmt::format("the manifest gives '{}' the type '{}', expected '{}'", entry.path,
                            type, kType));
  }
  return entry;
}

}  // namespace

std::string manifest_json(const Manifest& manifest) {
  json datasets = json::array();
  for (const ManifestEntry& entry : manifest.datasets) {
    datasets.push_back(
        {{"path", entry.path}, {"shape", entry.shape}, {"type", kType}, {"sha256", entry.sha256}});
  }
  return json{{"datasets", datasets}, {"train_sha256", manifest.train_sha256}}.dump();
}

Manifest parse_manifest(const std::string& text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) throw Error("the manifest is not JSON");
  Manifest manifest;
  manifest.train_sha256 = text_member(object, "train_sha256");
  const json& datasets = member(object, "datasets");
  if (!datasets.is_array()) throw Error("'datasets' in the manifest is no list");
  std::set<std::string> seen;
  for (const json& entry : datasets) {
    manifest.datasets.push_back(parse_entry(entry));
    const std::string& path = manifest.datasets.back().path;
    if (!seen.insert(path).second) {
      throw Error(fmt::format("the manifest lists '{}' twice", path));
    }
  }
  return manifest;
}

}  // namespace quern
