// SPDX-License-Identifier: Apache-2.0
#include "io/h5_lookup.hpp"

#include "io/h5_raw.hpp"

namespace quern {

namespace {

H5ObjectKind kind_of(H5I_type_t type) {
  if (type == H5I_GROUP) return H5ObjectKind::group;
  if (type == H5I_DATASET) return H5ObjectKind::dataset;
  return H5ObjectKind::other;
}

}  // namespace

std::vector<std::string> h5_prefixes(const std::string& path) {
  std::vector<std::string> prefixes;
  for (std::size_t end = 1; end <= path.size(); ++end) {
    const bool at_end = end == path.size() || path[end] == '/';
    if (at_end && path[end - 1] != '/') prefixes.push_back(path.substr(0, end));
  }
  return prefixes;
}

H5ObjectKind h5_find(std::int64_t file, const std::string& path) {
  H5ObjectKind kind = H5ObjectKind::group;  // the root
  for (const std::string& prefix : h5_prefixes(path)) {
    if (kind != H5ObjectKind::group) return H5ObjectKind::missing;
    if (H5Lexists(file, prefix.c_str(), H5P_DEFAULT) <= 0) return H5ObjectKind::missing;
    H5L_info_t link{};
    if (H5Lget_info(file, prefix.c_str(), &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
      return H5ObjectKind::other;
    }
    const H5Handle object(H5Oopen(file, prefix.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.valid()) return H5ObjectKind::other;
    kind = kind_of(H5Iget_type(object.get()));
  }
  return kind;
}

ByteRange h5_data_range(std::int64_t file, const std::string& dataset) {
  const H5Handle handle(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!handle.valid()) return {};
  const haddr_t offset = H5Dget_offset(handle.get());  // known for contiguous data alone
  if (offset == HADDR_UNDEF) return {};
  return {offset, offset + H5Dget_storage_size(handle.get())};
}

}  // namespace quern
