# dray_compile_together(target alone): the sources of a target several at a time, where DRAY_UNITY is on.
#
# Most of a compiler's time goes into what sources have in common: headers, and templates that each of them instantiates. Compiled
# together, they pay once. Two sources that use one name for two local things must not meet; instead of asking everybody for
# different names, tools/unity-groups finds out who gets along. Where it is wrong, the compiler says so; then the source is named
# after ALONE.
#
# The dev preset compiles each source alone, so that none lives on another one's includes.

set(DRAY_UNITY_SIZE 8 CACHE STRING "With DRAY_UNITY: how many sources are compiled together at most")

function(dray_compile_together target alone)
  if(NOT DRAY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(REMOVE_ITEM sources ${alone} "")
  execute_process(
    COMMAND "${CMAKE_SOURCE_DIR}/tools/unity-groups" ${DRAY_UNITY_SIZE} ${sources}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${target}_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What is local to a source looks to the compiler as if it came from a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
