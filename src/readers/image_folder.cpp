// SPDX-License-Identifier: Apache-2.0
#include "readers/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "readers/image.hpp"

namespace quern {

namespace {

std::vector<std::filesystem::path> members_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> members;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with('.')) members.push_back(entry->path());
  }
  if (error) {
    throw_read_failure(error.value(), fmt::format("cannot read folder '{}'", folder.string()));
  }
  std::sort(members.begin(), members.end());
  return members;
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_one = std::filesystem::is_directory(path, error);
  throw_system_failure(error.value(), fmt::format("cannot read '{}'", path.string()));
  return is_one;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Is `a` behind `b` where digits count as numbers, and all else is the same up to there?
bool has_larger_number(const std::string& a, const std::string& b) {
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  while (same > 0 && is_digit(a[same - 1])) --same;
  const auto digits_of = [&](const std::string& text) {
    std::size_t begin = same;
    while (begin < text.size() && text[begin] == '0') ++begin;
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    return std::pair(end - begin, text.substr(begin, end - begin));
  };
  const bool both = same < a.size() && same < b.size() && is_digit(a[same]) && is_digit(b[same]);
  return both && digits_of(a) > digits_of(b);
}

void note_order(const std::vector<std::filesystem::path>& sorted, ImageFolder& result) {
  for (std::size_t i = 1; i < sorted.size() && result.out_of_order.first.empty(); ++i) {
    std::string before = sorted[i - 1].filename().string();
    std::string name = sorted[i].filename().string();
    if (has_larger_number(before, name)) result.out_of_order = {std::move(before), std::move(name)};
  }
}

void expect_image(const std::filesystem::path& path) {
  if (is_image(path)) return;
  const std::string name = printable(path.string());
  if (!is_folder(path))
    throw InputError(fmt::format("'{}' is no image, expected .png, .jpg or .jpeg", name));
  throw InputError(fmt::format(
      "'{}' is a folder, expected images in the folder of a class (if the folders of the classes "
      "are in '{}': name that one with --images)",
      name, printable(path.parent_path().string())));
}

// Class by class; or, where nothing in it is a folder, images without classes.
void list_folder(const std::filesystem::path& folder, ImageFolder& result) {
  const std::vector<std::filesystem::path> members = members_of(folder);
  const bool has_classes = std::any_of(members.begin(), members.end(), is_folder);
  if (!has_classes) note_order(members, result);
  for (const std::filesystem::path& member : members) {
    if (!has_classes) {
      expect_image(member);
      result.files.push_back(member.string());
      continue;
    }
    if (!is_folder(member)) {
      throw InputError(
          fmt::format("'{}' stands beside folders of classes, expected a folder of "
                      "images for each class and nothing else",
                      printable(member.string())));
    }
    const auto label = static_cast<std::int32_t>(result.class_names.size());
    result.class_names.push_back(member.filename().string());
    const std::vector<std::filesystem::path> images = members_of(member);
    note_order(images, result);
    if (images.empty() && result.empty_class.empty()) result.empty_class = member.string();
    for (const std::filesystem::path& path : images) {
      expect_image(path);
      result.files.push_back(path.string());
      result.labels.push_back(label);
    }
  }
  if (members.empty()) {
    throw InputError(
        fmt::format("'{}' is empty, expected images, or a folder of them for each "
                    "class",
                    folder.string()));
  }
  if (result.files.empty()) {
    throw InputError(fmt::format("'{}' holds no images", folder.string()));
  }
}

bool has_colours(const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(), is_colour_image);
}

// One image after the other; they have to be of one size.
class Collector {
 public:
  Collector(const std::filesystem::path& first, bool has_colours)
      : first_(first), image_(read_image(first)), channels_(has_colours ? 3 : 1) {
    height_ = image_.height;
    width_ = image_.width;
  }

  void add(const std::filesystem::path& path) {
    const Image image = path == first_ ? std::move(image_) : read_image(path);
    losses_.add(image.losses);
    if (image.height != height_ || image.width != width_) {
      throw InputError(fmt::format("'{}' has {} x {} pixels, expected {} x {} pixels as '{}' has",
                                   printable(path.string()), image.width, image.height, width_,
                                   height_, printable(first_.string())));
    }
    if (image.channels > channels_)
      throw InputError(fmt::format("'{}' was changed while it was read", printable(path.string())));
    for (int copy = 0; copy < channels_; copy += image.channels)
      pixels_.insert(pixels_.end(), image.pixels.begin(), image.pixels.end());
    ++count_;
  }

  const ImageLosses& losses() const { return losses_; }

  Array take(const std::string& name) {
    Array array;
    array.name = name;
    array.shape = {count_, channels_, height_, width_};
    array.values = std::move(pixels_);
    return array;
  }

 private:
  std::filesystem::path first_;
  Image image_;  // the first
  int channels_;
  int height_ = 0;
  int width_ = 0;
  std::vector<std::uint8_t> pixels_;
  std::int64_t count_ = 0;
  ImageLosses losses_;
};

}  // namespace

ImageFolder read_image_folder(const std::filesystem::path& path, const ChooseRange& choose) {
  ImageFolder result;
  if (is_folder(path))
    list_folder(path, result);
  else
    result.files.push_back(path.string());
  result.count = static_cast<std::int64_t>(result.files.size());
  result.range = choose ? choose(result.count) : SampleRange{0, result.count};
  Collector collector(result.files.front(), has_colours(result.files));
  for (std::int64_t i = 0; i < result.range.count; ++i)
    collector.add(result.files[static_cast<std::size_t>(result.range.first + i)]);
  result.losses = collector.losses();
  result.images = collector.take(fmt::format("'{}'", path.string()));
  return result;
}

void to_colour(Array& images) {
  const auto& grey = std::get<std::vector<std::uint8_t>>(images.values);
  const auto plane = static_cast<std::ptrdiff_t>(images.shape[2] * images.shape[3]);
  std::vector<std::uint8_t> colour;
  colour.reserve(3 * grey.size());
  for (auto begin = grey.begin(); begin != grey.end(); begin += plane)
    for (int copy = 0; copy < 3; ++copy) colour.insert(colour.end(), begin, begin + plane);
  images.values = std::move(colour);
  images.shape[1] = 3;
}

}  // namespace quern
