# Compiler flags, sanitizers, ccache and the linker: everything that is the same for every target.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # ccache trusts a compiled header (PrecompiledHeaders.cmake) only when told that macros and times are no concern of its user:
  # ours are the same for every file. Compiled headers are large, so what they hash to is remembered. Said here, so that
  # nobody's own configuration matters.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_ctime,include_file_mtime CCACHE_INODECACHE=true "${CCACHE_PROGRAM}")
endif()

# What every target of ours is compiled with. A table row in a test may leave fields out, hence the one exception.
add_library(dray_options INTERFACE)
target_compile_options(dray_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(DRAY_WERROR)
  target_compile_options(dray_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What base/mutex.h's annotations say about locks is proved.
  target_compile_options(dray_options INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside the standard library's own inlined code; clang has no such reports to lose.
  target_compile_options(dray_options INTERFACE
    -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler looks for garbage in its memory again and again and finds little: a tenth of its time, for a fifth less memory.
  add_compile_options(--param=ggc-min-expand=1000 --param=ggc-min-heapsize=1500000)
endif()
if(DRAY_PCH AND CCACHE_PROGRAM)
  target_compile_options(dray_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
target_include_directories(dray_options INTERFACE "${CMAKE_SOURCE_DIR}/src")

if(DRAY_SANITIZE)
  add_compile_options(-fsanitize=${DRAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DRAY_SANITIZE})
  if(DRAY_SANITIZE MATCHES "thread")
    # Asio adds fences to what its locks order already, and g++ has none for this sanitizer.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

if(DRAY_LTO)
  # Slim objects: code is generated once, while linking, and a room is compiled in little more than half of the time. Tests are
  # linked from a build without it.
  add_compile_options(-flto=auto -fno-fat-lto-objects)
  # ar and ranlib see no names in such objects; the compiler's own do.
  set(CMAKE_AR "${CMAKE_CXX_COMPILER_AR}")
  set(CMAKE_RANLIB "${CMAKE_CXX_COMPILER_RANLIB}")
  # The link compiles too, and g++ 12 then reports once more what it thinks of the standard library.
  add_link_options(-flto=auto $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
endif()

# Unit tests are over in moments and spend their compile time on matchers, which nobody needs fast; the others spend their time in
# what they test.
function(dray_compile_test target label)
  if(DRAY_CHEAP_TESTS)
    target_compile_options(${target} PRIVATE $<IF:$<STREQUAL:${label},unit>,-O0,-O1>)
  elseif(DRAY_SANITIZE AND label STREQUAL "unit")
    # Optimised, every matcher is watched once more: half of the compile time of such a build.
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Rooms in which nobody waits for the processor: commands, their texts, notes. Compiled for the machine at once and with less care, they
# leave the link, which most of the time has one core to itself, a quarter less to do.
function(dray_compile_cold target)
  if(DRAY_LTO)
    target_compile_options(${target} PRIVATE -fno-lto -O1)
  elseif(DRAY_CHEAP_TESTS)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
