// SPDX-License-Identifier: Apache-2.0
// Which dense products layers take in place of their own.
#pragma once

#include <memory>

#include "linalg/dense_products.hpp"

namespace quern {

/// Does this build have a library of the device's vendor for them?
bool has_vendor_products();

/// Null: layers take their own, which are of fp32, or on a CPU of bf16 as well. With `any_order`
/// the vendor's library, on tensor cores where there are some: its order of additions may be
/// another one for another number of rows. Otherwise, for operands rounded to `precision`, kernels
/// of a fixed order.
std::shared_ptr<DenseProducts> choose_products(OperandPrecision precision, bool any_order);

}  // namespace quern
