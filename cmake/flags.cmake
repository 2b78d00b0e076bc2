# SPDX-License-Identifier: Apache-2.0
# Flags for all targets of this project, not for programs that link the library.
add_library(mluops_flags INTERFACE)
# No implicit fused multiply-add: every device and instruction set must choose the same bins.
target_compile_options(mluops_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
  # g++ 12 reports false overlaps in "text" + std::string (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # Vectors of a size known only at run time cannot be members, and our kernels keep vectors in structs.
  target_compile_definitions(mluops_flags INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)")
endif()
if(MLUOPS_WERROR)
  target_compile_options(mluops_flags INTERFACE -Werror)
endif()
if(MLUOPS_SANITIZE)
  # C callers may pass any int for an enum. The library checks the range, so the load must not be an error.
  set(sanitize -fsanitize=${MLUOPS_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=enum
      -fno-omit-frame-pointer)
  if(MLUOPS_SANITIZE MATCHES "address")
    # A kernel has thousands of small scopes. This check raises the compile time of one file from 24 s to 95 s.
    list(APPEND sanitize -fno-sanitize-address-use-after-scope)
  endif()
  if(MLUOPS_SANITIZE MATCHES "fuzzer")
    # Tracing of comparisons takes 44 % of the time of fuzz_calls, and our input formats have no magic numbers to find.
    list(APPEND sanitize -fno-sanitize-coverage=trace-cmp)
  endif()
  target_compile_options(mluops_flags INTERFACE ${sanitize})
  target_link_options(mluops_flags INTERFACE ${sanitize})
endif()

# mluops_skip_instrumentation(<source>...): compiles code that judges the library without sanitizers and coverage, so
# that the fuzz targets spend their time in the library. The asan preset runs the same code with sanitizers.
function(mluops_skip_instrumentation)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=all;-O2")
endfunction()
