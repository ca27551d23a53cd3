// SPDX-License-Identifier: Apache-2.0
#include "readers/image_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "readers/picture.hpp"

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

void expect_picture(const std::filesystem::path& path) {
  if (is_picture(path)) return;
  throw InputError(
      fmt::format("'{}' is no picture, expected .png, .jpg or .jpeg", printable(path.string())));
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_one = std::filesystem::is_directory(path, error);
  throw_system_failure(error.value(), fmt::format("cannot read '{}'", path.string()));
  return is_one;
}

// Class by class; or, where nothing in it is a folder, pictures without classes.
void list_folder(const std::filesystem::path& folder, ImageFolder& result) {
  const std::vector<std::filesystem::path> members = members_of(folder);
  const bool has_classes = std::any_of(members.begin(), members.end(), is_folder);
  for (const std::filesystem::path& member : members) {
    if (!has_classes) {
      expect_picture(member);
      result.files.push_back(member.string());
      continue;
    }
    if (!is_folder(member)) {
      throw InputError(
          fmt::format("'{}' stands beside folders of classes, expected a folder of "
                      "pictures for each class and nothing else",
                      printable(member.string())));
    }
    const auto label = static_cast<std::int32_t>(result.class_names.size());
    result.class_names.push_back(member.filename().string());
    const std::vector<std::filesystem::path> pictures = members_of(member);
    if (pictures.empty() && result.empty_class.empty()) result.empty_class = member.string();
    for (const std::filesystem::path& path : pictures) {
      expect_picture(path);
      result.files.push_back(path.string());
      result.labels.push_back(label);
    }
  }
  if (members.empty()) {
    throw InputError(
        fmt::format("'{}' is empty, expected pictures, or a folder of them for each "
                    "class",
                    folder.string()));
  }
  if (result.files.empty()) {
    throw InputError(fmt::format("'{}' holds no pictures", folder.string()));
  }
}

// One picture after the other; they have to be alike.
class Collector {
 public:
  explicit Collector(const std::filesystem::path& first)
      : first_(first), picture_(read_picture(first)) {
    shape_ = shape_of(picture_);
  }

  void add(const std::filesystem::path& path) {
    Picture picture = path == first_ ? std::move(picture_) : read_picture(path);
    losses_.add(picture.losses);
    if (shape_[0] == 3 && picture.channels == 1) picture = to_colour(picture);
    const std::vector<std::int64_t> shape = shape_of(picture);
    if (shape != shape_) {
      throw InputError(fmt::format("'{}' has {}, expected {} as '{}' has", printable(path.string()),
                                   size_text(shape), size_text(shape_),
                                   printable(first_.string())));
    }
    pixels_.insert(pixels_.end(), picture.pixels.begin(), picture.pixels.end());
    ++count_;
  }

  const PictureLosses& losses() const { return losses_; }

  Array take(const std::string& name) {
    Array array;
    array.name = name;
    array.shape = {count_, shape_[0], shape_[1], shape_[2]};
    array.values = std::move(pixels_);
    return array;
  }

 private:
  static std::vector<std::int64_t> shape_of(const Picture& picture) {
    return {picture.channels, picture.height, picture.width};
  }
  static std::string size_text(const std::vector<std::int64_t>& shape) {
    return fmt::format("{} x {} pixels in {}", shape[2], shape[1],
                       shape[0] == 1 ? "grey" : "colour");
  }

  std::filesystem::path first_;
  Picture picture_;  // the first
  std::vector<std::int64_t> shape_;
  std::vector<std::uint8_t> pixels_;
  std::int64_t count_ = 0;
  PictureLosses losses_;
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
  Collector collector(result.files.front());
  for (std::int64_t i = 0; i < result.range.count; ++i)
    collector.add(result.files[static_cast<std::size_t>(result.range.first + i)]);
  result.losses = collector.losses();
  result.images = collector.take(fmt::format("'{}'", path.string()));
  return result;
}

}  // namespace quern
