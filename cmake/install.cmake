# SPDX-License-Identifier: Apache-2.0
# Installs headers, library, driver, CMake package, pkg-config file, and the linker scripts for -lcnrt
# and -lcndrv. The installed tree is relocatable: no installed file contains an absolute path.
# Each component becomes a Debian package (cmake/package.cmake); `cmake --install` installs all but `python`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(library_folder ${CMAKE_INSTALL_LIBDIR})
set(package_folder ${library_folder}/cmake/mluops)
install(TARGETS mluops EXPORT mluops-targets
        LIBRARY DESTINATION ${library_folder} COMPONENT runtime NAMELINK_COMPONENT dev
        ARCHIVE DESTINATION ${library_folder} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
if(TARGET mluops_cuda)  # not linked: libmluops.so loads it at run time
  install(FILES $<TARGET_FILE:mluops_cuda> DESTINATION ${library_folder} COMPONENT cuda)
  install(PROGRAMS $<TARGET_FILE:mluops_cuda> DESTINATION mluops COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(TARGET mluops_mlu)  # the simulated MLU, and the headers and tools that compile BANG C; not in the wheel
  install(TARGETS mluops_mlu bang bang_translate EXPORT mluops-mlu-targets
          LIBRARY DESTINATION ${library_folder} COMPONENT mlu
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mlu)
  install(DIRECTORY src/mlu/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bang COMPONENT mlu
          FILES_MATCHING PATTERN "*.h")
  install(FILES cmake/bang.cmake DESTINATION ${package_folder} COMPONENT mlu)
  install(EXPORT mluops-mlu-targets NAMESPACE mluops:: DESTINATION ${package_folder} COMPONENT mlu)
endif()
if(MLUOPS_TOOLS)
  # The driver loads libmluops_cuda.so and libmluops_mlu.so. A Debian package must not have a search path.
  if(NOT MLUOPS_PACKAGES)
    file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(mluop PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  endif()
  install(TARGETS mluop RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()

install(FILES ${cnrt_linker_scripts} DESTINATION ${library_folder} COMPONENT dev)

install(EXPORT mluops-targets NAMESPACE mluops:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(cmake/mluops-config.cmake.in ${PROJECT_BINARY_DIR}/mluops-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mluops-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mluops-config.cmake
              ${PROJECT_BINARY_DIR}/mluops-config-version.cmake
        DESTINATION ${package_folder} COMPONENT dev)

# A program that links the static library must link its dependencies too.
set(needed "-lhwy -lstdc++ -lm -lpthread")
if(BUILD_SHARED_LIBS)
  set(pc_libs "")
  set(pc_libs_private "Libs.private: ${needed}")
else()
  set(pc_libs " ${needed}")
  set(pc_libs_private "")
endif()
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/mluops.pc.in ${PROJECT_BINARY_DIR}/mluops.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mluops.pc DESTINATION ${library_folder}/pkgconfig COMPONENT dev)

# The Python wheel contains the library without its symbolic links, which wheels do not support.
install(PROGRAMS $<TARGET_FILE:mluops> RENAME libmluops.so DESTINATION mluops
        COMPONENT python EXCLUDE_FROM_ALL)

if(MLUOPS_PACKAGES)
  include(cmake/package.cmake)
endif()
