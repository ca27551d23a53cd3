// SPDX-License-Identifier: Apache-2.0
// Dense products by the library of the device's vendor, on tensor cores where there are some.
//
// Their order of additions is the library's, and may be another one for another number of rows. So
// they serve where the same bits for any number of ranks are not asked for.
#pragma once

#include <memory>
#include <string>

#include "linalg/gemm.hpp"
#include "linalg/operand_precision.hpp"

namespace quern {

class VendorProducts {
 public:
  VendorProducts() = default;
  virtual ~VendorProducts() = default;
  VendorProducts(const VendorProducts&) = delete;
  VendorProducts& operator=(const VendorProducts&) = delete;

  // Each overwrites C; no aliasing. `label` names the region that a profiler shows. The first
  // product of a shape is planned (and may allocate); later ones only run.

  /// C = epilogue(A B). A [m, k], B [k, n].
  virtual void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
                        const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) = 0;
  /// C = epilogue(A B^T). A [m, k], B [n, k].
  virtual void multiply_transposed(const ExecSpace& exec, const std::string& label, const Matrix& c,
                                   const ConstMatrix& a, const ConstMatrix& b,
                                   const Epilogue& epilogue) = 0;
  /// C = A^T B. A [k, m], B [k, n].
  virtual void multiply_inner(const ExecSpace& exec, const std::string& label, const Matrix& c,
                              const ConstMatrix& a, const ConstMatrix& b) = 0;
};

/// Null where this build has no such library.
std::shared_ptr<VendorProducts> make_vendor_products(OperandPrecision precision);

/// Does this build have one?
bool has_vendor_products();

}  // namespace quern
