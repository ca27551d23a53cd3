// SPDX-License-Identifier: Apache-2.0
#include "strategy/sample_stream.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/unit_text.hpp"
#include "parallel/batch_partition.hpp"

namespace quern {

namespace {

/// What is read in one go, at most: from there on a disk is as fast as it gets.
constexpr std::int64_t kMostChunkBytes = std::int64_t{1} << 20;

}  // namespace

bool is_streamed(const DataSpec& data, std::int64_t count, std::int64_t sample_bytes) {
  return data.memory > 0 && count > data.memory / std::max<std::int64_t>(sample_bytes, 1);
}

WindowPlan window_plan(const DataSpec& data, const BatchRule& batches, std::int64_t sample_bytes,
                       const std::string& memory_name) {
  const std::int64_t count = batches.num_samples;
  sample_bytes = std::max<std::int64_t>(sample_bytes, 1);
  const std::int64_t room = data.memory / sample_bytes;
  const bool streams = is_streamed(data, count, sample_bytes);
  std::int64_t window = data.window > 0 ? data.window : count;
  // Beside two windows there are two times a last batch.
  if (streams && data.window == 0) window = room / 2 - batches.full_batch;
  const WindowPlan plan = make_window_plan(count, batches.full_batch, batches.block_samples, window,
                                           kMostChunkBytes / sample_bytes, data.shuffle);
  if (!streams) return plan;
  const std::int64_t needed = 2 * (plan.window_samples() + batches.full_batch);
  if (plan.is_active() && needed <= room) return plan;
  throw InputError(
      memory_name + " = " + bytes_text(data.memory) + " is too small for two windows of " +
      std::to_string(data.window > 0 ? std::min(data.window, count) : batches.full_batch) +
      " samples of " + std::to_string(sample_bytes) +
      " bytes and the last batches (expected at least \"" +
      std::to_string(std::min(needed, count) * sample_bytes) +  // not rounded: to be entered
      " B\"" + (data.window > 0 ? ", or a smaller data.window)" : ")"));
}

WindowBuffers window_buffers(const WindowPlan& plan, const BatchRule& batches, int rank,
                             int num_ranks) {
  const BatchPartition full(batches.full_batch, batches.block_samples, num_ranks);
  WindowBuffers buffers;
  buffers.first_track = full.first_block(rank);
  buffers.tracks = full.num_blocks(rank);
  buffers.capacity = plan.window_steps() * batches.block_samples;
  if (batches.last_batch == batches.full_batch) return buffers;
  const BatchPartition last(batches.last_batch, batches.block_samples, num_ranks);
  buffers.tail_first = last.first_sample(rank);
  buffers.tail = last.num_samples(rank);
  return buffers;
}

SampleStream::SampleStream(const WindowPlan& plan, const WindowBuffers& buffers, std::uint64_t seed,
                           std::int64_t epochs, Source source)
    : plan_(plan),
      buffers_(buffers),
      seed_(seed),
      windows_(epochs * plan.windows),
      source_(std::move(source)),
      prefetch_([this](std::int64_t window) { load(window); }) {}

void SampleStream::prepare(std::int64_t epoch, std::int64_t cursor) {
  const std::int64_t step = cursor / plan_.batch;
  const std::int64_t window = window_of(epoch, cursor);
  if (window_ < 0 || (window != window_ && window != window_ + 1))
    prefetch_.start(window, windows_);
  window_ = window;
  prefetch_.enter(window);
  if (!prefetch_.wait_for(window)) prefetch_.rethrow();
  const std::int64_t next = step + 1 < plan_.steps()
                                ? epoch * plan_.windows + plan_.window_of_step(step + 1)
                                : (epoch + 1) * plan_.windows;
  if (next < windows_) prefetch_.wait_for(next);
}

// What comes next is announced, so that a disk reads while other samples are verified.
void SampleStream::load(std::int64_t window) {
  const std::vector<Run> runs = runs_of(window);
  auto ahead = runs.begin();
  std::int64_t announced = 0;  // samples that are still to be read
  for (auto run = runs.begin(); run != runs.end() && !prefetch_.is_stopping(); ++run) {
    for (; ahead != runs.end() && announced < source_.ahead; ++ahead) {
      source_.announce(ahead->first, ahead->count);
      announced += ahead->count;
    }
    source_.read(run->first, run->count, run->place);
    announced -= run->count;
  }
  source_.finish();
}

// In the order of the set, file after file: then a file is opened once a window. Each rank begins
// elsewhere, else all would read the same files at the same time.
std::vector<SampleStream::Run> SampleStream::runs_of(std::int64_t window) const {
  const std::int64_t epoch = window / plan_.windows;
  const std::int64_t in_epoch = window % plan_.windows;
  const WindowOrder order(plan_, seed_, static_cast<std::uint32_t>(epoch));
  std::vector<Run> runs;
  for (std::int64_t track = buffers_.first_track; track < buffers_.first_track + buffers_.tracks;
       ++track) {
    const std::int64_t size = order.size(track, in_epoch);
    for (std::int64_t index = 0; index < size;) {
      const WindowPlace place{track, in_epoch, index};
      const std::int64_t count = order.run(place);
      runs.push_back({order.sample(place), count, buffers_.track_at(track, window) + index});
      index += count;
    }
  }
  if (in_epoch == plan_.windows - 1) {
    const std::int64_t begin = plan_.full_steps() * plan_.batch + buffers_.tail_first;
    for (std::int64_t i = 0; i < buffers_.tail; ++i)
      runs.push_back({order(begin + i), 1, buffers_.tail_at(epoch) + i});
  }
  std::ranges::sort(runs, {}, [](const Run& run) { return std::pair(run.first, run.place); });
  const std::int64_t begin = plan_.count / plan_.tracks() * buffers_.first_track;
  std::ranges::rotate(runs, std::ranges::lower_bound(runs, begin, {}, &Run::first));
  return runs;
}

}  // namespace quern
