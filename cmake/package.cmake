# SPDX-License-Identifier: Apache-2.0
# The Debian packages of CPack, one per component of cmake/install.cmake. scripts/package.sh configures with the prefix
# /usr, so that libraries go to Debian's multiarch folder.
set(abi ${soversion})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mluops)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "mluops maintainers <maintainers@mluops.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# mluops_debian_package(component package section depends summary description)
function(mluops_debian_package component package section depends summary description)
  string(TOUPPER ${component} name)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  if(section MATCHES "^lib" AND NOT component STREQUAL "dev")
    set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers PARENT_SCOPE)
  endif()
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/copyright DESTINATION ${documents} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz ${PROJECT_BINARY_DIR}/changelog.Debian.gz DESTINATION ${documents} COMPONENT ${component})
endfunction()

# gzip -n: no time stamp, so that the same sources give the same package.
function(mluops_compress file result)
  execute_process(COMMAND gzip -9 -n -c ${file} OUTPUT_FILE ${PROJECT_BINARY_DIR}/${result}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()
configure_file(packaging/changelog.in ${PROJECT_BINARY_DIR}/changelog @ONLY)
mluops_compress(${PROJECT_BINARY_DIR}/changelog changelog.Debian.gz)
mluops_compress(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog.gz)
mluops_compress(${PROJECT_SOURCE_DIR}/packaging/mluop.1 mluop.1.gz)

set(exact "libmluops${abi} (= ${PROJECT_VERSION}-1)")
mluops_debian_package(runtime libmluops${abi} libs ""
  "region operators of detection and segmentation networks"
  "Implements the operators of PSANet, R-FCN, BorderDet, PartA2 and masked\nconvolution, forward and backward, with the C API of MLU-OPS, on the CPU.")
mluops_debian_package(dev libmluops-dev libdevel "${exact}"
  "region operators: headers, CMake package and pkg-config file"
  "Contains what a program needs to compile and link with libmluops,\nand linker scripts for programs that link -lcnrt and -lcndrv.")
mluops_debian_package(tools mluops-tools science ""
  "region operators: the driver mluop"
  "Checks every operator against its reference, compares bits, measures\nspeed, writes a test report, and replays recorded calls.")
if(TARGET mluops_cuda)
  mluops_debian_package(cuda libmluops-cuda libs "${exact}"
    "region operators: CUDA kernels"
    "libmluops loads this library at the first use of a CUDA device.\nIt needs NVIDIA's driver, not the CUDA toolkit.")
endif()
if(TARGET mluops_mlu)
  mluops_debian_package(mlu libmluops-mlu libdevel "libmluops-dev (= ${PROJECT_VERSION}-1)"
    "region operators: simulated MLU and BANG C for the host"
    "Contains the simulated device mlu:0, the headers and the CMake function\nthat compile BANG C kernels with g++ or clang, and the kernels of\nMLU-OPS's design documents.")
endif()
install(FILES ${PROJECT_BINARY_DIR}/mluop.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
include(CPack)
