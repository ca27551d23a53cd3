// SPDX-License-Identifier: Apache-2.0
// The list of everything a checkpoint must hold, with digests: the root attribute "manifest".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quern {

inline constexpr const char* kCheckpointFormat = "quern-checkpoint";
inline constexpr std::int64_t kCheckpointVersion = 1;

struct ManifestEntry {
  std::string path;  ///< "/model/fc1/weight"
  std::vector<std::int64_t> shape;
  std::string sha256;  ///< of the values, little-endian float32
  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

struct Manifest {
  std::vector<ManifestEntry> datasets;  ///< the model in network order, then the optimizer
  std::string train_sha256;             ///< see train_attributes_sha256
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string manifest_json(const Manifest& manifest);

/// Throws Error saying what is missing or wrong.
Manifest parse_manifest(const std::string& json);

}  // namespace quern
