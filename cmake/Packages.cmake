# What `make install` puts where, and the packages that are made of it: `make deb`, `make dist`, `make image`.
#
#   bin/dray                        finds lib/dray/libsimdjson.so.* beside itself, wherever the tree is put
#   bin/kubectl-dray                kubectl runs it when somebody says `kubectl dray`; kubectl_complete-dray completes that
#   share/man, share/bash-completion, share/zsh, share/fish
#                                   printed by the binary, which knows its commands
#   lib/systemd/system              five units, none of them started by itself
#   share/doc/dray                  licence, and those of what is linked in

file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/private-libraries")
set_target_properties(dray PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/dray")
install(TARGETS dray RUNTIME DESTINATION bin COMPONENT dray)
install(FILES "$<TARGET_FILE:simdjson::simdjson>" DESTINATION lib/dray COMPONENT dray
        RENAME "$<TARGET_SONAME_FILE_NAME:simdjson::simdjson>")
install(FILES packaging/systemd/dray-up.service packaging/systemd/dray-scheduler.service packaging/systemd/dray-node.service
              packaging/systemd/dray-apiserver.service packaging/systemd/dray-controllers.service
        DESTINATION lib/systemd/system COMPONENT dray)
install(FILES LICENSE DESTINATION share/doc/dray COMPONENT dray)
install(FILES packaging/debian/copyright DESTINATION share/doc/dray COMPONENT dray)

install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(dray \"$<TARGET_FILE:dray>\")
  execute_process(COMMAND \"\${dray}\" man --to \"\${root}/share/man/man1\" COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \"\${root}/share/man/man1/dray*.1\")
  execute_process(COMMAND gzip -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
  foreach(pair bash:bash-completion/completions/dray zsh:zsh/vendor-completions/_dray fish:fish/vendor_completions.d/dray.fish)
    string(REGEX MATCH \"^[a-z]+\" shell \"\${pair}\")
    string(REGEX REPLACE \"^[a-z]+:\" \"\${root}/share/\" file \"\${pair}\")
    execute_process(COMMAND \"\${dray}\" completion \${shell} OUTPUT_VARIABLE script COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE \"\${file}\" \"\${script}\")
  endforeach()
  # The licences of what is linked in are Debian's records of them.
  foreach(package libabsl-dev libfmt-dev libre2-dev libsimdjson-dev libyaml-dev libsqlite3-dev libxxhash-dev libarchive-dev
                  libgrpc++-dev libprotobuf-dev libzstd-dev liblzma-dev libbz2-dev libboost-dev libcli11-dev)
    file(REAL_PATH \"/usr/share/doc/\${package}/copyright\" text)
    if(EXISTS \"\${text}\")
      configure_file(\"\${text}\" \"\${root}/share/doc/dray/third-party/\${package}\" COPYONLY)
    endif()
  endforeach()" COMPONENT dray)

install(CODE "
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin\")
  file(MAKE_DIRECTORY \"\${bin}\")
  file(CREATE_LINK dray \"\${bin}/kubectl-dray\" SYMBOLIC)
  file(WRITE \"\${bin}/kubectl_complete-dray\" \"#!/bin/sh\\n# What kubectl runs to complete 'kubectl dray'.\\nexec dray __complete \\\"\\$@\\\"\\n\")
  file(CHMOD \"\${bin}/kubectl_complete-dray\" PERMISSIONS
       OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)" COMPONENT kubectl)

set(CPACK_PACKAGE_NAME dray)
set(CPACK_PACKAGE_VENDOR dray)
set(CPACK_PACKAGE_CONTACT "dray <dray@example.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Dynamic Resource Allocation for Kubernetes objects")
set(CPACK_COMPONENTS_ALL dray kubectl)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)

# dray-VERSION-linux-amd64.tar.gz: one folder with all of it.
set(CPACK_SYSTEM_NAME "linux-amd64")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_SYSTEM_NAME "linux-arm64")
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# simdjson is in the package, so none of Debian's is needed.
get_target_property(simdjson_file simdjson::simdjson LOCATION)
get_filename_component(simdjson_file "${simdjson_file}" REALPATH)
string(REGEX MATCH "libsimdjson\\.so\\.[0-9]+" simdjson_name "${simdjson_file}")
file(CREATE_LINK "${simdjson_file}" "${CMAKE_BINARY_DIR}/private-libraries/${simdjson_name}" SYMBOLIC)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/private-libraries")
set(CPACK_DEBIAN_DRAY_PACKAGE_NAME dray)
set(CPACK_DEBIAN_DRAY_PACKAGE_SUGGESTS "runc, kubernetes-client")
set(CPACK_COMPONENT_DRAY_DESCRIPTION
    "dray gives devices to the workloads that ask for them, by the rules of\nresource.k8s.io: a control plane for kubectl, a scheduler for a cluster that\nis there, a node agent, DRA drivers, and plans and explanations of all that.")
set(CPACK_DEBIAN_KUBECTL_PACKAGE_NAME kubectl-dray)
set(CPACK_DEBIAN_KUBECTL_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_KUBECTL_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_KUBECTL_PACKAGE_DEPENDS "dray")
set(CPACK_COMPONENT_KUBECTL_DESCRIPTION "With this package `kubectl dray` is the same as `dray`.")
if(DRAY_SYMBOLS)
  include(PackageSymbols)
endif()
include(CPack)
