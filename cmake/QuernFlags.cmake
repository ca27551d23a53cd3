# SPDX-License-Identifier: Apache-2.0
# Compile and link flags, in two interface targets:
#   quern_warnings  warnings (as errors with QUERN_ENABLE_WERROR), private to our own targets
#   global options  processor, sanitizers: everything of ours is compiled alike
add_library(quern_warnings INTERFACE)
target_compile_options(quern_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
  -Wno-sign-conversion -Wdeprecated $<$<BOOL:${QUERN_ENABLE_WERROR}>:-Werror>)
if(Kokkos_ENABLE_CUDA)
  # The host compiler sees what nvcc wrote, not what we wrote.
  target_compile_options(quern_warnings INTERFACE -Wno-conversion -Wno-shadow -Wno-unused-parameter)
else()
  target_compile_options(quern_warnings INTERFACE -Wpedantic)
endif()

if(QUERN_ARCH)
  add_compile_options(-march=${QUERN_ARCH})
endif()
# GCC 12 warns of overlapping copies inside std::string (its bug 105651).
target_compile_options(quern_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Clang warns of loops that it does not vectorise, where GCC is silent.
target_compile_options(quern_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
# Clang 19 calls what -march=native finds on processors with AVX10 impossible, and std::stable_sort of
# libstdc++ 12 deprecated.
target_compile_options(quern_warnings INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,19>>:-Wno-invalid-feature-combination;-Wno-deprecated-declarations>)
# GCC notes an ABI change for 64-byte vectors; nothing of ours passes one between libraries.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)

# For kernels without matrix products: no fused multiply-add that one loop gets and its tail does
# not, and no errno, so that loops with square roots vectorise.
set(QUERN_EXACT_ARITHMETIC
  $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off;-fno-math-errno;-fno-trapping-math>)

# quern_exact_arithmetic(TARGET [SOURCE ... [EXCEPT SOURCE ...]]): all of the target's sources, or
# these. Precompiled headers were compiled without these flags.
function(quern_exact_arithmetic target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "EXCEPT")
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  if(sources)
    foreach(exception IN LISTS ARG_EXCEPT)
      if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${exception})
        message(FATAL_ERROR "quern_exact_arithmetic(${target} ... EXCEPT ${exception}): there is no such file in "
                            "${CMAKE_CURRENT_SOURCE_DIR}, expected a source of the target")
      endif()
      list(REMOVE_ITEM sources ${exception})
    endforeach()
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${QUERN_EXACT_ARITHMETIC}"
                                                      SKIP_PRECOMPILE_HEADERS ON)
  else()
    target_compile_options(${target} PRIVATE ${QUERN_EXACT_ARITHMETIC})
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# On a device the same for everything: products say Kokkos::fma where they mean it.
add_library(quern_kernel_flags INTERFACE)
if(Kokkos_ENABLE_CUDA AND Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
  target_compile_options(quern_kernel_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--extended-lambda;--expt-relaxed-constexpr>")
elseif(Kokkos_ENABLE_CUDA)
  target_compile_options(quern_kernel_flags INTERFACE --fmad=false --expt-relaxed-constexpr)
elseif(Kokkos_ENABLE_HIP)
  target_compile_options(quern_kernel_flags INTERFACE -ffp-contract=off)
endif()

if(QUERN_ENABLE_SANITIZERS)
  # Left out is what the address sanitizer finds, too, as soon as such a pointer is used: GCC takes up to
  # three times as long with it.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
