# Third-party libraries, all Debian packages (tools/packages.txt). A target appears only in the rooms that need it.
#
# Libraries that other distributions, or the next Debian, have in other versions are linked into our executables: a binary that is copied
# to another machine needs glibc, libstdc++, OpenSSL 3 and zlib there, which keep their promises from release to release, and gets their
# security fixes. simdjson is the exception: Debian has it as a shared library alone, which therefore travels with the binary
# (Packages.cmake). test/packages looks at what is left.

find_package(Threads REQUIRED)
find_package(simdjson REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

# dray_archive(target archive header [libraries...]): a library of the system, from its archive.
function(dray_archive target archive header)
  string(MAKE_C_IDENTIFIER "${target}" id)
  find_library(${id}_ARCHIVE ${archive} REQUIRED)
  find_path(${id}_HEADERS ${header} REQUIRED)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${id}_ARCHIVE}" INTERFACE_INCLUDE_DIRECTORIES "${${id}_HEADERS}")
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

dray_archive(yaml::yaml libyaml.a yaml.h)
dray_archive(xxhash::xxhash libxxhash.a xxhash.h)
dray_archive(re2::re2 libre2.a re2/re2.h Threads::Threads)
dray_archive(sqlite3::sqlite3 libsqlite3.a sqlite3.h Threads::Threads m ${CMAKE_DL_LIBS})
dray_archive(nghttp2::nghttp2 libnghttp2.a nghttp2/nghttp2.h)
dray_archive(lzma::lzma liblzma.a lzma.h Threads::Threads)
dray_archive(bzip2::bzip2 libbz2.a bzlib.h)
dray_archive(zstd::zstd libzstd.a zstd.h Threads::Threads)
# Of libarchive's formats and filters only those stay that somebody asks for by name; others would want libxml2, which then is not looked for.
add_link_options(-Wl,--gc-sections)
dray_archive(archive::archive libarchive.a archive.h lzma::lzma bzip2::bzip2 zstd::zstd ZLIB::ZLIB)

# abseil's CMake package knows shared libraries; the archives are beside them.
find_package(absl REQUIRED)
get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER imported INCLUDE REGEX "^absl::")
foreach(target IN LISTS imported)
  get_target_property(location ${target} IMPORTED_LOCATION_NONE)
  if(location MATCHES "\\.so")
    string(REGEX REPLACE "\\.so.*" ".a" location "${location}")
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${location}" IMPORTED_SONAME_NONE "")
  endif()
endforeach()

# fmt has no archive in Debian, but all of its source in headers: compiled once, here.
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
add_library(dray_fmt STATIC cmake/fmt.cc)
target_include_directories(dray_fmt SYSTEM PUBLIC "${FMT_INCLUDE_DIR}")
# As with the shared library: its exceptions are one type everywhere, whatever is hidden by default.
target_compile_definitions(dray_fmt PUBLIC FMT_SHARED)
add_library(fmt::fmt ALIAS dray_fmt)

find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
add_library(cli11::cli11 INTERFACE IMPORTED)
set_target_properties(cli11::cli11 PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CLI11_INCLUDE_DIR}")

# gRPC, with OpenSSL for etcd over TLS, and protobuf without reflection; for the room rpc alone. 9 MB, 7 of them gRPC's. There
# must be one abseil in a process: the archive above. gRPC's own CMake package knows shared libraries only.
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
# From below, each archive with what it needs, so that whatever it is linked with stands behind it.
set(grpc_below
  absl::base absl::cleanup absl::cord absl::flat_hash_map absl::flat_hash_set absl::hash absl::inlined_vector absl::random_random absl::status
  absl::statusor absl::str_format absl::strings absl::synchronization absl::time absl::variant
  re2::re2 OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads rt)
foreach(name IN ITEMS cares protobuf-lite upb address_sorting gpr grpc grpc++)
  find_library(GRPC_ARCHIVE_${name} lib${name}.a REQUIRED)
  add_library(grpc_archive_${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(grpc_archive_${name} PROPERTIES IMPORTED_LOCATION "${GRPC_ARCHIVE_${name}}")
  target_link_libraries(grpc_archive_${name} INTERFACE ${grpc_below})
  list(PREPEND grpc_below grpc_archive_${name})
endforeach()
add_library(grpc::grpc INTERFACE IMPORTED)
target_link_libraries(grpc::grpc INTERFACE grpc_archive_grpc++)
