// SPDX-License-Identifier: Apache-2.0
#include "io/sample_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "io/stored_samples.hpp"

namespace quern {

namespace {

constexpr std::size_t kMostFiles = 64;                       // open at the same time
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;  // read at once, about
constexpr std::size_t kWorthAThread = std::size_t{1} << 18;

[[noreturn]] void fail(const Shard& shard, const std::string& what) {
  throw UnusableError(fmt::format("'{}': {}", shard.path.string(), what));
}

/// Room for `num_bytes`.
std::span<std::byte> room(std::vector<std::byte>& bytes, std::int64_t num_bytes) {
  bytes.resize(static_cast<std::size_t>(num_bytes));
  return bytes;
}

std::span<const std::byte> part(std::span<const std::byte> all, std::int64_t first,
                                std::int64_t count, std::int64_t sample_bytes) {
  return all.subspan(static_cast<std::size_t>(first * sample_bytes),
                     static_cast<std::size_t>(count * sample_bytes));
}

}  // namespace

SampleReader::SampleReader(const ShardSet& set) : set_(set), known_(set.shards().size()) {}

SampleReader::~SampleReader() {
  for (const Blocks& piece : pieces_)
    if (piece.verification.valid()) piece.verification.wait();
  for (const OpenFile& file : files_) ::close(file.descriptor);
}

void SampleReader::read(std::int64_t first, std::int64_t count, std::int64_t place,
                        const SampleArrays& arrays) {
  expect(first >= 0 && count >= 0 && first + count <= set_.count(), "samples of the set");
  const ShardContent& content = set_.content();
  while (count > 0) {
    const std::size_t number = shard_of(first);
    const Shard& shard = set_.shards()[number];
    Range rest{first - shard.first_index, std::min(count, shard.first_index + shard.count - first)};
    first += rest.count;
    count -= rest.count;
    look_at_file(number);
    while (rest.count > 0) {
      const Range piece = piece_of(shard, rest);
      const Range blocks = blocks_of(shard, piece);
      const SampleArrays to = part_of(content, arrays, place, piece.count);
      if (shard.block_samples == 0 ||
          known_[number].has_all(blocks.first, blocks.first + blocks.count))
        read_known(number, piece, to);
      else
        read_blocks(number, piece, to);
      place += piece.count;
      rest = {rest.first + piece.count, rest.count - piece.count};
    }
  }
}

std::size_t SampleReader::shard_of(std::int64_t sample) const {
  const std::vector<Shard>& shards = set_.shards();
  const auto next = std::upper_bound(
      shards.begin(), shards.end(), sample,
      [](std::int64_t index, const Shard& shard) { return index < shard.first_index; });
  return static_cast<std::size_t>(next - shards.begin()) - 1;
}

void SampleReader::announce(std::int64_t first, std::int64_t count) {
  const ShardContent& content = set_.content();
  while (count > 0) {
    const std::size_t number = shard_of(first);
    const Shard& shard = set_.shards()[number];
    const Range here{first - shard.first_index,
                     std::min(first + count, shard.first_index + shard.count) - first};
    const int descriptor = descriptor_of(number);
    // Where the system does not do it, reading is slower and nothing else.
    const auto announce_part = [&](std::int64_t offset, const Range& range, std::int64_t bytes) {
      if (bytes == 0) return;
      posix_fadvise(descriptor, offset + range.first * bytes, range.count * bytes,
                    POSIX_FADV_WILLNEED);
    };
    announce_part(shard.input_offset, here, content.input_bytes());
    announce_part(shard.answer_offset, here, content.answer_bytes());
    const Range blocks = blocks_of(shard, here);
    if (shard.block_samples > 0 &&
        !known_[number].has_all(blocks.first, blocks.first + blocks.count))
      announce_part(shard.block_sums_offset, blocks, kBlockDigits);
    first += here.count;
    count -= here.count;
  }
}

// The beginning of the range, up to where a block ends, so that none is read twice.
SampleReader::Range SampleReader::piece_of(const Shard& shard, const Range& range) const {
  const ShardContent& content = set_.content();
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t block_bytes = block * (content.input_bytes() + content.answer_bytes());
  const std::int64_t num_blocks = std::max<std::int64_t>(1, kPieceBytes / block_bytes);
  const std::int64_t end = (range.first / block + num_blocks) * block;
  return {range.first, std::min(range.count, end - range.first)};
}

// The blocks of the shard that hold the samples.
SampleReader::Range SampleReader::blocks_of(const Shard& shard, const Range& range) const {
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t first = range.first / block;
  return {first, (range.first + range.count + block - 1) / block - first};
}

// The time of change of its inode follows from every change of a file, whoever turns back others.
void SampleReader::look_at_file(std::size_t number) {
  struct stat state {};
  if (::fstat(descriptor_of(number), &state) != 0)
    fail(set_.shards()[number], fmt::format("cannot be read: {}", std::strerror(errno)));
  known_[number].expect_state(
      {state.st_dev, state.st_ino, state.st_size, state.st_ctim.tv_sec, state.st_ctim.tv_nsec});
}

void SampleReader::read_known(std::size_t number, const Range& range, const SampleArrays& to) {
  const Shard& shard = set_.shards()[number];
  const ShardContent& content = set_.content();
  const auto read = [&](std::int64_t offset, std::int64_t sample_bytes, std::span<std::byte> place,
                        auto widen) {
    if (sample_bytes == 0) return;
    const bool is_straight = !place.empty();
    if (!is_straight) place = room(aside_, range.count * sample_bytes);
    read_bytes(number, offset + range.first * sample_bytes, place);
    if (!is_straight) widen(content, place, to);
  };
  read(shard.input_offset, content.input_bytes(), stored_inputs_of(content, to), put_inputs);
  read(shard.answer_offset, content.answer_bytes(), stored_answers_of(content, to), put_answers);
  check_samples(shard, content, to, shard.first_index + range.first);
}

// They are verified while the next ones are read.
void SampleReader::read_blocks(std::size_t number, const Range& range, const SampleArrays& to) {
  Blocks& reading = pieces_[next_];
  next_ = (next_ + 1) % pieces_.size();
  finish(reading);
  const Shard& shard = set_.shards()[number];
  const ShardContent& content = set_.content();
  const Range blocks = blocks_of(shard, range);
  const std::int64_t first = blocks.first * shard.block_samples;
  const std::int64_t count =
      std::min((blocks.first + blocks.count) * shard.block_samples, shard.count) - first;
  const auto read = [&](std::int64_t offset, std::int64_t sample_bytes,
                        std::vector<std::byte>& bytes) {
    read_bytes(number, offset + first * sample_bytes, room(bytes, count * sample_bytes));
  };
  read(shard.input_offset, content.input_bytes(), reading.inputs);
  read(shard.answer_offset, content.answer_bytes(), reading.answers);
  read_bytes(number, shard.block_sums_offset + blocks.first * kBlockDigits,
             room(reading.sums, blocks.count * kBlockDigits));
  reading.shard = number;
  reading.state = known_[number].state();
  reading.blocks = blocks;
  reading.samples = range;
  reading.to = to;
  // Deferred to finish() where no thread can be had, or it would cost more than it does.
  const bool is_much = reading.inputs.size() >= kWorthAThread;
  const std::launch deferred = std::launch::deferred;
  reading.verification =
      std::async(is_much ? std::launch::async | deferred : deferred, [this, &reading] {
        verify(reading);
        put(reading);
      });
}

void SampleReader::finish() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) finish(pieces_[(next_ + i) % pieces_.size()]);
}

void SampleReader::finish(Blocks& read) {
  if (!read.verification.valid()) return;
  read.verification.get();
  known_[read.shard].add(read.state, read.blocks.first, read.blocks.first + read.blocks.count);
}

void SampleReader::verify(const Blocks& read) const {
  const Shard& shard = set_.shards()[read.shard];
  const std::vector<std::string> actual =
      block_sums(set_.content(), shard.block_samples, read.inputs, read.answers);
  for (std::int64_t i = 0; i < read.blocks.count; ++i) {
    const std::string_view expected(
        reinterpret_cast<const char*>(read.sums.data()) + i * kBlockDigits, kBlockDigits);
    const std::string& found = actual[static_cast<std::size_t>(i)];
    if (found == expected) continue;
    const std::int64_t first = (read.blocks.first + i) * shard.block_samples;
    const std::int64_t end = std::min(first + shard.block_samples, shard.count);
    fail(shard,
         fmt::format("the samples {} to {} are damaged: their SHA-256 is {}, expected {}",
                     shard.first_index + first, shard.first_index + end - 1, found, expected));
  }
}

void SampleReader::put(const Blocks& read) const {
  const Shard& shard = set_.shards()[read.shard];
  const ShardContent& content = set_.content();
  const std::int64_t at = read.samples.first - read.blocks.first * shard.block_samples;
  put_inputs(content, part(read.inputs, at, read.samples.count, content.input_bytes()), read.to);
  if (content.answer != Answer::none)
    put_answers(content, part(read.answers, at, read.samples.count, content.answer_bytes()),
                read.to);
  check_samples(shard, content, read.to, shard.first_index + read.samples.first);
}

int SampleReader::descriptor_of(std::size_t number) {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const OpenFile& file) { return file.shard == number; });
  if (found != files_.end()) {
    std::rotate(found, found + 1, files_.end());
    return files_.back().descriptor;
  }
  const Shard& shard = set_.shards()[number];
  const int descriptor = ::open(shard.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(shard, fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (files_.size() == kMostFiles) {
    ::close(files_.front().descriptor);
    files_.erase(files_.begin());
  }
  files_.push_back({number, descriptor});
  return descriptor;
}

void SampleReader::read_bytes(std::size_t number, std::int64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  const int descriptor = descriptor_of(number);
  const Shard& shard = set_.shards()[number];
  for (std::size_t done = 0; done < bytes.size();) {
    const std::int64_t at = offset + static_cast<std::int64_t>(done);
    const ssize_t got = ::pread(descriptor, bytes.data() + done, bytes.size() - done, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(shard, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) {
      fail(shard, fmt::format("ends after {} bytes, expected at least {}: it was changed since the "
                              "training began",
                              at, offset + static_cast<std::int64_t>(bytes.size())));
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace quern
