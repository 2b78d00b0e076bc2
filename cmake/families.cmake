# SPDX-License-Identifier: Apache-2.0
# Reads src/ops/op_list.inc: each line names the folder of a family. Other folders of src/ops are not compiled,
# except for roi, which several families share.

# Sets the six variables to the families' CPU sources, CUDA sources, MLU sources, references, tests and generated
# cases.
function(mluops_family_sources sources cuda_sources mlu_sources references tests cases)
  set(list_file ${PROJECT_SOURCE_DIR}/src/ops/op_list.inc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list_file})
  file(GLOB found_sources CONFIGURE_DEPENDS src/ops/roi/*.cc src/ops/roi/cpu/*.cc)
  file(GLOB found_cuda CONFIGURE_DEPENDS src/ops/roi/cuda/*.cu)
  file(STRINGS ${list_file} lines REGEX "^MLUOP_FAMILY\\(")
  foreach(line ${lines})
    string(REGEX REPLACE "^MLUOP_FAMILY\\(([a-z0-9_]+)\\).*" "\\1" family ${line})
    set(folder ${PROJECT_SOURCE_DIR}/src/ops/${family})
    file(GLOB all CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/cpu/*.cc)
    file(GLOB cuda CONFIGURE_DEPENDS ${folder}/cuda/*.cu)
    file(GLOB mlu CONFIGURE_DEPENDS ${folder}/mlu/*.mlu ${folder}/mlu/*.cc)
    list(APPEND found_cuda ${cuda})
    list(APPEND found_mlu ${mlu})
    foreach(file ${all})
      cmake_path(GET file FILENAME name)
      if(name STREQUAL "reference.cc")
        list(APPEND found_references ${file})
      elseif(name STREQUAL "test.cc")
        list(APPEND found_tests ${file})
      else()
        list(APPEND found_sources ${file})
      endif()
    endforeach()
    set(generated ${PROJECT_BINARY_DIR}/generated/${family}_cases.cc)
    set(text "")
    if(EXISTS ${folder}/cases.txt)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/cases.txt)
      file(READ ${folder}/cases.txt text)
    endif()
    file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT
"// Generated from src/ops/@family@/cases.txt.
#include <string_view>
namespace mluop::@family@ {
extern const std::string_view kCases;
constexpr std::string_view kCases = R\"cases(@text@)cases\";
}
")
    list(APPEND found_cases ${generated})
  endforeach()
  set(${sources} ${found_sources} PARENT_SCOPE)
  set(${cuda_sources} ${found_cuda} PARENT_SCOPE)
  set(${mlu_sources} ${found_mlu} PARENT_SCOPE)
  set(${references} ${found_references} PARENT_SCOPE)
  set(${tests} ${found_tests} PARENT_SCOPE)
  set(${cases} ${found_cases} PARENT_SCOPE)
endfunction()
