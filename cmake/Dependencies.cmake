# Third-party libraries, all Debian packages (tools/packages.txt). A target appears only in the rooms that need it.

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(YAML_LIBRARY yaml REQUIRED)
add_library(yaml::yaml UNKNOWN IMPORTED)
set_target_properties(yaml::yaml PROPERTIES
  IMPORTED_LOCATION "${YAML_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${YAML_INCLUDE_DIR}")

find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(xxhash::xxhash UNKNOWN IMPORTED)
set_target_properties(xxhash::xxhash PROPERTIES
  IMPORTED_LOCATION "${XXHASH_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${XXHASH_INCLUDE_DIR}")

find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
add_library(cli11::cli11 INTERFACE IMPORTED)
set_target_properties(cli11::cli11 PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CLI11_INCLUDE_DIR}")

find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
add_library(re2::re2 UNKNOWN IMPORTED)
set_target_properties(re2::re2 PROPERTIES
  IMPORTED_LOCATION "${RE2_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}")

# gRPC without TLS, for unix sockets, and protobuf without reflection; for the room rpc alone. From archives: a binary that is copied to
# a node then needs no libraries that nothing else there has. 6 MB of it, 4 of them gRPC's. Abseil and re2 stay shared, as everywhere
# here: there must be one abseil in a process. gRPC's own CMake package knows shared libraries only.
find_package(ZLIB REQUIRED)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
set(grpc_archives)
foreach(name grpc++_unsecure grpc_unsecure gpr address_sorting upb protobuf-lite cares)
  find_library(GRPC_ARCHIVE_${name} lib${name}.a REQUIRED)
  list(APPEND grpc_archives "${GRPC_ARCHIVE_${name}}")
endforeach()
add_library(grpc::unsecure INTERFACE IMPORTED)
target_link_libraries(grpc::unsecure INTERFACE ${grpc_archives}
  absl::base absl::cleanup absl::cord absl::flat_hash_map absl::flat_hash_set absl::hash absl::inlined_vector absl::random_random absl::status
  absl::statusor absl::str_format absl::strings absl::synchronization absl::time absl::variant
  re2::re2 ZLIB::ZLIB Threads::Threads rt)
