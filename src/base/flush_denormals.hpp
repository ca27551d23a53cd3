// SPDX-License-Identifier: Apache-2.0
// Denormal numbers as zeros. run_on_ranks lets all kernels of a CPU compute this way: processors
// need a hundred cycles and more for an operation with a denormal, which gradients meet once the
// loss is small, and tile units always take them for zero.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace quern {

/// For a scope: the calling thread takes denormals for zero and puts out zero for them, as do the
/// threads that it starts meanwhile, for good. What it computes otherwise stays the same.
class FlushDenormals {
 public:
  FlushDenormals() : saved_(control()) { on_this_thread(); }
  ~FlushDenormals() { set_control(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

  /// For good, on the calling thread.
  static void on_this_thread() { set_control(control() | kFlush); }

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

 public:
  /// Can processors of this kind be told to? Elsewhere this class does nothing.
  static constexpr bool kWorks = kFlush != 0;
};

}  // namespace quern
