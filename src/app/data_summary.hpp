// SPDX-License-Identifier: Apache-2.0
// What is in a set of shards, counted and measured.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "io/shard_set.hpp"

namespace quern {

/// Of the numbers of one channel, or of one unit of a target.
struct NumberStatistics {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double std = 0;  ///< square root of the mean square of the distance from the mean
};

struct DataSummary {
  std::string name;
  std::string split;
  std::int64_t samples = 0;
  std::int64_t shards = 0;
  std::int64_t bytes = 0;  ///< stored
  ShardContent content;
  std::string content_hash;
  std::vector<NumberStatistics> channels;  ///< pixels from 0 to 255
  std::vector<NumberStatistics> targets;   ///< of each unit
  std::vector<std::int64_t> class_counts;
};

/// Adds one shard's samples, in order.
class DataSummarizer {
 public:
  explicit DataSummarizer(const ShardSet& set);
  void add(const SampleArrays& arrays, std::int64_t count);
  DataSummary finish();

 private:
  struct Sums {
    double smallest = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
    // Of distances from the first number, so that squares of large numbers do not swallow them.
    double origin = 0;
    double sum = 0;
    double squares = 0;
    std::int64_t count = 0;
  };
  template <class T>
  static void add_numbers(std::span<const T> numbers, std::int64_t plane, std::vector<Sums>& sums);
  static std::vector<NumberStatistics> statistics(const std::vector<Sums>& sums);

  DataSummary summary_;
  std::vector<Sums> channels_;
  std::vector<Sums> targets_;
};

/// For people: a few lines, and a line for each channel and class, of which there may be many.
std::string summary_report(const DataSummary& summary);
/// For programs: everything, one object.
std::string summary_json(const DataSummary& summary);

}  // namespace quern
