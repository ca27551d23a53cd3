// SPDX-License-Identifier: Apache-2.0
#include "linalg/dense_products.hpp"

#if defined(QUERN_HAVE_CUBLAS)
#include "linalg/cublas/products.hpp"
#endif

namespace quern {

namespace {

using MakeProducts = std::shared_ptr<DenseProducts>(OperandPrecision);

// Null: this build has no such library.
MakeProducts* vendor_products() {
#if defined(QUERN_HAVE_CUBLAS)
  return [](OperandPrecision precision) -> std::shared_ptr<DenseProducts> {
    return std::make_shared<cublas::Products>(precision);
  };
#else
  return nullptr;
#endif
}

}  // namespace

bool has_vendor_products() {
  return vendor_products() != nullptr;
}

std::shared_ptr<DenseProducts> choose_products(const KernelChoice& choice) {
  const auto make = choose_kernels<MakeProducts>({.host = host_set<host::dense_products>(),
                                                  .device = device::dense_products,
                                                  .device_tf32 = device::rounded_products,
                                                  .device_bf16 = device::rounded_products,
                                                  .vendor = vendor_products()},
                                                 choice);
  return make(choice.precision);
}

}  // namespace quern
