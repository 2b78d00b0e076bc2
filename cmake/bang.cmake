# SPDX-License-Identifier: Apache-2.0
# Compiles BANG C for the simulated MLU. Installed with the package.

# mluops_bang_objects(name result files...)
# Compiles .mlu files once for the host and once per architecture. Sets `result` to the objects. The object
# libraries take include directories, definitions and options from the target `name`.
#
# Kernels have internal linkage. Host functions are in all passes: the copies of the device passes are weak, so the
# linker takes the copies of the host pass.
function(mluops_bang_objects name result)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_bang)
  file(MAKE_DIRECTORY ${folder})
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    file(RELATIVE_PATH translated ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    string(REGEX REPLACE "[^A-Za-z0-9_]" "_" translated ${translated})
    set(translated ${folder}/${translated}.cc)
    add_custom_command(OUTPUT ${translated} COMMAND mluops::bang_translate ${file} ${translated}
                       DEPENDS ${file} mluops::bang_translate VERBATIM)
    cmake_path(GET file PARENT_PATH source_folder)
    list(APPEND sources ${translated})
    list(APPEND source_folders ${source_folder})
  endforeach()
  list(REMOVE_DUPLICATES source_folders)
  foreach(pass host 290 372 592)
    set(library ${name}_bang_${pass})
    add_library(${library} OBJECT ${sources})
    set_target_properties(${library} PROPERTIES
      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${library} PRIVATE mluops::bang)
    target_include_directories(${library} PRIVATE
      ${source_folders} $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${library} PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
    target_compile_options(${library} PRIVATE $<TARGET_PROPERTY:${name},COMPILE_OPTIONS>)
    if(pass STREQUAL "host")
      set(objects $<TARGET_OBJECTS:${library}>)
      continue()
    endif()
    target_compile_definitions(${library} PRIVATE __BANG_ARCH__=${pass})
    set(object ${folder}/mtp_${pass}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_LINKER} -r -o ${object} $<TARGET_OBJECTS:${library}>
      COMMAND ${CMAKE_OBJCOPY} --weaken ${object}
      DEPENDS ${library} $<TARGET_OBJECTS:${library}> COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# mluops_add_bang_library(name files...)
# Adds a shared library of .mlu files for the simulated MLU. Use target_include_directories and the like on it as on
# any library.
function(mluops_add_bang_library name)
  mluops_bang_objects(${name} objects ${ARGN})
  foreach(pass host 290 372 592)
    set_target_properties(${name}_bang_${pass} PROPERTIES CXX_VISIBILITY_PRESET default)
  endforeach()
  add_library(${name} SHARED ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PUBLIC mluops::bang mluops::mlu mluops::mluops)
endfunction()
