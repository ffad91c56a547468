# batchvar_library(NAME SOURCES a.cc ... DEPS x y): one room, one static library.
function(batchvar_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC batchvar_flags ${ARG_DEPS})
endfunction()

# batchvar_test(NAME SOURCES a.cc ... DEPS x y [LABELS l ...]): one GoogleTest binary, one ctest
# entry. A binary that skips every test it has is reported by ctest as skipped, not as passed.
function(batchvar_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} batchvar_flags batchvar_test_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77)
endfunction()
