// SPDX-License-Identifier: Apache-2.0
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID; Linux:
// Documentation/arch/x86/xstate.rst.
#include "base/amx.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace quern {

#if defined(__x86_64__) && defined(__linux__)

namespace {

bool processor_has_amx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22;
  constexpr unsigned kTile = 1u << 24;
  return (d & kBf16) != 0 && (d & kTile) != 0;
}

bool system_grants_amx() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

Amx ask_for_amx() {
  static const Amx answer = !processor_has_amx()  ? Amx::none
                            : system_grants_amx() ? Amx::granted
                                                  : Amx::refused;
  return answer;
}

#else

Amx ask_for_amx() {
  return Amx::none;
}

#endif

}  // namespace quern
