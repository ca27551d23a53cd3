// SPDX-License-Identifier: Apache-2.0
// The samples of a set that is larger than memory, on their way to one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataset/prefetch.hpp"
#include "dataset/window_order.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"

namespace quern {

/// Is a set with so many samples of `sample_bytes` streamed?
bool is_streamed(const DataSpec& data, std::int64_t count, std::int64_t sample_bytes);

/// The windows that data.window and data.memory ask for. `sample_bytes`: of a sample in memory.
/// InputError when two windows do not fit into data.memory, which the message calls `memory_name`.
WindowPlan window_plan(const DataSpec& data, const BatchRule& batches, std::int64_t sample_bytes,
                       const std::string& memory_name = "data.memory");

/// Room for two windows of what a rank of `num_ranks` computes.
WindowBuffers window_buffers(const WindowPlan& plan, const BatchRule& batches, int rank,
                             int num_ranks);

/// Fills the buffers, a window ahead, on a thread of its own.
class SampleStream {
 public:
  /// Where samples come from. Used on the stream's thread.
  struct Source {
    /// The samples [first, first + count) of the set will be read soon.
    std::function<void(std::int64_t first, std::int64_t count)> announce;
    /// Overwrites the places [place, place + count) in the buffers with them.
    /// They are whole after finish().
    std::function<void(std::int64_t first, std::int64_t count, std::int64_t place)> read;
    std::function<void()> finish;
    std::int64_t ahead = 0;  ///< samples that are announced before they are read, about
  };

  SampleStream(const WindowPlan& plan, const WindowBuffers& buffers, std::uint64_t seed,
               std::int64_t epochs, Source source);

  const WindowPlan& plan() const { return plan_; }
  const WindowBuffers& buffers() const { return buffers_; }

  /// Reads samples of the set to the beginning of the buffers. Only before the first prepare().
  void fetch(std::int64_t first, std::int64_t count) {
    source_.read(first, count, 0);
    source_.finish();
  }

  /// Does prepare() hand the buffers of batches before this one to those that come later? Then
  /// these must have been computed: a device may be behind the host.
  bool hands_back(std::int64_t epoch, std::int64_t cursor) const {
    return window_ >= 0 && window_of(epoch, cursor) != window_;
  }

  /// To be called before the batch at `cursor` of the epoch: waits until its samples are there, and
  /// until it is known whether those of the next batch will be. Throws what reading its samples has
  /// thrown.
  void prepare(std::int64_t epoch, std::int64_t cursor);

  /// Has reading failed? The batch that was prepared last is whole nevertheless.
  bool has_failed() { return prefetch_.has_failed(); }
  /// Throws why, if it has.
  void rethrow() { prefetch_.rethrow(); }

 private:
  // Counted over all epochs.
  std::int64_t window_of(std::int64_t epoch, std::int64_t cursor) const {
    return epoch * plan_.windows + plan_.window_of_step(cursor / plan_.batch);
  }
  void load(std::int64_t window);
  /// Neighbours in the set that become neighbours in the buffers.
  struct Run {
    std::int64_t first;
    std::int64_t count;
    std::int64_t place;
  };
  std::vector<Run> runs_of(std::int64_t window) const;

  WindowPlan plan_;
  WindowBuffers buffers_;
  std::uint64_t seed_;
  std::int64_t windows_;  // of all epochs
  Source source_;
  std::int64_t window_ = -1;  // of the batch prepared last
  Prefetch prefetch_;         // the last member: its thread uses the others
};

}  // namespace quern
