// SPDX-License-Identifier: Apache-2.0
// Random windows of images: crops and horizontal flips (data.augment).
#pragma once

#include <cstdint>

#include "base/philox.hpp"
#include "base/shape.hpp"
#include "spec/recipe.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// A window of the image's size, moved by (top, left) pixels, and then perhaps flipped: pixel
/// (c, h, w) is the image's (c, h + top, w' + left), w' = W - 1 - w if flipped, else w, and zero
/// outside the image.
struct Window {
  std::int32_t top = 0;  ///< from -crop to crop, as left
  std::int32_t left = 0;
  bool flipped = false;
};

/// The window of a sample in an epoch: (seed, epoch, sample) say all, so it is the same on
/// whichever rank, in whichever batch, and after a resume. Word 0 of the block gives `top`, word 1
/// `left`: floor(word (2 crop + 1) / 2^32) - crop. The highest bit of word 2 flips.
QUERN_INLINE_FUNCTION Window draw_window(const AugmentSpec& augment, std::uint64_t seed,
                                         std::int64_t epoch, std::int64_t sample) {
  const PhiloxBlock block =
      random_block(seed, RandomUse::windows, static_cast<std::uint32_t>(epoch),
                   static_cast<std::uint64_t>(sample));
  const auto offsets = 2 * static_cast<std::uint64_t>(augment.crop) + 1;
  const auto offset = [&](int i) {
    return static_cast<std::int32_t>(block.word[i] * offsets >> 32) - augment.crop;
  };
  return {offset(0), offset(1), augment.flip && block.word[2] >> 31 != 0};
}

/// Overwrites windows[0 .. rows) with those of the samples in scalars().epoch. Empty rows (sample
/// -1) get one, too, which nobody reads.
void draw_windows(const ExecSpace& exec, const AugmentSpec& augment, const StepScalarsView& scalars,
                  const View<const std::int64_t>& sample_of_row, int rows,
                  const View<Window>& windows);

/// Reads the pixels of one window from unit `first` on, one after the other.
template <class T>
class WindowReader {
 public:
  /// `image`: [C, H, W] of `shape`.
  KOKKOS_INLINE_FUNCTION WindowReader(const T* image, const Shape& shape, const Window& window,
                                      std::int64_t first)
      : image_(image), height_(shape.height), width_(shape.width), window_(window) {
    w_ = static_cast<int>(first % width_);
    h_ = static_cast<int>(first / width_ % height_);
    channel_ = first / width_ / height_;
  }

  KOKKOS_INLINE_FUNCTION T next() {
    const int row = h_ + window_.top;
    const int column = (window_.flipped ? width_ - 1 - w_ : w_) + window_.left;
    const bool is_inside = row >= 0 && row < height_ && column >= 0 && column < width_;
    const T pixel = is_inside ? image_[(channel_ * height_ + row) * width_ + column] : T{0};
    if (++w_ == width_) {
      w_ = 0;
      if (++h_ == height_) {
        h_ = 0;
        ++channel_;
      }
    }
    return pixel;
  }

 private:
  const T* image_;
  int height_;
  int width_;
  Window window_;
  int w_;
  int h_;
  std::int64_t channel_;
};

}  // namespace quern
