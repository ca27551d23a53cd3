// SPDX-License-Identifier: Apache-2.0
// Which dense products linear layers take.
#pragma once

#include <memory>

#include "linalg/dense_products.hpp"

namespace quern {

/// Does this build have a library of the device's vendor for them?
bool has_vendor_products();

/// plain_products() for fp32, and on a CPU for bf16, where linear layers hold their operands in
/// tiles instead (Layout::tiles). With `any_order` the vendor's library, on tensor cores where
/// there are some: its order of additions may be another one for another number of rows. Otherwise,
/// for operands rounded to `precision`, kernels of a fixed order.
std::shared_ptr<DenseProducts> choose_products(OperandPrecision precision, bool any_order);

}  // namespace quern
