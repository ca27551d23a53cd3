// SPDX-License-Identifier: Apache-2.0
// What the labels of the training data mean, where its classes have names. An attribute that a
// checkpoint may lack: of a regression, of classes without names, of an earlier program.
#pragma once

#include <string>
#include <vector>

#include "io/h5_file.hpp"

namespace quern {

/// Nothing where there are none. The seal covers them, train_sha256 does not: earlier programs
/// read the file as well.
void write_class_names(H5File& file, const std::vector<std::string>& names);

/// In UTF-8. None where the file has none.
std::vector<std::string> read_class_names(const H5File& file);

}  // namespace quern
