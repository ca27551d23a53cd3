// SPDX-License-Identifier: Apache-2.0
#include "io/h5_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "io/folder_files.hpp"
#include "io/h5_heap.hpp"
#include "io/h5_lookup.hpp"
#include "io/h5_raw.hpp"
#include "io/pending_file.hpp"

namespace quern {

static_assert(std::is_same_v<hid_t, std::int64_t>, "H5File keeps its identifier as int64_t");

namespace {

constexpr std::size_t kMaxObjects = 100000;  // links in a circle would never end

// Without locks: they fail on some file systems, with errors of which HDF5 overlooks one. Nobody
// needs them: files are complete when they get their name, and are written under one of their own.
H5Handle access_properties() {
  H5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  bool good = access.valid() && H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) >= 0;
#if H5_VERSION_GE(1, 10, 7)
  good = good && H5Pset_file_locking(access.get(), false, true) >= 0;
#endif
  if (!good) throw Error("cannot set up HDF5 file access: " + h5_reason());
  return access;
}

// `Info`: what this version of the library tells of a link.
template <class Info>
herr_t keep_name(hid_t /*group*/, const char* name, const Info* /*info*/, void* names) noexcept {
  auto& all = *static_cast<std::vector<std::string>*>(names);
  if (all.size() == kMaxObjects) return -1;
  all.emplace_back(name);
  return 0;
}

}  // namespace

std::string hdf5_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return fmt::format("{}.{}.{}", major, minor, release);
}

H5File H5File::create(const std::filesystem::path& path) {
  h5_silence();
  const H5Handle access = access_properties();
  // Any HDF5 since 1.8 reads what is written so.
  if (H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18) < 0)
    throw Error("cannot set up HDF5 file access: " + h5_reason());
  const H5Handle properties = h5_without_times(H5P_FILE_CREATE);
  const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties.get(), access.get());
  if (id < 0) {
    const std::string cannot_create = fmt::format("cannot create '{}'", path.string());
    if (const int error = h5_errno()) throw_write_failure(cannot_create, error);
    throw Error(fmt::format("{}: {}", cannot_create, h5_reason()));
  }
  return H5File(path, id, Mode::write);
}

H5File H5File::open_read(const std::filesystem::path& path) {
  h5_silence();
  const std::filesystem::file_status status = status_of(path);
  const std::string cannot_read = fmt::format("cannot read '{}'", path.string());
  if (!std::filesystem::exists(status)) {
    throw InputError(fmt::format("no file '{}'", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw InputError(fmt::format("'{}' is not a file", path.string()));
  }
  const H5Handle access = access_properties();
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) {
    throw_system_failure(h5_system_failure(), cannot_read);
    const std::string damage = h5_reason();
    if (::access(path.c_str(), R_OK) != 0) throw_read_failure(errno, cannot_read);
    throw InputError(fmt::format("'{}' is not a whole HDF5 file: {}", path.string(), damage));
  }
  return H5File(path, id, Mode::read);
}

H5File::H5File(H5File&& other) noexcept
    : path_(std::move(other.path_)),
      id_(std::exchange(other.id_, H5I_INVALID_HID)),
      is_read_(other.is_read_),
      heaps_checked_(other.heaps_checked_),
      num_bytes_(other.num_bytes_) {}

H5File::~H5File() {
  if (id_ >= 0) H5Fclose(id_);
}

bool H5File::has_group(const std::string& path) const {
  const bool has_it = h5_find(id_, path) == H5ObjectKind::group;
  expect_system();
  return has_it;
}

bool H5File::has_dataset(const std::string& path) const {
  const bool has_it = h5_find(id_, path) == H5ObjectKind::dataset;
  expect_system();
  return has_it;
}

std::vector<std::string> H5File::list_members(const std::string& group) const {
  if (!has_group(group)) fail_reading(fmt::format("no group '{}'", group));
  const H5Handle handle(H5Gopen2(id_, group.c_str(), H5P_DEFAULT), H5Gclose);
  // In the order of the file: sorted by the library, a damaged group can make it free memory twice.
  std::vector<std::string> names;
  if (!handle.valid() ||
      H5Literate(handle.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, keep_name, &names) < 0) {
    fail_reading(fmt::format("cannot list group '{}': {}", group, h5_reason()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void H5File::create_group(const std::string& path) {
  for (const std::string& prefix : h5_prefixes(path)) {
    const H5ObjectKind kind = h5_find(id_, prefix);
    if (kind == H5ObjectKind::group) continue;
    if (kind != H5ObjectKind::missing) {
      fail_writing(fmt::format("cannot make group '{}': '{}' is not a group", path, prefix));
    }
    const H5Handle properties = h5_without_times(H5P_GROUP_CREATE);
    H5Handle group(H5Gcreate2(id_, prefix.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                   H5Gclose);
    if (!group.valid() || !group.close()) {
      fail_writing(fmt::format("cannot make group '{}': {}", prefix, h5_reason()));
    }
  }
}

void H5File::ensure_object(const std::string& path) {
  if (h5_find(id_, path) == H5ObjectKind::missing) create_group(path);
}

// The raw data of all datasets is left out of the check: it may be anything, and large.
void H5File::check_heaps() const {
  if (heaps_checked_) return;
  std::vector<ByteRange> data;
  std::vector<std::string> groups = {""};
  std::size_t num_objects = 0;
  while (!groups.empty()) {
    const std::string group = std::move(groups.back());
    groups.pop_back();
    const std::string prefix = group + "/";
    for (const std::string& member : list_members(prefix)) {
      if (++num_objects > kMaxObjects) fail_reading("too many objects");
      std::string path = prefix;
      path += member;
      const H5ObjectKind kind = h5_find(id_, path);
      if (kind == H5ObjectKind::group) groups.push_back(path);
      if (kind == H5ObjectKind::dataset) data.push_back(h5_data_range(id_, path));
    }
  }
  const std::string complaint =
      h5_complain_about_heaps(path_, descriptor(), num_bytes(), std::move(data));
  if (!complaint.empty()) fail_reading(complaint);
  heaps_checked_ = true;
}

void H5File::flush_and_sync() {
  if (H5Fflush(id_, H5F_SCOPE_LOCAL) < 0) fail_writing("cannot flush: " + h5_reason());
  const int file = descriptor();
  if (file < 0) fail_writing("cannot sync: " + h5_reason());
  if (::fsync(file) != 0) {
    fail_writing(std::string("cannot sync: ") + std::strerror(errno));
  }
}

// The default driver keeps a plain one. -1: there is none.
int H5File::descriptor() const {
  void* handle = nullptr;
  if (H5Fget_vfd_handle(id_, H5P_DEFAULT, &handle) < 0 || handle == nullptr) return -1;
  return *static_cast<const int*>(handle);
}

std::uint64_t H5File::num_bytes() const {
  if (num_bytes_ > 0) return num_bytes_;
  struct stat state {};
  if (::fstat(descriptor(), &state) != 0) {
    const int reason = errno;
    throw_read_failure(reason, fmt::format("cannot read '{}'", path_.string()));
  }
  const auto bytes = static_cast<std::uint64_t>(state.st_size);
  if (is_read_) num_bytes_ = bytes;
  return bytes;
}

void H5File::close() {
  if (id_ < 0) return;
  if (H5Fclose(std::exchange(id_, H5I_INVALID_HID)) < 0) {
    fail_writing("cannot close: " + h5_reason());
  }
}

// A call to HDF5 that failed on the way may look like something that the file lacks.
void H5File::expect_system() const {
  throw_system_failure(h5_system_failure(), fmt::format("'{}': cannot be read", path_.string()));
}

void H5File::fail_reading(const std::string& what) const {
  expect_system();
  throw InputError(fmt::format("'{}': {}", path_.string(), what));
}

void H5File::fail_writing(const std::string& what) const {
  throw Error(fmt::format("'{}': {}", path_.string(), what));
}

}  // namespace quern
