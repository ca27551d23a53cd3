// SPDX-License-Identifier: Apache-2.0
#include "app/lost_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/text.hpp"

namespace quern {

namespace {

/// The first rank that has seen numbers; 0 where none has.
int first_with_numbers(Communicator& comm, const ColumnSums& sums) {
  const bool any = std::ranges::any_of(sums, [](const ColumnSum& s) { return s.count > 0; });
  std::int64_t distance = any ? comm.size() - comm.rank() : 0;  // to the rank after the last
  comm.all_reduce_max(std::span(&distance, 1));
  return distance == 0 ? 0 : comm.size() - static_cast<int>(distance);
}

// Each rank has seen the numbers of its own samples alone.
void sum_over_ranks(Communicator& comm, ColumnSums& sums) {
  std::int64_t columns = std::ssize(sums);
  comm.all_reduce_max(std::span(&columns, 1));
  sums.resize(static_cast<std::size_t>(columns));
  if (sums.empty() || comm.size() == 1) return;
  // Around one origin, a number of the column: sums around another lose the deviation.
  std::vector<double> origins(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) origins[i] = sums[i].origin;
  comm.broadcast(std::as_writable_bytes(std::span(origins)), first_with_numbers(comm, sums));
  std::vector<double> parts;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ColumnSum moved{.origin = origins[i]};
    moved.add_around(sums[i]);
    parts.insert(parts.end(), {static_cast<double>(moved.count), moved.sum, moved.squares,
                               moved.is_rounded ? 1.0 : 0.0});
  }
  comm.all_reduce_sum(std::span(parts));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double* part = &parts[4 * i];
    sums[i] = {static_cast<std::int64_t>(part[0]), origins[i], part[1], part[2], part[3] > 0};
  }
}

std::string sentence(const ColumnSums& sums, const std::vector<std::string>& names,
                     const std::string& file) {
  const auto first = std::find_if(sums.begin(), sums.end(), is_lost);
  if (first == sums.end()) return "";
  const auto number = static_cast<std::size_t>(first - sums.begin());
  const std::string name =
      number < names.size() ? fmt::format(" ('{}')", printable(names[number])) : "";
  const auto others = std::count_if(first + 1, sums.end(), is_lost);
  const std::string more = others == 0 ? "" : fmt::format(" (and {} more)", others);
  return fmt::format(
      "{}: column {}{}{} has numbers around {:.10g} with a deviation of {:.3g}, and float32, as "
      "which they are stored, has steps of {:.3g} there: what tells them apart is lost, also with "
      "data.normalize (subtract an offset from the column first, in what is predicted as well)",
      file, number + 1, name, more, first->mean(), first->deviation(), float_step(first->mean()));
}

}  // namespace

std::vector<std::string> lost_columns(Communicator& comm, const SampleSet& set,
                                      const SampleSetSource& source) {
  const SampleOrigins origins = origins_of(source);
  ColumnSums inputs = set.input_sums;
  ColumnSums targets = set.target_sums;
  sum_over_ranks(comm, inputs);
  sum_over_ranks(comm, targets);
  std::vector<std::string> sentences = {sentence(inputs, set.content.feature_names, origins.inputs),
                                        sentence(targets, {}, origins.answers)};
  std::erase(sentences, "");
  return sentences;
}

}  // namespace quern
