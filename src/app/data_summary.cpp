// SPDX-License-Identifier: Apache-2.0
#include "app/data_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/count_text.hpp"
#include "base/text.hpp"
#include "base/unit_text.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxLines = 20;

std::string rest_text(std::size_t shown, std::size_t all, const char* what) {
  return shown < all ? fmt::format("  ... and {} more {} (--json has all)\n", all - shown, what)
                     : "";
}

/// So many that a deviation much smaller than the mean shows in it.
int digits_of_mean(const NumberStatistics& one) {
  constexpr int kUsual = 6;
  constexpr int kMost = 15;
  if (one.std == 0 || one.mean == 0) return kUsual;
  const double magnitudes = std::log10(std::abs(one.mean) / one.std);
  return std::clamp(static_cast<int>(std::ceil(magnitudes)) + 3, kUsual, kMost);
}

/// A number of float32, which prints 1700000128 with as few digits as 1700000100.
std::string number_text(double number) {
  constexpr double kMostWhole = 1e15;
  if (number == std::floor(number) && std::abs(number) < kMostWhole)
    return fmt::format("{:.0f}", number);
  return fmt::format("{}", static_cast<float>(number));
}

std::string numbers_text(const std::vector<NumberStatistics>& list,
                         const std::vector<std::string>& names, const char* what) {
  std::string text;
  const std::size_t shown = std::min(list.size(), kMaxLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const NumberStatistics& one = list[i];
    const std::string head = list.size() == 1 ? what : fmt::format("{} {}", what, i);
    const std::string name = i < names.size() ? "  " + printable(names[i]) : "";
    text += fmt::format("{:<14} {} to {}, mean {:.{}g}, deviation {:.6g}{}\n", head,
                        number_text(one.smallest), number_text(one.largest), one.mean,
                        digits_of_mean(one), one.std, name);
  }
  return text + rest_text(shown, list.size(), what);
}

std::string classes_text(const DataSummary& summary) {
  const std::vector<std::int64_t>& counts = summary.class_counts;
  if (counts.empty()) return "";
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  std::string text = fmt::format("{:<14} {}, with {} to {} samples each\n", "classes",
                                 counts.size(), *fewest, *most);
  const std::size_t shown = std::min(counts.size(), kMaxLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const double share =
        100.0 * static_cast<double>(counts[i]) / static_cast<double>(summary.samples);
    const std::string name =
        summary.content.class_names.empty() ? "" : "  " + printable(summary.content.class_names[i]);
    text += fmt::format("  {:>5} {:>10} {:6.2f} %{}\n", i, counts[i], share, name);
  }
  return text + rest_text(shown, counts.size(), "classes");
}

nlohmann::ordered_json numbers_json(const std::vector<NumberStatistics>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const NumberStatistics& one : list) {
    json.push_back(
        {{"min", one.smallest}, {"max", one.largest}, {"mean", one.mean}, {"std", one.std}});
  }
  return json;
}

nlohmann::ordered_json shape_json(const Shape& shape, bool is_image) {
  if (!is_image && shape.is_flat()) return {shape.channels};
  return {shape.channels, shape.height, shape.width};
}

}  // namespace

DataSummarizer::DataSummarizer(const ShardSet& set) {
  summary_.name = set.name();
  summary_.split = set.split();
  summary_.samples = set.count();
  summary_.shards = static_cast<std::int64_t>(set.shards().size());
  summary_.bytes = set.stored_bytes();
  summary_.content = set.content();
  summary_.content_hash = set.content_hash();
  summary_.class_counts.resize(static_cast<std::size_t>(set.classes()));
  channels_.resize(static_cast<std::size_t>(set.shape().channels));
  if (set.content().has_targets())
    targets_.resize(static_cast<std::size_t>(set.content().target_shape.units()));
}

template <class T>
void DataSummarizer::add_numbers(std::span<const T> numbers, std::int64_t plane,
                                 std::vector<Sums>& sums) {
  for (std::size_t i = 0; i < numbers.size();) {
    Sums& one = sums[i / static_cast<std::size_t>(plane) % sums.size()];
    if (one.count == 0) one.origin = static_cast<double>(numbers[i]);
    for (const std::size_t end = i + static_cast<std::size_t>(plane); i < end; ++i) {
      const auto number = static_cast<double>(numbers[i]);
      one.smallest = std::min(one.smallest, number);
      one.largest = std::max(one.largest, number);
      one.sum += number - one.origin;
      one.squares += (number - one.origin) * (number - one.origin);
    }
    one.count += plane;
  }
}

void DataSummarizer::add(const SampleArrays& arrays, std::int64_t count) {
  const Shape& shape = summary_.content.shape;
  const std::int64_t plane = std::int64_t{shape.height} * shape.width;
  const auto part = [&](auto array, std::int64_t units) {
    return array.first(static_cast<std::size_t>(count * units));
  };
  if (summary_.content.has_pixels())
    add_numbers<std::uint8_t>(part(arrays.images, shape.units()), plane, channels_);
  else
    add_numbers<float>(part(arrays.values, shape.units()), plane, channels_);
  if (summary_.content.has_targets())
    add_numbers<float>(part(arrays.targets, summary_.content.target_shape.units()), 1, targets_);
  if (!summary_.content.has_labels()) return;
  for (const std::int32_t label : part(arrays.labels, 1)) {
    ++summary_.class_counts[static_cast<std::size_t>(label)];
  }
}

std::vector<NumberStatistics> DataSummarizer::statistics(const std::vector<Sums>& sums) {
  std::vector<NumberStatistics> list;
  for (const Sums& one : sums) {
    const auto count = static_cast<double>(one.count);
    const double mean = one.sum / count;
    const double variance = std::max(0.0, one.squares / count - mean * mean);
    list.push_back({one.smallest, one.largest, one.origin + mean, std::sqrt(variance)});
  }
  return list;
}

DataSummary DataSummarizer::finish() {
  summary_.channels = statistics(channels_);
  summary_.targets = statistics(targets_);
  return summary_;
}

std::string summary_report(const DataSummary& summary) {
  const ShardContent& content = summary.content;
  std::string text = fmt::format("{} {}\n", printable(summary.name), summary.split);
  text += fmt::format("{:<14} {} in {}, {}\n", "samples", summary.samples,
                      count_text(summary.shards, "shard"), bytes_text(summary.bytes));
  text += fmt::format("{:<14} {}\n", "each", to_string(content));
  text += numbers_text(summary.channels, content.feature_names,
                       summary.channels.size() == 1                       ? content.input_name()
                       : content.shape.is_flat() && !content.has_pixels() ? "feature"
                                                                          : "channel");
  text += numbers_text(summary.targets, {}, "target");
  text += classes_text(summary);
  text += fmt::format("{:<14} {}", "content hash", summary.content_hash);
  return text;
}

std::string summary_json(const DataSummary& summary) {
  const ShardContent& content = summary.content;
  nlohmann::ordered_json json;
  json["name"] = summary.name;
  json["split"] = summary.split;
  json["samples"] = summary.samples;
  json["shards"] = summary.shards;
  json["bytes"] = summary.bytes;
  json["input"] = {{"kind", content.input_name()},
                   {"type", to_string(content.input)},
                   {"shape", shape_json(content.shape, content.has_pixels())}};
  json["channels"] = numbers_json(summary.channels);
  if (content.has_targets()) {
    json["target_shape"] = shape_json(content.target_shape, false);
    json["targets"] = numbers_json(summary.targets);
  }
  if (content.has_labels()) json["class_counts"] = summary.class_counts;
  if (!content.feature_names.empty()) json["feature_names"] = content.feature_names;
  if (!content.class_names.empty()) json["class_names"] = content.class_names;
  json["content_hash"] = summary.content_hash;
  // The set's name is that of its files, in any encoding.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace quern
