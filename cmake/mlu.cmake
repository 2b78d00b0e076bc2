# SPDX-License-Identifier: Apache-2.0
# Builds libmluops_mlu.so, the simulated MLU, with the families' BANG C kernels. libmluops.so loads it when
# MLUOP_VISIBLE_DEVICES names mlu:0.
if(NOT MLUOPS_MLU OR CMAKE_CROSSCOMPILING)
  return()
endif()
include(cmake/bang.cmake)

add_executable(bang_translate tools/bang_translate/main.cc)
add_executable(mluops::bang_translate ALIAS bang_translate)
target_link_libraries(bang_translate PRIVATE $<BUILD_INTERFACE:mluops_flags>)

# Include folders and options of a .mlu file. No fused multiply-add: every device must choose the same bins.
add_library(bang INTERFACE)
add_library(mluops::bang ALIAS bang)
target_include_directories(bang INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/mlu/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:include/bang> $<INSTALL_INTERFACE:include>)
target_compile_options(bang INTERFACE -ffp-contract=off)

file(GLOB mlu_sources CONFIGURE_DEPENDS src/mlu/*.cc)
list(FILTER family_mlu EXCLUDE REGEX "^$")
set(mlu_kernels ${family_mlu})
list(FILTER mlu_kernels INCLUDE REGEX "\\.mlu$")
set(family_mlu_hosts ${family_mlu})
list(FILTER family_mlu_hosts EXCLUDE REGEX "\\.mlu$")
set(mlu_objects "")
if(mlu_kernels)
  mluops_bang_objects(mluops_mlu mlu_objects ${mlu_kernels})
endif()
add_library(mluops_mlu SHARED ${mlu_sources} ${family_mlu_hosts} src/ops/mlu_list.cc ${mlu_objects}
  src/core/arguments.cc src/core/dtype.cc src/core/environment.cc src/core/error.cc src/core/implementation.cc)
add_library(mluops::mlu ALIAS mluops_mlu)
set_source_files_properties(${mlu_objects} PROPERTIES EXTERNAL_OBJECT ON)
target_include_directories(mluops_mlu PRIVATE src)
target_link_libraries(mluops_mlu PRIVATE $<BUILD_INTERFACE:bang> $<BUILD_INTERFACE:mluops_flags> Threads::Threads)
set_target_properties(mluops_mlu PROPERTIES EXPORT_NAME mlu LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
if(NOT MLUOPS_SANITIZE)
  target_link_options(mluops_mlu PRIVATE LINKER:--no-undefined)
endif()
