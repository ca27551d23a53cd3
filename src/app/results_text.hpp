// SPDX-License-Identifier: Apache-2.0
// Results of commands, for people and for programs. (Apart, because fmt, JSON and Kokkos do not
// mix.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quern {

struct EvaluationInfo {
  std::string checkpoint;
  std::string data;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double loss = 0;
  std::int64_t answers = 0;                   ///< right or wrong; 0: there is no accuracy
  std::int64_t correct = 0;                   ///< of these
  std::optional<std::int64_t> top5;           ///< correct answers among the five largest outputs
  std::vector<std::string> class_names;       ///< of all classes, where they have names
  std::vector<std::int64_t> class_samples;    ///< of each class, if asked for
  std::vector<std::int64_t> class_correct;    ///< likewise
  std::vector<std::int64_t> class_predicted;  ///< how many samples were taken for it
  bool are_channels = false;  ///< the above are of pixels of the channels of an output image
  std::vector<std::vector<std::int64_t>> confusion;  ///< [label][predicted class], if asked for
  std::optional<double> rmse;
  std::optional<double> r2;
  int ranks = 1;
};

std::string evaluation_report(const EvaluationInfo& info);
std::string evaluation_json(const EvaluationInfo& info);

/// The shortest text that is read back as the same float.
std::string float_text(float value);

}  // namespace quern
