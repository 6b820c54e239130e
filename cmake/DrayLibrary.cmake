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
#     ALONE a.cc b.cc             these do not get along with others where sources are compiled together (Unity.cmake)
#     COLD)                       nobody waits for the processor in here (dray_compile_cold)
#
# Files are listed, not globbed, so that a diff shows what joined.
include(GoogleTest)

set(DRAY_BIN_DIR "${CMAKE_BINARY_DIR}/bin")

# Every test sees where recorded cases are; a suite without them says that it was skipped.
set(DRAY_TEST_ENV "DRAY_SHARED=${DRAY_SHARED}" "DRAY_SOURCE=${CMAKE_SOURCE_DIR}" "DRAY_BINARY=${CMAKE_BINARY_DIR}/dray"
    "DRAY_BIN=${DRAY_BIN_DIR}")

# What is watched takes several times as long, and is given that time.
set(DRAY_PATIENCE 1)
if(DRAY_SANITIZE)
  set(DRAY_PATIENCE 8)
endif()

# dray_tests_take(SECONDS TEST...): how long tests that dray_test has not made may take, as nothing watches them.
function(dray_tests_take seconds)
  math(EXPR seconds "${seconds} * ${DRAY_PATIENCE}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()

# dray_test(NAME SRCS... LABEL label DEPS...): one gtest binary, one CTest entry.
function(dray_test)
  cmake_parse_arguments(A "" "NAME;LABEL;TIMEOUT" "SRCS;DEPS;ARGS;ALONE" ${ARGN})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 600)
  endif()
  math(EXPR A_TIMEOUT "${A_TIMEOUT} * ${DRAY_PATIENCE}")
  add_executable(${A_NAME} ${A_SRCS})
  target_link_libraries(${A_NAME} PRIVATE dray_options ${A_DEPS} GTest::gmock GTest::gtest_main)
  dray_compile_test(${A_NAME} "${A_LABEL}")
  dray_common_headers(${A_NAME} LABEL "${A_LABEL}")
  dray_compile_together(${A_NAME} "${A_ALONE}")
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
  add_test(NAME ${A_NAME} COMMAND ${A_NAME} ${A_ARGS})
  set_tests_properties(${A_NAME} PROPERTIES LABELS "${A_LABEL}" TIMEOUT ${A_TIMEOUT} ENVIRONMENT "${DRAY_TEST_ENV}")
endfunction()

function(dray_library)
  cmake_parse_arguments(A "COLD" "NAME" "HDRS;SRCS;DEPS;PRIVATE_DEPS;TESTS;PROPERTY_TESTS;TEST_DEPS;ALONE" ${ARGN})
  set(target dray_${A_NAME})
  add_library(${target} STATIC ${A_SRCS})
  add_library(dray::${A_NAME} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES ${A_HDRS})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  dray_compile_together(${target} "${A_ALONE}")
  if(A_COLD)
    dray_compile_cold(${target})
    dray_common_headers(${target} LABEL cold)
  else()
    dray_common_headers(${target})
  endif()
  target_link_libraries(${target} PUBLIC dray_options ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  # Rooms below come with this one. Naming one again makes its archive occur twice, and ld then takes members of it twice.
  set(others ${A_PRIVATE_DEPS})
  list(FILTER others EXCLUDE REGEX "^dray::")
  if(A_TESTS)
    dray_test(NAME ${A_NAME}_test LABEL unit SRCS ${A_TESTS} ALONE ${A_ALONE} DEPS ${target} ${others} ${A_TEST_DEPS})
  endif()
  if(A_PROPERTY_TESTS)
    dray_test(NAME ${A_NAME}_property_test LABEL property SRCS ${A_PROPERTY_TESTS} ALONE ${A_ALONE}
              DEPS ${target} ${others} ${A_TEST_DEPS})
  endif()
endfunction()

# dray_fuzz(NAME x DEPS ...): fuzz/x_fuzz.cc. With the fuzz preset a libFuzzer binary x_fuzz, which joins the target fuzzers. Otherwise the
# file joins fuzz_replay, one binary for all of them. The test x_fuzz runs every file of fuzz/x_corpus.
function(dray_fuzz)
  cmake_parse_arguments(A "" "NAME" "DEPS" ${ARGN})
  set(target ${A_NAME}_fuzz)
  if(DRAY_FUZZ)
    add_executable(${target} ${target}.cc)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${target} PRIVATE dray_options ${A_DEPS})
    dray_common_headers(${target})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
    add_dependencies(fuzzers ${target})
    add_test(NAME ${target} COMMAND ${target} -runs=0 -timeout=60 "${CMAKE_CURRENT_SOURCE_DIR}/${A_NAME}_corpus")
    set_tests_properties(${target} PROPERTIES LABELS fuzz)
    dray_tests_take(300 ${target})
    return()
  endif()
  # Every target's one function has the same name, which libFuzzer prescribes.
  set_source_files_properties(${target}.cc PROPERTIES COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=${target})
  target_sources(fuzz_replay PRIVATE ${target}.cc)
  target_link_libraries(fuzz_replay PRIVATE ${A_DEPS})
  set_property(GLOBAL APPEND_STRING PROPERTY DRAY_FUZZ_TARGETS "DRAY_FUZZ_TARGET(${target})\n")
  add_test(NAME ${target} COMMAND fuzz_replay ${target} "${CMAKE_CURRENT_SOURCE_DIR}/${A_NAME}_corpus")
  set_tests_properties(${target} PROPERTIES LABELS fuzz)
  dray_tests_take(300 ${target})
endfunction()

# dray_bench(NAME x DEPS ...): bench/x_bench.cc, compiled once and linked three times: benchmarks, which has all of them (`make bench`),
# x_bench, for whoever works on one, both in a build that is optimised when linked; and bench_smoke, which `make test` runs for a moment
# each, so that none rots.
function(dray_bench)
  cmake_parse_arguments(A "" "NAME" "DEPS" ${ARGN})
  set(target ${A_NAME}_bench)
  add_library(${target}_code OBJECT ${target}.cc)
  target_link_libraries(${target}_code PRIVATE dray_options ${A_DEPS} benchmark::benchmark)
  if(DRAY_CHEAP_TESTS)
    dray_compile_cold(${target}_code)
    dray_common_headers(${target}_code LABEL cold)
  else()
    dray_common_headers(${target}_code)
  endif()
  target_link_libraries(bench_smoke PRIVATE ${target}_code)
  target_link_libraries(benchmarks PRIVATE ${target}_code)
  add_executable(${target} EXCLUDE_FROM_ALL)
  target_link_libraries(${target} PRIVATE ${target}_code benchmark::benchmark_main)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY "${DRAY_BIN_DIR}")
endfunction()
