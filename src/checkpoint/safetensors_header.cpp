// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxAxes = 16;
constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 40;

void check_name(const std::string& name) {
  const bool is_plain = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (is_plain && !name.empty() && name.size() <= kMaxName) return;
  throw Error(fmt::format("the header has {}, expected 1 to {} plain characters",
                          name.empty() ? "an empty name"
                          : is_plain   ? fmt::format("a name of {} characters", name.size())
                                       : "a name with a control character",
                          kMaxName));
}

/// Told about every token of the header: nothing is built of what the format does not have, and
/// nesting that is deeper ends the parse.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<SafetensorsEntry> entries;

  bool start_object(std::size_t) override {
    if (depth_ == 2) fail("an object inside of a tensor");
    if (depth_ == 1) begin_member();
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) end_member();
    return true;
  }
  bool start_array(std::size_t) override {
    const bool has_list = depth_ == 2 && !is_metadata_ && (key_ == "shape" || key_ == kOffsets);
    if (!has_list || in_list_) fail("an array");
    in_list_ = true;
    list_.clear();
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    if (key_ == "shape") {
      take_shape();
    } else {
      if (list_.size() != 2) fail_member(fmt::format("{} numbers", list_.size()), "two");
      offsets_ = {list_[0], list_[1]};
    }
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (!names_.insert(name).second) throw Error(fmt::format("'{}' occurs twice", shown(name)));
      check_name(name);
      is_metadata_ = name == "__metadata__";
      entry_ = {};
      entry_.name = name;
      return true;
    }
    key_ = name;
    if (is_metadata_) return true;
    const bool is_known = key_ == "dtype" || key_ == "shape" || key_ == kOffsets;
    if (!is_known || !keys_.insert(key_).second) {
      throw Error(fmt::format("'{}' has the key '{}' {}, expected dtype, shape and data_offsets",
                              entry_.name, shown(key_), is_known ? "twice" : "besides"));
    }
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && is_metadata_) {
      if (key_ == "recipe")
        texts_.recipe = std::move(text);
      else if (key_ == "class_names")
        texts_.class_names = std::move(text);
      else if (key_ == "feature_names")
        texts_.feature_names = std::move(text);
      else if (key_ == "input")
        texts_.input = std::move(text);
      return true;
    }
    if (depth_ != 2 || in_list_ || key_ != "dtype") fail("a text");
    if (safetensors_value_bytes(text) == 0) fail_member(shown(text), "a type such as F32");
    entry_.dtype = text;
    return true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (!in_list_) fail("a number");
    if (list_.size() == kMaxAxes) fail_member("more numbers", fmt::format("at most {}", kMaxAxes));
    list_.push_back(number);
    return true;
  }
  bool number_integer(std::int64_t number) override { return fail(fmt::format("{}", number)); }
  bool number_float(double, const std::string&) override { return fail("a fraction"); }
  bool boolean(bool) override { return fail("true or false"); }
  bool null() override { return fail("null"); }
  bool binary(nlohmann::json::binary_t&) override { return fail("bytes"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    throw Error(fmt::format("the header is no JSON: wrong at its byte {}", position));
  }

  bool is_complete() const { return depth_ == 0; }
  SafetensorsTexts& texts() { return texts_; }

 private:
  static constexpr const char* kOffsets = "data_offsets";

  static std::string shown(const std::string& text) {
    const std::string escaped = nlohmann::json(text.substr(0, 64))
                                    .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return escaped.substr(1, escaped.size() - 2) + (text.size() > 64 ? "..." : "");
  }

  [[noreturn]] bool fail(const std::string& what) const {
    const std::string where =
        depth_ < 2 ? "the header" : fmt::format("'{}' in the header", entry_.name);
    throw Error(fmt::format(
        "{} holds {} where a tensor's dtype, shape and data_offsets are expected", where, what));
  }
  [[noreturn]] void fail_member(const std::string& found, const std::string& expected) const {
    throw Error(fmt::format("'{}' of the tensor '{}' is {}, expected {}", key_, entry_.name, found,
                            expected));
  }

  void begin_member() {
    keys_.clear();
    key_.clear();
    offsets_.reset();
  }
  void end_member() {
    if (is_metadata_) return;
    for (const char* key : {"dtype", "shape", kOffsets}) {
      if (keys_.count(key) == 0)
        throw Error(fmt::format("the tensor '{}' has no '{}'", entry_.name, key));
    }
    std::tie(entry_.begin, entry_.end) = *offsets_;
    entries.push_back(std::move(entry_));
  }
  void take_shape() {
    for (const std::uint64_t extent : list_) {
      if (extent > kMaxExtent)
        fail_member(fmt::format("of {} values along an axis", extent), "less");
      entry_.shape.push_back(static_cast<std::int64_t>(extent));
    }
  }

  int depth_ = 0;
  bool in_list_ = false;
  bool is_metadata_ = false;
  SafetensorsTexts texts_;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> keys_;
  std::vector<std::uint64_t> list_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> offsets_;
  SafetensorsEntry entry_;
};

/// Bytes that the values take; more than `limit`: some number above it.
std::uint64_t bytes_of(const SafetensorsEntry& entry, std::uint64_t limit) {
  std::uint64_t bytes = safetensors_value_bytes(entry.dtype);
  for (const std::int64_t extent : entry.shape) {
    if (extent == 0) return 0;
  }
  for (const std::int64_t extent : entry.shape) {
    if (bytes > limit / static_cast<std::uint64_t>(extent)) return limit + 1;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

void check_places(std::vector<SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  for (const SafetensorsEntry& entry : entries) {
    const std::string place =
        fmt::format("the tensor '{}' at the bytes {} to {}", entry.name, entry.begin, entry.end);
    if (entry.begin > entry.end || entry.end > data_bytes)
      throw Error(fmt::format("{} does not lie in the file, which has {}", place, data_bytes));
    if (bytes_of(entry, data_bytes) != entry.end - entry.begin)
      throw Error(fmt::format("{} has not the size of its shape and type", place));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != end) {
      throw Error(fmt::format("the tensor '{}' begins at byte {}, expected {}: {}", entry.name,
                              entry.begin, end,
                              entry.begin < end ? "tensors overlap" : "there is a gap"));
    }
    end = entry.end;
  }
  if (end != data_bytes)
    throw Error(fmt::format("its tensors end at byte {} of {}", end, data_bytes));
}

}  // namespace

std::uint64_t safetensors_value_bytes(const std::string& dtype) {
  for (const auto& [name, bytes] : {std::pair("F32", 4),
                                    {"F16", 2},
                                    {"BF16", 2},
                                    {"F64", 8},
                                    {"I64", 8},
                                    {"U64", 8},
                                    {"I32", 4},
                                    {"U32", 4},
                                    {"I16", 2},
                                    {"U16", 2},
                                    {"I8", 1},
                                    {"U8", 1},
                                    {"BOOL", 1},
                                    {"F8_E4M3", 1},
                                    {"F8_E5M2", 1}}) {
    if (dtype == name) return static_cast<std::uint64_t>(bytes);
  }
  return 0;
}

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header,
                                                       std::uint64_t data_bytes,
                                                       SafetensorsTexts* texts) {
  if (header.empty() || header[0] != '{') throw Error("the header does not begin with '{'");
  HeaderReader reader;
  nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  check_places(reader.entries, data_bytes);
  if (texts) *texts = std::move(reader.texts());
  return std::move(reader.entries);
}

}  // namespace quern
