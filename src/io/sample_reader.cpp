// SPDX-License-Identifier: Apache-2.0
#include "io/sample_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "io/read_at.hpp"
#include "io/stored_samples.hpp"

namespace quern {

namespace {

constexpr std::int64_t kLoadBytes = std::int64_t{1} << 21;  // of a thread, about
// Read at once, about: verified while it is in the second-level cache.
constexpr std::int64_t kPartBytes = std::int64_t{1} << 18;

[[noreturn]] void fail(const Shard& shard, const std::string& what) {
  throw UnusableError(fmt::format("'{}': {}", shard.path.string(), what));
}

/// Room for `num_bytes`.
std::span<std::byte> room(std::vector<std::byte>& bytes, std::int64_t num_bytes) {
  bytes.resize(static_cast<std::size_t>(num_bytes));
  return bytes;
}

// `what` the system could not do, as errno says.
[[noreturn]] void fail_by_system(const Shard& shard, const std::string& what) {
  const int error = errno;
  throw_unusable(error, fmt::format("'{}': {}", shard.path.string(), what));
}

void read_bytes(const Shard& shard, int descriptor, std::int64_t offset,
                std::span<std::byte> bytes) {
  const auto got = read_at(descriptor, offset, bytes);
  if (!got) fail_by_system(shard, "cannot be read");
  if (*got == bytes.size()) return;
  fail(shard, fmt::format("ends after {} bytes, expected at least {}: it was changed since the "
                          "training began",
                          offset + static_cast<std::int64_t>(*got),
                          offset + static_cast<std::int64_t>(bytes.size())));
}

// The time of change of its inode follows from every change of a file, whoever turns back others.
KnownBlocks::FileState state_of(const Shard& shard, int descriptor) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0) fail_by_system(shard, "cannot be read");
  return {state.st_dev, state.st_ino, state.st_size, state.st_ctim.tv_sec, state.st_ctim.tv_nsec};
}

}  // namespace

SampleReader::SampleReader(const ShardSet& set, std::size_t most_files)
    : set_(set),
      files_(set, most_files),
      known_(set.shards().size()),
      looked_at_(set.shards().size()) {}

SampleReader::~SampleReader() {
  settle();
}

// Waits for all threads, whatever came of what they read.
void SampleReader::settle() {
  for (Load& load : loads_) {
    if (load.work.valid() &&
        load.work.wait_for(std::chrono::seconds(0)) != std::future_status::deferred)
      load.work.wait();
    load.work = {};
    clear(load);
  }
}

void SampleReader::clear(Load& load) {
  for (const Piece& piece : load.pieces) files_.release(piece.shard);
  load.pieces.clear();
  load.bytes = 0;
}

void SampleReader::read(std::int64_t first, std::int64_t count, std::int64_t place,
                        const SampleArrays& arrays) {
  expect(first >= 0 && count >= 0 && first + count <= set_.count(), "samples of the set");
  try {
    add_all(first, count, place, arrays);
  } catch (...) {
    settle();  // nothing writes to the arrays any more
    throw;
  }
}

void SampleReader::add_all(std::int64_t first, std::int64_t count, std::int64_t place,
                           const SampleArrays& arrays) {
  const ShardContent& content = set_.content();
  while (count > 0) {
    const std::size_t number = shard_of(first);
    const Shard& shard = set_.shards()[number];
    Range rest{first - shard.first_index, std::min(count, shard.first_index + shard.count - first)};
    first += rest.count;
    count -= rest.count;
    files_.end_announced(number, rest.count);
    look_at(number);
    while (rest.count > 0) {
      const Range piece = piece_of(number, rest);
      add(number, piece, part_of(content, arrays, place, piece.count));
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
    if (!files_.has_room(number)) return;
    const int descriptor = descriptor_of(number);
    files_.announce(number, here.count);
    // Where the system does not do it, reading is slower and nothing else.
    const auto announce_part = [&](std::int64_t offset, const Range& range, std::int64_t bytes) {
      if (bytes == 0) return;
      posix_fadvise(descriptor, offset + range.first * bytes, range.count * bytes,
                    POSIX_FADV_WILLNEED);
    };
    announce_part(shard.input_offset, here, content.input_bytes());
    announce_part(shard.answer_offset, here, content.answer_bytes());
    if (!is_known(number, here))
      announce_part(shard.block_sums_offset, blocks_of(shard, here), shard.block_digits);
    first += here.count;
    count -= here.count;
  }
}

// The beginning of the range. Of blocks that are not known either whole ones, which can be verified
// where they belong, or samples of a single one.
SampleReader::Range SampleReader::piece_of(std::size_t number, const Range& range) const {
  const Shard& shard = set_.shards()[number];
  const ShardContent& content = set_.content();
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t block_bytes = block * (content.input_bytes() + content.answer_bytes());
  const std::int64_t num_blocks = std::max<std::int64_t>(1, kLoadBytes / block_bytes);
  const std::int64_t begin = range.first / block;
  const auto up_to = [&](std::int64_t end) {
    return Range{range.first, std::min(range.count, end * block - range.first)};
  };
  const Range most = up_to(begin + num_blocks);
  if (is_known(number, most)) return most;
  if (range.first % block > 0) return up_to(begin + 1);
  const std::int64_t end = range.first + most.count;
  if (end % block == 0 || end == shard.count || end < (begin + 1) * block) return most;
  return up_to(end / block);
}

// The blocks of the shard that hold the samples.
SampleReader::Range SampleReader::blocks_of(const Shard& shard, const Range& range) const {
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t first = range.first / block;
  return {first, ceil_div(range.first + range.count, block) - first};
}

bool SampleReader::is_known(std::size_t number, const Range& range) const {
  const Shard& shard = set_.shards()[number];
  if (shard.block_samples == 0) return true;
  const Range blocks = blocks_of(shard, range);
  return known_[number].has_all(blocks.first, blocks.first + blocks.count);
}

void SampleReader::add(std::size_t number, const Range& range, const SampleArrays& to) {
  const ShardContent& content = set_.content();
  const Piece piece{number,
                    descriptor_of(number),
                    known_[number].state(),
                    is_known(number, range),
                    range,
                    blocks_of(set_.shards()[number], range),
                    to};
  Load& load = loads_[next_];
  finish(load);
  load.pieces.push_back(piece);
  files_.hold(number);
  const std::int64_t block = set_.shards()[number].block_samples;
  const std::int64_t samples = piece.is_known ? range.count : piece.blocks.count * block;
  load.bytes += samples * (content.input_bytes() + content.answer_bytes());
  if (load.bytes > kLoadBytes - kPartBytes) start();  // blocks seldom make it full
}

void SampleReader::start() {
  Load& load = loads_[next_];
  next_ = (next_ + 1) % loads_.size();
  // In finish() where no thread can be had, or it would cost more than it does.
  const std::launch deferred = std::launch::deferred;
  load.work = std::async(load.bytes >= kPartBytes ? std::launch::async | deferred : deferred,
                         [this, &load] { read_pieces(load); });
}

void SampleReader::finish() {
  if (!loads_[next_].work.valid()) start();  // what is not yet a thread's worth
  for (std::size_t i = 0; i < loads_.size(); ++i) finish(loads_[(next_ + i) % loads_.size()]);
  ++round_;
}

void SampleReader::finish(Load& load) {
  if (!load.work.valid()) return;
  try {
    load.work.get();
  } catch (...) {
    settle();  // nothing writes to the arrays any more
    throw;
  }
  for (const Piece& piece : load.pieces)
    known_[piece.shard].add(piece.state, piece.blocks.first,
                            piece.blocks.first + piece.blocks.count);
  clear(load);
}

// A file may have changed since it was looked at. Pieces of one file follow each other, so it is
// asked for its state once.
void SampleReader::read_pieces(Load& load) const {
  const Piece* asked = nullptr;
  bool is_same = false;
  for (const Piece& piece : load.pieces) {
    const Shard& shard = set_.shards()[piece.shard];
    if (piece.is_known && shard.block_samples > 0 &&
        (!asked || asked->shard != piece.shard || asked->state != piece.state)) {
      is_same = state_of(shard, piece.descriptor) == piece.state;
      asked = &piece;
    }
    read_piece(piece, piece.is_known && (shard.block_samples == 0 || is_same), load);
  }
}

void SampleReader::read_piece(const Piece& piece, bool is_known, Load& load) const {
  const Shard& shard = set_.shards()[piece.shard];
  const ShardContent& content = set_.content();
  const std::int64_t block = std::max<std::int64_t>(1, shard.block_samples);
  const std::int64_t block_bytes = block * (content.input_bytes() + content.answer_bytes());
  const std::int64_t step = std::max<std::int64_t>(1, kPartBytes / block_bytes) * block;
  const Range& all = piece.samples;
  for (std::int64_t first = all.first; first < all.first + all.count;) {
    const std::int64_t end = std::min((first / step + 1) * step, all.first + all.count);
    read_part(piece, {first, end - first}, is_known, load);
    first = end;
  }
}

// Straight to where they belong, or aside: what has to be widened, and blocks of which not all
// samples are wanted.
void SampleReader::read_part(const Piece& piece, const Range& samples, bool is_known,
                             Load& load) const {
  const Shard& shard = set_.shards()[piece.shard];
  const ShardContent& content = set_.content();
  const SampleArrays to =
      part_of(content, piece.to, samples.first - piece.samples.first, samples.count);
  Range stored = samples;
  if (!is_known) {
    const Range blocks = blocks_of(shard, samples);
    stored.first = blocks.first * shard.block_samples;
    stored.count =
        std::min((blocks.first + blocks.count) * shard.block_samples, shard.count) - stored.first;
  }
  const auto read = [&](std::int64_t offset, std::int64_t bytes, std::span<std::byte> place,
                        std::vector<std::byte>& aside) {
    if (bytes == 0) return std::span<std::byte>{};
    if (place.empty() || stored.count > samples.count) place = room(aside, stored.count * bytes);
    read_bytes(shard, piece.descriptor, offset + stored.first * bytes, place);
    return place;
  };
  const std::span<std::byte> input_place = stored_inputs_of(content, to);
  const std::span<std::byte> answer_place = stored_answers_of(content, to);
  const auto inputs = read(shard.input_offset, content.input_bytes(), input_place, load.inputs);
  const auto answers =
      read(shard.answer_offset, content.answer_bytes(), answer_place, load.answers);
  if (!is_known) verify(piece, stored, inputs, answers, load);
  const auto wanted = [&](std::span<const std::byte> all, std::int64_t bytes) {
    return all.subspan(static_cast<std::size_t>((samples.first - stored.first) * bytes),
                       static_cast<std::size_t>(samples.count * bytes));
  };
  if (inputs.data() != input_place.data())
    put_inputs(content, wanted(inputs, content.input_bytes()), to);
  if (answers.data() != answer_place.data())
    put_answers(content, wanted(answers, content.answer_bytes()), to);
  check_samples(shard, content, to, shard.first_index + samples.first);
}

void SampleReader::verify(const Piece& piece, const Range& stored,
                          std::span<const std::byte> inputs, std::span<const std::byte> answers,
                          Load& load) const {
  const Shard& shard = set_.shards()[piece.shard];
  const std::int64_t digits = shard.block_digits;
  const Range blocks = blocks_of(shard, stored);
  read_bytes(shard, piece.descriptor, shard.block_sums_offset + blocks.first * digits,
             room(load.sums, blocks.count * digits));
  const std::string_view expected(reinterpret_cast<const char*>(load.sums.data()),
                                  load.sums.size());
  const std::string actual =
      block_sums(set_.content(), shard.block_samples, digits, inputs, answers);
  if (actual == expected) return;
  const auto wrong = std::mismatch(actual.begin(), actual.end(), expected.begin()).first;
  const std::int64_t number = (wrong - actual.begin()) / digits;
  const auto of_block = [&](std::string_view sums) {
    return sums.substr(static_cast<std::size_t>(number * digits), static_cast<std::size_t>(digits));
  };
  const std::int64_t first = stored.first + number * shard.block_samples;
  const std::int64_t end = std::min(first + shard.block_samples, shard.count);
  fail(shard, fmt::format("the samples {} to {} are damaged: their {} is {}, expected {}",
                          shard.first_index + first, shard.first_index + end - 1,
                          digits == kXxh3Digits ? "XXH3" : "SHA-256", of_block(actual),
                          of_block(expected)));
}

int SampleReader::descriptor_of(std::size_t number) {
  if (files_.is_open(number)) return files_.open(number);
  if (!files_.can_open(number)) finish();
  looked_at_[number] = 0;  // another file may have its name now
  return files_.open(number);
}

// Once a round: this is a message to a file server.
void SampleReader::look_at(std::size_t number) {
  const int descriptor = descriptor_of(number);
  if (looked_at_[number] == round_) return;
  known_[number].expect_state(state_of(set_.shards()[number], descriptor));
  looked_at_[number] = round_;
}

}  // namespace quern
