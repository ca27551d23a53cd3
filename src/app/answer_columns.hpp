// SPDX-License-Identifier: Apache-2.0
// Labels and targets out of the table that has the inputs too.
#pragma once

#include "readers/sample_file.hpp"

namespace quern {

/// InputError where both name a column of the same table: a network that is given the answers does
/// not learn to find them. `answer_name`: "labels" or "targets".
void check_answers_are_no_inputs(const SampleSource& inputs, const SampleSource& answers,
                                 const char* answer_name);

}  // namespace quern
