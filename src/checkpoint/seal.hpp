// SPDX-License-Identifier: Apache-2.0
// The seal after the end of the HDF5 data: one SHA-256 of every byte that no tensor occupies. HDF5
// itself crashes or hangs on some damaged files (a flipped length of a string suffices), so the
// structure is verified before HDF5 sees it; the tensors have digests of their own in the manifest.
// HDF5 ignores what follows its end of file. docs/formats.md defines the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace quern {

/// The place of a tensor's values in the file.
struct TensorPlace {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

/// Appends the seal to a closed file. `tensors` must not overlap. Throws Error.
void append_seal(const std::filesystem::path& path, std::vector<TensorPlace> tensors);

/// Whether the file ends like a sealed one. Says nothing about damage.
bool has_seal(const std::filesystem::path& path);

/// Throws Error, without the file's name, unless the seal is there and everything outside the
/// tensors is as it was when it was sealed.
void check_seal(const std::filesystem::path& path);

}  // namespace quern
