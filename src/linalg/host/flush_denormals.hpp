// SPDX-License-Identifier: Apache-2.0
// For a scope: the calling thread's vector unit takes denormals for zero and puts out zero for
// them, as tile units always do. What it computes otherwise stays the same.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace quern::host {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(control()) { set_control(saved_ | kFlush); }
  ~FlushDenormals() { set_control(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  // The compiler must not move arithmetic across a change of the control register.
  static void keep_order() { asm volatile("" ::: "memory"); }

#if defined(__SSE__)
  static constexpr std::uint64_t kFlush = 0x8040;  // FTZ, DAZ
  static std::uint64_t control() {
    return _mm_getcsr();
  }
  static void set_control(std::uint64_t bits) {
    keep_order();
    _mm_setcsr(static_cast<unsigned>(bits));
    keep_order();
  }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FPCR.FZ
  static std::uint64_t control() {
    std::uint64_t bits;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set_control(std::uint64_t bits) {
    keep_order();
    asm volatile("msr fpcr, %0" : : "r"(bits));
    keep_order();
  }
#else
  // Denormals are kept: sums this small may have other bits than elsewhere.
  static constexpr std::uint64_t kFlush = 0;
  static std::uint64_t control() {
    return 0;
  }
  static void set_control(std::uint64_t) {}
#endif

  std::uint64_t saved_;
};

}  // namespace quern::host
