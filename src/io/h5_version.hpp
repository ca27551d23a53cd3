// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// "1.10.8": the HDF5 library this program runs with.
std::string hdf5_version();

}  // namespace quern
