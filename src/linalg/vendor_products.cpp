// SPDX-License-Identifier: Apache-2.0
#include "linalg/vendor_products.hpp"

#if defined(QUERN_HAVE_CUBLAS)
#include "linalg/cublas/products.hpp"
#endif

namespace quern {

#if defined(QUERN_HAVE_CUBLAS)
bool has_vendor_products() {
  return true;
}

std::shared_ptr<DenseProducts> make_vendor_products(OperandPrecision precision) {
  return std::make_shared<cublas::Products>(precision);
}
#else
bool has_vendor_products() {
  return false;
}

std::shared_ptr<DenseProducts> make_vendor_products(OperandPrecision) {
  return nullptr;
}
#endif

}  // namespace quern
