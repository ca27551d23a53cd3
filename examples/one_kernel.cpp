// SPDX-License-Identifier: Apache-2.0
// One kernel: a matrix product on Kokkos Views, beside its slow reference implementation.
//
//   one_kernel            prints the largest difference
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <quern/linalg/gemm.hpp>
#include <quern/linalg/reference/gemm.hpp>
#include <quern/tensor/types.hpp>
#include <vector>

namespace {

constexpr int kRows = 7, kColumns = 33, kInner = 19;  // of C, and between A and B

// A matrix whose rows begin on whole vectors, as kernels like them; its padding stays 0.
struct PaddedMatrix {
  int rows, columns;
  std::int64_t stride = quern::round_up_to_lanes(columns);
  quern::FloatView data = quern::FloatView("example::matrix", rows* stride);

  quern::Matrix view() const { return {data.data(), rows, columns, stride}; }
  quern::ConstMatrix const_view() const { return {data.data(), rows, columns, stride}; }
};

// The same numbers in both places; element (i, j) is some fraction.
void fill(const PaddedMatrix& matrix, std::vector<float>& plain) {
  const auto host = Kokkos::create_mirror_view(matrix.data);
  for (int i = 0; i < matrix.rows; ++i) {
    for (int j = 0; j < matrix.columns; ++j) {
      plain.push_back(static_cast<float>((7 * i + 3 * j) % 11) / 11 - 0.5f);
      host(i * matrix.stride + j) = plain.back();
    }
  }
  Kokkos::deep_copy(matrix.data, host);
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const PaddedMatrix a{kRows, kInner}, b{kInner, kColumns}, c{kRows, kColumns};
  std::vector<float> plain_a, plain_b;
  fill(a, plain_a);
  fill(b, plain_b);

  const quern::ExecSpace exec;
  quern::multiply(exec, "example::product", c.view(), a.const_view(), b.const_view(), {});
  exec.fence("example: C is complete");

  const auto product = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), c.data);
  const auto reference =
      quern::reference::multiply(kRows, kColumns, kInner, plain_a, plain_b, /*bias=*/{});
  double difference = 0;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      const double expected = reference[static_cast<std::size_t>(i) * kColumns + j];
      difference = std::max(difference, std::abs(product(i * c.stride + j) - expected));
    }
  }
  std::printf("largest difference from the reference: %.1e\n", difference);
  return difference < 1e-5 ? 0 : 1;
}
