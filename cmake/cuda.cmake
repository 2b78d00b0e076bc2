# SPDX-License-Identifier: Apache-2.0
# Builds libmluops_cuda.so if nvcc is found. libmluops.so loads it at the first use of a CUDA device.
file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.cc src/cuda/*.cu)
list(APPEND cuda_sources ${family_cuda})
foreach(source ops/cuda_list core/arguments core/dtype core/error core/implementation)
  list(APPEND cuda_sources ${PROJECT_SOURCE_DIR}/src/${source}.cc)
endforeach()
if(MLUOPS_CUDA_LIBRARY)  # an existing library from another build of this tree
  add_library(mluops_cuda SHARED IMPORTED)
  set_target_properties(mluops_cuda PROPERTIES IMPORTED_LOCATION ${MLUOPS_CUDA_LIBRARY})
  return()
endif()
include(CheckLanguage)
if(MLUOPS_CUDA AND NOT MLUOPS_SANITIZE)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: not built (nvcc not found, MLUOPS_CUDA is off, or a sanitizer is on)")
  return()
endif()

# The architectures in this list that nvcc supports. The first also has PTX, for architectures not in
# the list; the last has PTX for later ones.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known_codes)
foreach(code 75 80 86 89 90 100 120)
  if(known_codes MATCHES "sm_${code}\n")
    list(APPEND known ${code}-real)
  endif()
endforeach()
list(TRANSFORM known REPLACE "-real" "" AT 0)
list(TRANSFORM known REPLACE "-real" "" AT -1)
set(MLUOPS_CUDA_ARCHITECTURES "${known}"
    CACHE STRING "Architectures of libmluops_cuda.so, as CMAKE_CUDA_ARCHITECTURES")
set(CMAKE_CUDA_ARCHITECTURES ${MLUOPS_CUDA_ARCHITECTURES})
enable_language(CUDA)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know C++20 in nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit REQUIRED)
# Found by path: with nvcc from a Python wheel it is in a folder that neither CMake nor ld searches.
find_library(MLUOPS_CUDART_STATIC libcudart_static.a REQUIRED
  HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_INCLUDE_DIRS}/../lib ${CUDAToolkit_INCLUDE_DIRS}/../lib64)
find_package(Threads REQUIRED)

add_library(mluops_cuda SHARED ${cuda_sources})
target_include_directories(mluops_cuda PRIVATE include src)
target_include_directories(mluops_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(mluops_cuda PRIVATE ${MLUOPS_CUDART_STATIC} Threads::Threads dl rt)
# -fmad=false: every device must choose the same bins. Kernels call fmaf where they want a fused
# multiply-add.
target_compile_options(mluops_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-Wextra>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-ffp-contract=off>)
if(MLUOPS_WERROR)
  target_compile_options(mluops_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings> $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
set_target_properties(mluops_cuda PROPERTIES
  CUDA_RUNTIME_LIBRARY None CUDA_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_options(mluops_cuda PRIVATE LINKER:--no-undefined LINKER:--exclude-libs,ALL)
