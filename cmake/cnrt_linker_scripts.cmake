# SPDX-License-Identifier: Apache-2.0
# Linker scripts for programs that link -lcnrt and -lcndrv. They link libmluops, which contains the runtime.
if(BUILD_SHARED_LIBS)
  set(suffix so)
else()
  set(suffix a)
endif()
foreach(name cnrt cndrv)
  set(linker_script ${PROJECT_BINARY_DIR}/lib${name}.${suffix})
  file(CONFIGURE OUTPUT ${linker_script} CONTENT
       "/* GNU ld script: the runtime is in libmluops. */\nINPUT(-lmluops)\n")
  list(APPEND cnrt_linker_scripts ${linker_script})
endforeach()
