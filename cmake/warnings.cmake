# SPDX-License-Identifier: Apache-2.0
# Flags for everything that is built here, not for those who link us.
add_library(mluops_flags INTERFACE)
# Every device and instruction set must choose the same bins: no fused multiply-add behind our back.
target_compile_options(mluops_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off
  # g++ 12 sees overlaps in "text" + std::string that are not there (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # Vectors whose size is known at run time only can be no members, and our kernels keep theirs in structs.
  target_compile_definitions(mluops_flags INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)")
endif()
if(MLUOPS_WERROR)
  target_compile_options(mluops_flags INTERFACE -Werror)
endif()
if(MLUOPS_SANITIZE)
  # Callers in C may pass any int for an enum: we test the range, so the load itself is no error.
  set(sanitize -fsanitize=${MLUOPS_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=enum
      -fno-omit-frame-pointer)
  if(MLUOPS_SANITIZE MATCHES "address")
    # The vectors of a kernel are thousands of little scopes: watching them makes a file that takes 24 s to compile take 95 s.
    list(APPEND sanitize -fno-sanitize-address-use-after-scope)
  endif()
  target_compile_options(mluops_flags INTERFACE ${sanitize})
  target_link_options(mluops_flags INTERFACE ${sanitize})
endif()
