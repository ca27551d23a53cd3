// SPDX-License-Identifier: Apache-2.0
#include "linalg/products_choice.hpp"

#include "linalg/device/rounded_products.hpp"
#include "tensor/kernel_choice.hpp"
#if defined(QUERN_HAVE_CUBLAS)
#include "linalg/cublas/products.hpp"
#endif

namespace quern {

bool has_vendor_products() {
#if defined(QUERN_HAVE_CUBLAS)
  return true;
#else
  return false;
#endif
}

std::shared_ptr<DenseProducts> choose_products(OperandPrecision precision,
                                               [[maybe_unused]] bool any_order) {
#if defined(QUERN_HAVE_CUBLAS)
  if (any_order) return std::make_shared<cublas::Products>(precision);
#endif
  const bool is_on_host = !runs_device_kernels() && precision == OperandPrecision::bf16;
  if (precision == OperandPrecision::fp32 || is_on_host) return plain_products();
  return std::make_shared<device::RoundedProducts>(precision);
}

}  // namespace quern
