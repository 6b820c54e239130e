# dray_library(): one room of the house = one target = one namespace.
#
#   dray_library(NAME allocator
#     HDRS allocator.h            visible to other rooms; each must compile alone (dev preset checks)
#     SRCS search.cc              sources and private headers
#     DEPS dray::base             appears in our headers
#     PRIVATE_DEPS dray::cel      used in our sources only
#     TESTS search_test.cc        -> allocator_test, label unit
#     PROPERTY_TESTS x_test.cc    -> allocator_property_test, label property
#     TEST_DEPS dray::testing
#     ALONE a.cc b.cc)            these are compiled alone: their local names are also in other files of the room
#
# Where DRAY_UNITY is on, sources of a room are compiled several at a time. Most of a compiler's time goes into headers that
# they have in common. The dev preset compiles each alone, so that none lives on another one's includes.
#
# Files are listed, not globbed, so that a diff shows what joined.
include(GoogleTest)

set(DRAY_BIN_DIR "${CMAKE_BINARY_DIR}/bin")

# Every test sees where recorded cases are; a suite without them says that it was skipped.
set(DRAY_TEST_ENV "DRAY_SHARED=${DRAY_SHARED}" "DRAY_SOURCE=${CMAKE_SOURCE_DIR}" "DRAY_BINARY=${CMAKE_BINARY_DIR}/dray"
    "DRAY_BIN=${DRAY_BIN_DIR}")

# dray_test(NAME SRCS... LABEL label DEPS...): one gtest binary, one CTest entry.
function(dray_test)
  cmake_parse_arguments(A "" "NAME;LABEL;TIMEOUT" "SRCS;DEPS;ARGS" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 600)
  endif()
  add_executable(${A_NAME} ${A_SRCS})
  target_link_libraries(${A_NAME} PRIVATE dray_options ${A_DEPS} GTest::gmock GTest::gtest_main)
  dray_compile_test(${A_NAME} "${A_LABEL}")
  dray_common_headers(${A_NAME} LABEL "${A_LABEL}")
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
  add_test(NAME ${A_NAME} COMMAND ${A_NAME} ${A_ARGS})
  set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABEL}" TIMEOUT ${A_TIMEOUT} ENVIRONMENT "${DRAY_TEST_ENV}")
endfunction()

function(dray_library)
  cmake_parse_arguments(A "" "NAME" "HDRS;SRCS;DEPS;PRIVATE_DEPS;TESTS;PROPERTY_TESTS;TEST_DEPS;ALONE" ${ARGN})
  set(target dray_${A_NAME})
  add_library(${target} STATIC ${A_SRCS})
  add_library(dray::${A_NAME} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES ${A_HDRS})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  dray_compile_together(${target} "${A_ALONE}")
  dray_common_headers(${target})
  target_link_libraries(${target} PUBLIC dray_options ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  # Rooms below come with this one. Naming one again makes its archive occur twice, and ld then takes members of it twice.
  set(others ${A_PRIVATE_DEPS})
  list(FILTER others EXCLUDE REGEX "^dray::")
  if(A_TESTS)
    dray_test(NAME ${A_NAME}_test LABEL unit SRCS ${A_TESTS} DEPS ${target} ${others} ${A_TEST_DEPS})
  endif()
  if(A_PROPERTY_TESTS)
    dray_test(NAME ${A_NAME}_property_test LABEL property SRCS ${A_PROPERTY_TESTS}
              DEPS ${target} ${others} ${A_TEST_DEPS})
  endif()
endfunction()

# dray_fuzz(NAME x DEPS ...): fuzz/x_fuzz.cc. With the fuzz preset a libFuzzer binary; otherwise the same file with a
# replay main that runs every file of fuzz/x_corpus as a test.
function(dray_fuzz)
  cmake_parse_arguments(A "" "NAME" "DEPS" ${ARGN})
  set(target ${A_NAME}_fuzz)
  if(DRAY_FUZZ)
    add_executable(${target} ${A_NAME}_fuzz.cc)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${A_NAME}_fuzz.cc replay_main.cc)
    add_test(NAME ${target} COMMAND ${target} "${CMAKE_CURRENT_SOURCE_DIR}/${A_NAME}_corpus")
    set_tests_properties(${target} PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
  target_link_libraries(${target} PRIVATE dray_options ${A_DEPS})
  dray_common_headers(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
endfunction()

# dray_bench(NAME x DEPS ...): bench/x_bench.cc. Also runs for a moment as a test, so that none rots.
function(dray_bench)
  cmake_parse_arguments(A "" "NAME" "DEPS" ${ARGN})
  set(target ${A_NAME}_bench)
  add_executable(${target} ${A_NAME}_bench.cc)
  target_link_libraries(${target} PRIVATE dray_options ${A_DEPS} benchmark::benchmark_main benchmark::benchmark)
  dray_common_headers(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
  dray_optimise_link(${target})
  add_test(NAME ${target} COMMAND ${target} --benchmark_min_time=0.001)
  set_tests_properties(${target} PROPERTIES LABELS bench TIMEOUT 300 ENVIRONMENT "${DRAY_TEST_ENV}")
endfunction()
