# SPDX-License-Identifier: Apache-2.0
# The runtime is part of libmluops: programs that link -lcnrt and -lcndrv get libmluops from these linker scripts.
if(BUILD_SHARED_LIBS)
  set(suffix so)
else()
  set(suffix a)
endif()
foreach(name cnrt cndrv)
  set(stand_in ${PROJECT_BINARY_DIR}/lib${name}.${suffix})
  file(CONFIGURE OUTPUT ${stand_in} CONTENT
       "/* GNU ld script: the runtime is in libmluops. */\nINPUT(-lmluops)\n")
  list(APPEND stand_ins ${stand_in})
endforeach()
