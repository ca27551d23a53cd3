// SPDX-License-Identifier: Apache-2.0
// Times matrix products of a BLAS library that is loaded at run time, so that nothing is linked
// with it: gemm_ceiling LIBRARY. Standard input brings lines "FORM M N K" (FORM: nn, nt or tn; row
// major; nt: B is given as [n, k]; tn: A is given as [k, m]); each answer is a JSON object with the
// seconds of one product. benchmarks/gemm_ceiling.py drives it.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/stopwatch.hpp"

namespace {

struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  int m = 0;
  int n = 0;
  int k = 0;

  int a_row() const { return transpose_a ? m : k; }
  int b_row() const { return transpose_b ? k : n; }
};

using Gemm = std::function<void(const Product&, const float* a, const float* b, float* c)>;

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

using CblasSgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k,
                        float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                        float* c, int ldc);
using DnnlSgemm = int(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n,
                      std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
                      std::int64_t ldb, float beta, float* c, std::int64_t ldc);

Gemm wrap(CblasSgemm* sgemm) {
  constexpr int kRowMajor = 101;
  constexpr int kNormal = 111;
  constexpr int kTransposed = 112;
  return [sgemm](const Product& p, const float* a, const float* b, float* c) {
    sgemm(kRowMajor, p.transpose_a ? kTransposed : kNormal, p.transpose_b ? kTransposed : kNormal,
          p.m, p.n, p.k, 1.0f, a, p.a_row(), b, p.b_row(), 0.0f, c, p.n);
  };
}

Gemm wrap(DnnlSgemm* sgemm) {
  return [sgemm](const Product& p, const float* a, const float* b, float* c) {
    const int status = sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k,
                             1.0f, a, p.a_row(), b, p.b_row(), 0.0f, c, p.n);
    if (status != 0) throw std::runtime_error("dnnl_sgemm gave status " + std::to_string(status));
  };
}

Gemm find_gemm(void* library) {
  if (auto* sgemm = find<DnnlSgemm>(library, "dnnl_sgemm")) return wrap(sgemm);
  // OpenBLAS as Python packages bring it has a prefix.
  for (const char* name : {"cblas_sgemm", "scipy_cblas_sgemm"}) {
    if (auto* sgemm = find<CblasSgemm>(library, name)) return wrap(sgemm);
  }
  throw std::runtime_error("has neither dnnl_sgemm nor cblas_sgemm");
}

// The kernels that OpenBLAS or BLIS chose for this processor or was told to take, "" if unknown.
std::string core_name(void* library) {
  for (const char* name : {"openblas_get_corename", "scipy_openblas_get_corename"}) {
    if (auto* get = find<const char*()>(library, name)) return get();
  }
  auto* start = find<void()>(library, "bli_init");
  auto* query = find<int()>(library, "bli_arch_query_id");
  auto* to_string = find<const char*(int)>(library, "bli_arch_string");
  if (start == nullptr || query == nullptr || to_string == nullptr) return "";
  start();  // else an id that was asked for counts as invalid
  return to_string(query());
}

std::vector<float> random_floats(std::int64_t count, std::mt19937& generator) {
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  std::vector<float> floats(static_cast<std::size_t>(count));
  for (float& value : floats) value = values(generator);
  return floats;
}

struct Operands {
  Product p;
  std::vector<float> a, b, c;

  Operands(const Product& product, std::mt19937& generator)
      : p(product),
        a(random_floats(std::int64_t{p.m} * p.k, generator)),
        b(random_floats(std::int64_t{p.k} * p.n, generator)),
        c(static_cast<std::size_t>(std::int64_t{p.m} * p.n)) {}

  double expected(int i, int j) const {
    double sum = 0;
    for (std::int64_t x = 0; x < p.k; ++x) {
      const std::int64_t at_a = p.transpose_a ? x * p.m + i : std::int64_t{i} * p.k + x;
      const std::int64_t at_b = p.transpose_b ? std::int64_t{j} * p.k + x : x * p.n + j;
      sum += double{a[static_cast<std::size_t>(at_a)]} * b[static_cast<std::size_t>(at_b)];
    }
    return sum;
  }
};

// A library with other integers or another order would be fast and wrong.
void check(const Operands& operands, std::mt19937& generator) {
  const Product& p = operands.p;
  for (int trial = 0; trial < 20; ++trial) {
    const int i = std::uniform_int_distribution(0, p.m - 1)(generator);
    const int j = std::uniform_int_distribution(0, p.n - 1)(generator);
    const double got = operands.c[static_cast<std::size_t>(std::int64_t{i} * p.n + j)];
    if (!(std::abs(got - operands.expected(i, j)) <= 1e-4 * std::sqrt(p.k) + 1e-4)) {
      throw std::runtime_error("computes something else");
    }
  }
}

// Median of several runs that take long enough to be timed.
double seconds_per_product(const std::function<void()>& multiply) {
  constexpr double kRunSeconds = 0.004;
  constexpr std::size_t kRuns = 7;
  std::vector<double> seconds;
  for (std::int64_t count = 1; seconds.size() < kRuns;) {
    const quern::Stopwatch watch;
    for (std::int64_t i = 0; i < count; ++i) multiply();
    const double passed = watch.seconds();
    if (passed >= kRunSeconds) {
      seconds.push_back(passed / static_cast<double>(count));
    } else {
      count *= 2;
    }
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

void serve(void* library) {
  const Gemm gemm = find_gemm(library);
  std::mt19937 generator(1);
  std::cout << "{\"core\": \"" << core_name(library) << "\"}" << std::endl;
  std::string form;
  Product p;
  while (std::cin >> form) {
    std::cin >> p.m >> p.n >> p.k;
    if (!std::cin || (form != "nn" && form != "nt" && form != "tn") || p.m < 1 || p.n < 1 ||
        p.k < 1) {
      throw std::runtime_error("was asked for something else than 'nn|nt|tn M N K'");
    }
    p.transpose_a = form[0] == 't';
    p.transpose_b = form[1] == 't';
    Operands operands(p, generator);
    const auto multiply = [&] { gemm(p, operands.a.data(), operands.b.data(), operands.c.data()); };
    multiply();
    check(operands, generator);
    std::cout << "{\"seconds\": " << seconds_per_product(multiply) << "}" << std::endl;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: gemm_ceiling LIBRARY (benchmarks/gemm_ceiling.py drives it)\n";
    return 2;
  }
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::cerr << dlerror() << '\n';
    return 2;
  }
  try {
    serve(library);
  } catch (const std::exception& error) {
    std::cerr << words[1] << ' ' << error.what() << '\n';
    return 1;
  }
  return 0;
}
