// SPDX-License-Identifier: Apache-2.0
// The order of an epoch for sets of which only a part is in memory: shuffled in two levels.
//
//   set       chunk 0 | chunk 1 | chunk 2 | ...          neighbours, as they lie in the shards
//   sequence  chunk 5 | chunk 0 | chunk 9 | ...          level one: the chunks shuffled
//   tracks     ------ track 0 ------|------ track 1 ------  the sequence cut: one for each
//   micro-block windows   w 0 | w 1 | w 2 |...|w 0 | w 1 | w 2 |...  level two: samples shuffled
//   within each
//
// Every batch takes its micro-block j out of track j. So who computes a micro-block reads its track
// alone, front to back, and no rank reads what another one needs. All is a function of (seed,
// epoch, position) and the plan, which the ranks have no part in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ceil_div.hpp"
#include "base/macros.hpp"
#include "base/philox.hpp"
#include "dataset/permutation.hpp"

namespace quern {

/// How the set, the batches and the windows lie to each other.
struct WindowPlan {
  std::int64_t count = 0;          ///< samples of the set
  std::int64_t batch = 1;          ///< samples of a full batch
  std::int64_t block_samples = 1;  ///< of a micro-block
  std::int64_t windows = 1;        ///< of an epoch; 1: there are none, the whole set is shuffled
  std::int64_t chunk = 1;          ///< samples of a chunk
  bool shuffle = true;             ///< else the order is that of the set, in the same windows

  bool is_active() const { return windows > 1; }
  QUERN_INLINE_FUNCTION std::int64_t steps() const { return ceil_div(count, batch); }
  QUERN_INLINE_FUNCTION std::int64_t full_steps() const { return count / batch; }
  std::int64_t tracks() const { return ceil_div(batch, block_samples); }
  /// Steps of the longest window.
  std::int64_t window_steps() const { return ceil_div(steps(), windows); }
  /// What a window has room for. make_window_plan() makes the same plan of it.
  std::int64_t window_samples() const { return window_steps() * tracks() * block_samples; }

  QUERN_INLINE_FUNCTION std::int64_t first_step(std::int64_t window) const {
    return window * steps() / windows;
  }
  QUERN_INLINE_FUNCTION std::int64_t window_of_step(std::int64_t step) const {
    return ((step + 1) * windows - 1) / steps();
  }

  /// Samples of a full batch that are of this track.
  QUERN_INLINE_FUNCTION std::int64_t track_width(std::int64_t track) const {
    return clamp(batch - track * block_samples, block_samples);
  }
  /// Where the track begins in the sequence.
  QUERN_INLINE_FUNCTION std::int64_t track_begin(std::int64_t track) const {
    const std::int64_t before = track * block_samples;
    return full_steps() * clamp(before, batch) + clamp(before, count % batch);
  }
  /// Samples of this track in the first `step` steps.
  QUERN_INLINE_FUNCTION std::int64_t track_samples(std::int64_t track, std::int64_t step) const {
    const std::int64_t width = track_width(track);
    if (step <= full_steps()) return step * width;
    return full_steps() * width + clamp(count % batch - track * block_samples, width);
  }

 private:
  static QUERN_INLINE_FUNCTION std::int64_t clamp(std::int64_t value, std::int64_t most) {
    return value < 0 ? 0 : value < most ? value : most;
  }
};

/// Cuts an epoch into windows of `window` samples at most, and at least a batch each. A chunk is a
/// sixteenth of what a track has of a window, but at most `most_chunk` samples, and at least an
/// eighth of these where a quarter of the track's part is that much. `window` >= count:
/// there is one window.
WindowPlan make_window_plan(std::int64_t count, std::int64_t batch, std::int64_t block_samples,
                            std::int64_t window, std::int64_t most_chunk, bool shuffle);

/// A place in the epoch, as its window sees it.
struct WindowPlace {
  std::int64_t track = 0;
  std::int64_t window = 0;
  std::int64_t index = 0;  ///< in the track's part of the window, which lies as the sequence does
};

class WindowOrder {
 public:
  QUERN_INLINE_FUNCTION WindowOrder(const WindowPlan& plan, std::uint64_t seed, std::uint32_t epoch)
      : plan_(plan),
        seed_(seed),
        epoch_(epoch),
        whole_chunks_(plan.count / plan.chunk),
        // So that the last chunk, which may be shorter, stands anywhere.
        rotation_(static_cast<std::int64_t>(word(~std::uint64_t{0}) %
                                            static_cast<std::uint64_t>(plan.count))) {}

  /// Where the sample at this position of the epoch comes from.
  QUERN_INLINE_FUNCTION WindowPlace place(std::int64_t position) const {
    WindowPlace place = unshuffled(position);
    if (plan_.shuffle) place.index = within(place)(place.index);
    return place;
  }

  /// The same of Permutation::kWidth positions, of which neighbours often follow each other in a
  /// micro-block, and their samples.
  void map(const std::int64_t* position, WindowPlace* place, std::int64_t* sample) const {
    constexpr int kWidth = Permutation::kWidth;
    for (int begin = 0; begin < kWidth;) {
      place[begin] = unshuffled(position[begin]);
      const std::int64_t of_block =
          plan_.block_samples - position[begin] % plan_.batch % plan_.block_samples;
      int end = begin + 1;
      for (; end < kWidth && end - begin < of_block && position[end] == position[end - 1] + 1 &&
             position[end] % plan_.batch != 0;
           ++end) {
        place[end] = place[end - 1];
        ++place[end].index;
      }
      if (plan_.shuffle) shuffle(place + begin, end - begin);
      begin = end;
    }
    samples(place, sample);
  }

  /// Samples of a track in a window.
  QUERN_INLINE_FUNCTION std::int64_t size(std::int64_t track, std::int64_t window) const {
    return end_of(track, window) - begin_of(track, window);
  }

  /// The sample that lies there.
  QUERN_INLINE_FUNCTION std::int64_t sample(const WindowPlace& place) const {
    const std::int64_t index = begin_of(place.track, place.window) + place.index;
    if (!plan_.shuffle) {
      const std::int64_t width = plan_.track_width(place.track);
      return index / width * plan_.batch + place.track * plan_.block_samples + index % width;
    }
    return in_sequence(plan_.track_begin(place.track) + index);
  }

  /// How many samples of the track's window, from this one on, follow each other in the set.
  std::int64_t run(const WindowPlace& place) const {
    const std::int64_t begin = begin_of(place.track, place.window);
    const std::int64_t rest = end_of(place.track, place.window) - begin - place.index;
    if (!plan_.shuffle) {
      const std::int64_t width = plan_.track_width(place.track);
      return std::min(rest, width - (begin + place.index) % width);
    }
    const std::int64_t turned = turn(plan_.track_begin(place.track) + begin + place.index);
    return std::min({rest, plan_.chunk - turned % plan_.chunk, plan_.count - turned});
  }

  /// The sample at this position of the epoch.
  QUERN_INLINE_FUNCTION std::int64_t operator()(std::int64_t position) const {
    return sample(place(position));
  }

 private:
  /// Where it would come from, if samples stayed in their places in a window.
  QUERN_INLINE_FUNCTION WindowPlace unshuffled(std::int64_t position) const {
    const std::int64_t step = position / plan_.batch;
    const std::int64_t in_batch = position % plan_.batch;
    WindowPlace place;
    place.track = in_batch / plan_.block_samples;
    place.window = plan_.window_of_step(step);
    place.index = step * plan_.track_width(place.track) + in_batch % plan_.block_samples -
                  begin_of(place.track, place.window);
    return place;
  }

  /// The shuffle of a track's window.
  QUERN_INLINE_FUNCTION Permutation within(const WindowPlace& place) const {
    return {word(static_cast<std::uint64_t>(place.track * plan_.windows + place.window)), epoch_,
            size(place.track, place.window)};
  }

  /// Of `count` places, which are of one track's window.
  void shuffle(WindowPlace* place, int count) const {
    std::int64_t index[Permutation::kWidth];
    for (int i = 0; i < count; ++i) index[i] = place[i].index;
    within(place[0]).map(index, index, count);
    for (int i = 0; i < count; ++i) place[i].index = index[i];
  }

  /// sample(place[i]) for each i.
  void samples(const WindowPlace* place, std::int64_t* sample) const {
    constexpr int kWidth = Permutation::kWidth;
    if (!plan_.shuffle) {
      for (int i = 0; i < kWidth; ++i) sample[i] = this->sample(place[i]);
      return;
    }
    std::int64_t turned[kWidth];
    std::int64_t chunk[kWidth];
    std::int64_t shuffled[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      turned[i] = turn(plan_.track_begin(place[i].track) +
                       begin_of(place[i].track, place[i].window) + place[i].index);
      chunk[i] = turned[i] / plan_.chunk;
      shuffled[i] = chunk[i] < whole_chunks_ ? chunk[i] : 0;
    }
    if (whole_chunks_ > 0) Permutation(seed_, epoch_, whole_chunks_).map(shuffled, shuffled);
    for (int i = 0; i < kWidth; ++i) {
      sample[i] = (chunk[i] < whole_chunks_ ? shuffled[i] : chunk[i]) * plan_.chunk +
                  turned[i] % plan_.chunk;
    }
  }

  QUERN_INLINE_FUNCTION std::int64_t turn(std::int64_t index) const {
    return (index + rotation_) % plan_.count;
  }

  QUERN_INLINE_FUNCTION std::int64_t begin_of(std::int64_t track, std::int64_t window) const {
    return plan_.track_samples(track, plan_.first_step(window));
  }
  QUERN_INLINE_FUNCTION std::int64_t end_of(std::int64_t track, std::int64_t window) const {
    return plan_.track_samples(track, plan_.first_step(window + 1));
  }

  QUERN_INLINE_FUNCTION std::int64_t in_sequence(std::int64_t index) const {
    const std::int64_t turned = turn(index);
    std::int64_t chunk = turned / plan_.chunk;
    if (chunk < whole_chunks_) chunk = Permutation(seed_, epoch_, whole_chunks_)(chunk);
    return chunk * plan_.chunk + turned % plan_.chunk;
  }

  QUERN_INLINE_FUNCTION std::uint64_t word(std::uint64_t index) const {
    const PhiloxBlock block = random_block(seed_, RandomUse::window_order, epoch_, index);
    return std::uint64_t{block.word[0]} << 32 | block.word[1];
  }

  WindowPlan plan_;
  std::uint64_t seed_;
  std::uint32_t epoch_;
  std::int64_t whole_chunks_;
  std::int64_t rotation_;
};

/// Where one rank keeps its part of two windows. In arrays of samples: two buffers for each of its
/// tracks, and two for what it computes of the epoch's last batch where that is shorter, because
/// then others may have its tracks.
struct WindowBuffers {
  std::int64_t first_track = 0;
  std::int64_t tracks = 0;
  std::int64_t capacity = 0;    ///< samples of a track in a window, at most
  std::int64_t tail_first = 0;  ///< of the last batch: the first sample that is this rank's
  std::int64_t tail = 0;        ///< and how many are

  std::int64_t samples() const { return 2 * (tracks * capacity + tail); }
  /// `window`: counted over all epochs.
  QUERN_INLINE_FUNCTION std::int64_t track_at(std::int64_t track, std::int64_t window) const {
    return ((track - first_track) * 2 + window % 2) * capacity;
  }
  QUERN_INLINE_FUNCTION std::int64_t tail_at(std::int64_t epoch) const {
    return 2 * tracks * capacity + epoch % 2 * tail;
  }

  /// Where the sample at `position` of the epoch is; `place`: WindowOrder::place(position).
  QUERN_INLINE_FUNCTION std::int64_t at(const WindowPlan& plan, std::int64_t epoch,
                                        std::int64_t position, const WindowPlace& place) const {
    const std::int64_t in_tail = position - plan.full_steps() * plan.batch;
    if (in_tail >= 0) return tail_at(epoch) + in_tail - tail_first;
    return track_at(place.track, epoch * plan.windows + place.window) + place.index;
  }
};

}  // namespace quern
