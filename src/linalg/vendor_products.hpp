// SPDX-License-Identifier: Apache-2.0
// Dense products by the library of the device's vendor, on tensor cores where there are some.
//
// Their order of additions is the library's, and may be another one for another number of rows. So
// they serve where the same bits for any number of ranks are not asked for.
#pragma once

#include <memory>

#include "linalg/dense_products.hpp"

namespace quern {

/// Null where this build has no such library.
std::shared_ptr<DenseProducts> make_vendor_products(OperandPrecision precision);

/// Does this build have one?
bool has_vendor_products();

}  // namespace quern
