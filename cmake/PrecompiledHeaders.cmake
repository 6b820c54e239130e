# Headers that nearly every file includes, compiled once for all of them.
#
# Half of the time that g++ spends on a file of ours goes into reading the standard library, abseil's Status and fmt again.
# Only headers from outside are listed: they never change, so nobody's edit compiles the world anew. A room's own headers would
# buy nothing more (measured: what is left is code generation).
#
# A file that leaves out an include which the list has still compiles here. It does not where headers are checked
# (CMAKE_VERIFY_INTERFACE_HEADER_SETS, dev preset), nor in the clang preset, which builds without this list.

set(DRAY_COMMON_HEADERS
    <algorithm> <array> <atomic> <chrono> <cstdint> <deque> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <thread> <utility> <variant> <vector>
    <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/status.h> <absl/status/statusor.h>
    <fmt/format.h>)
set(DRAY_COMMON_DEPS absl::flat_hash_map absl::flat_hash_set absl::status absl::statusor fmt::fmt)

# One target that has the compiled list; who reuses it must be compiled with the same flags, and the compiler says so if not.
function(dray_headers_target name)
  cmake_parse_arguments(A "" "LABEL" "HEADERS;DEPS" ${ARGN})
  file(WRITE "${CMAKE_BINARY_DIR}/generated/${name}.cc" "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/generated/${name}.cc")
  target_link_libraries(${name} PRIVATE dray_options ${DRAY_COMMON_DEPS} ${A_DEPS})
  if(A_LABEL STREQUAL "cold")
    dray_compile_cold(${name})
  elseif(A_LABEL)
    dray_compile_test(${name} ${A_LABEL})
  endif()
  target_precompile_headers(${name} PRIVATE ${DRAY_COMMON_HEADERS} ${A_HEADERS})
endfunction()

if(DRAY_PCH)
  dray_headers_target(dray_headers)
  # Rooms where nobody waits and unit tests are compiled with flags of their own (dray_compile_cold, dray_compile_test), hence more lists.
  dray_headers_target(dray_cold_headers LABEL cold)
  dray_headers_target(dray_unit_test_headers LABEL unit HEADERS <gmock/gmock.h> <gtest/gtest.h> DEPS GTest::gmock GTest::gtest)
  dray_headers_target(dray_test_headers LABEL other HEADERS <gmock/gmock.h> <gtest/gtest.h> DEPS GTest::gmock GTest::gtest)
endif()

# Gives the common headers to a target of ours; LABEL is that of a test, or cold.
function(dray_common_headers target)
  cmake_parse_arguments(A "" "LABEL" "" ${ARGN})
  if(NOT DRAY_PCH)
    return()
  endif()
  if(NOT A_LABEL)
    set(from dray_headers)
  elseif(A_LABEL STREQUAL "cold")
    set(from dray_cold_headers)
  elseif(A_LABEL STREQUAL "unit")
    set(from dray_unit_test_headers)
  else()
    set(from dray_test_headers)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()
