// SPDX-License-Identifier: Apache-2.0
#include "app/bench/checkpoint_probe.hpp"

#include "app/bench/raw_file.hpp"
#include "base/stopwatch.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"

namespace quern {

namespace {

template <class Work>
double seconds_of(Work&& work) {
  const Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace

std::vector<IoRow> time_checkpoint(const std::string& what, const CheckpointState& state,
                                   const ScratchFolder& scratch, int rounds) {
  const std::filesystem::path raw = scratch.path() / "raw";
  // Once before the rounds; its bytes are those of the raw file.
  const std::filesystem::path file = write_checkpoint(scratch.path(), state);
  std::vector<std::byte> bytes;
  read_raw_file(file, bytes);
  write_raw_file(raw, bytes);
  std::vector<std::byte> buffer = bytes;
  std::vector<double> writes, raw_writes, reads, raw_reads;
  for (int round = 0; round < rounds; ++round) {
    scratch.stop_if_interrupted();
    writes.push_back(seconds_of([&] { write_checkpoint(scratch.path(), state); }));
    raw_writes.push_back(seconds_of([&] { write_raw_file(raw, bytes); }));
    reads.push_back(seconds_of([&] { read_checkpoint(file); }));
    raw_reads.push_back(seconds_of([&] { read_raw_file(raw, buffer); }));
  }
  std::filesystem::remove(file);
  std::filesystem::remove(raw);
  const auto size = static_cast<std::int64_t>(bytes.size());
  return {{"checkpoint_write", what, size, 0, spread_of(writes), spread_of(raw_writes)},
          {"checkpoint_read", what, size, 0, spread_of(reads), spread_of(raw_reads)}};
}

}  // namespace quern
