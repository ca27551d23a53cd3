// SPDX-License-Identifier: Apache-2.0
#include "io/open_shards.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/system_failure.hpp"

namespace quern {

OpenShards::OpenShards(const ShardSet& set, std::size_t most)
    : set_(set), most_(most), files_(set.shards().size()) {
  expect(most > 0, "room for a file");
}

OpenShards::~OpenShards() {
  for (const std::size_t shard : opened_) ::close(files_[shard].descriptor);
}

bool OpenShards::has_room(std::size_t shard) const {
  return is_open(shard) || opened_.size() < most_ || closable(false) != opened_.end();
}

bool OpenShards::can_open(std::size_t shard) const {
  return has_room(shard) || closable(true) != opened_.end();
}

int OpenShards::open(std::size_t shard) {
  if (is_open(shard)) {
    const auto found = std::find(opened_.begin(), opened_.end(), shard);
    std::rotate(found, found + 1, opened_.end());
    return files_[shard].descriptor;
  }
  if (opened_.size() >= most_) {
    auto other = closable(false);
    if (other == opened_.end()) other = closable(true);
    expect(other != opened_.end(), "a file that can be closed");
    ::close(files_[*other].descriptor);
    files_[*other] = {};
    opened_.erase(other);
  }
  const std::filesystem::path& path = set_.shards()[shard].path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    throw_unusable(error, "'" + path.string() + "': cannot be opened");
  }
  opened_.push_back(shard);
  files_[shard].descriptor = descriptor;
  return descriptor;
}

void OpenShards::end_announced(std::size_t shard, std::int64_t samples) {
  std::int64_t& announced = files_[shard].announced;
  announced = std::max<std::int64_t>(0, announced - samples);
}

// The one used last: every window goes through the files in the same order, so all others are
// needed before it is again.
std::vector<std::size_t>::const_iterator OpenShards::closable(bool also_announced) const {
  const auto found = std::find_if(opened_.rbegin(), opened_.rend(), [&](std::size_t shard) {
    const File& file = files_[shard];
    return file.readers == 0 && (also_announced || file.announced == 0);
  });
  return found == opened_.rend() ? opened_.end() : std::next(found).base();
}

std::size_t most_open_shards() {
  // A quarter: MPI opens connections and shared memory, the file system and HDF5 files of their
  // own. At most so many, because a file server keeps a record of each.
  constexpr rlim_t kLeast = 16;
  constexpr rlim_t kMost = 512;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  return std::clamp(limit.rlim_cur / 4, kLeast, kMost);
}

}  // namespace quern
