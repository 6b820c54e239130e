// SPDX-License-Identifier: Apache-2.0
#include "cdi/oci_config.h"

namespace dray::cdi::oci {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

namespace {

constexpr api::FieldOptions kAlways = {.presence = Presence::kAlways};

}  // namespace

const StructInfo& InfoOf(const User*) {
  using T = User;
  static const StructInfo info = Struct<T>("User", {
                                                       Field<&T::uid>("uid", kAlways),
                                                       Field<&T::gid>("gid", kAlways),
                                                       Field<&T::umask>("umask"),
                                                       Field<&T::additional_gids>("additionalGids"),
                                                   });
  return info;
}

const StructInfo& InfoOf(const Capabilities*) {
  using T = Capabilities;
  static const StructInfo info =
      Struct<T>("Capabilities", {
                                    Field<&T::bounding>("bounding"),
                                    Field<&T::effective>("effective"),
                                    Field<&T::inheritable>("inheritable"),
                                    Field<&T::permitted>("permitted"),
                                    Field<&T::ambient>("ambient"),
                                });
  return info;
}

const StructInfo& InfoOf(const Process*) {
  using T = Process;
  static const StructInfo info =
      Struct<T>("Process", {
                               Field<&T::terminal>("terminal"),
                               Field<&T::user>("user", kAlways),
                               Field<&T::args>("args"),
                               Field<&T::env>("env"),
                               Field<&T::cwd>("cwd", kAlways),
                               Field<&T::capabilities>("capabilities"),
                               Field<&T::no_new_privileges>("noNewPrivileges"),
                               Field<&T::oom_score_adj>("oomScoreAdj"),
                               Field<&T::apparmor_profile>("apparmorProfile"),
                           });
  return info;
}

const StructInfo& InfoOf(const Root*) {
  using T = Root;
  static const StructInfo info = Struct<T>("Root", {
                                                       Field<&T::path>("path", kAlways),
                                                       Field<&T::readonly>("readonly"),
                                                   });
  return info;
}

const StructInfo& InfoOf(const Mount*) {
  using T = Mount;
  static const StructInfo info =
      Struct<T>("Mount", {
                             Field<&T::destination>("destination", kAlways),
                             Field<&T::type>("type"),
                             Field<&T::source>("source"),
                             Field<&T::options>("options"),
                         });
  return info;
}

const StructInfo& InfoOf(const Hook*) {
  using T = Hook;
  static const StructInfo info = Struct<T>("Hook", {
                                                       Field<&T::path>("path", kAlways),
                                                       Field<&T::args>("args"),
                                                       Field<&T::env>("env"),
                                                       Field<&T::timeout>("timeout"),
                                                   });
  return info;
}

const StructInfo& InfoOf(const Hooks*) {
  using T = Hooks;
  static const StructInfo info =
      Struct<T>("Hooks", {
                             Field<&T::prestart>("prestart"),
                             Field<&T::create_runtime>("createRuntime"),
                             Field<&T::create_container>("createContainer"),
                             Field<&T::start_container>("startContainer"),
                             Field<&T::poststart>("poststart"),
                             Field<&T::poststop>("poststop"),
                         });
  return info;
}

const StructInfo& InfoOf(const Namespace*) {
  using T = Namespace;
  static const StructInfo info = Struct<T>("Namespace", {
                                                            Field<&T::type>("type", kAlways),
                                                            Field<&T::path>("path"),
                                                        });
  return info;
}

const StructInfo& InfoOf(const Device*) {
  using T = Device;
  static const StructInfo info = Struct<T>("Device", {
                                                         Field<&T::path>("path", kAlways),
                                                         Field<&T::type>("type", kAlways),
                                                         Field<&T::major>("major", kAlways),
                                                         Field<&T::minor>("minor", kAlways),
                                                         Field<&T::file_mode>("fileMode"),
                                                         Field<&T::uid>("uid"),
                                                         Field<&T::gid>("gid"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const DeviceRule*) {
  using T = DeviceRule;
  static const StructInfo info = Struct<T>("DeviceRule", {
                                                             Field<&T::allow>("allow", kAlways),
                                                             Field<&T::type>("type"),
                                                             Field<&T::major>("major"),
                                                             Field<&T::minor>("minor"),
                                                             Field<&T::access>("access"),
                                                         });
  return info;
}

const StructInfo& InfoOf(const Memory*) {
  using T = Memory;
  static const StructInfo info = Struct<T>("Memory", {Field<&T::limit>("limit")});
  return info;
}

const StructInfo& InfoOf(const Cpu*) {
  using T = Cpu;
  static const StructInfo info = Struct<T>("Cpu", {
                                                      Field<&T::shares>("shares"),
                                                      Field<&T::quota>("quota"),
                                                      Field<&T::period>("period"),
                                                  });
  return info;
}

const StructInfo& InfoOf(const Pids*) {
  using T = Pids;
  static const StructInfo info = Struct<T>("Pids", {Field<&T::limit>("limit", kAlways)});
  return info;
}

const StructInfo& InfoOf(const Resources*) {
  using T = Resources;
  static const StructInfo info = Struct<T>("Resources", {
                                                            Field<&T::devices>("devices"),
                                                            Field<&T::memory>("memory"),
                                                            Field<&T::cpu>("cpu"),
                                                            Field<&T::pids>("pids"),
                                                        });
  return info;
}

const StructInfo& InfoOf(const NetDevice*) {
  using T = NetDevice;
  static const StructInfo info = Struct<T>("NetDevice", {Field<&T::name>("name")});
  return info;
}

const StructInfo& InfoOf(const IntelRdt*) {
  using T = IntelRdt;
  static const StructInfo info =
      Struct<T>("IntelRdt", {
                                Field<&T::clos_id>("closID"),
                                Field<&T::l3_cache_schema>("l3CacheSchema"),
                                Field<&T::mem_bw_schema>("memBwSchema"),
                                Field<&T::schemata>("schemata"),
                                Field<&T::enable_monitoring>("enableMonitoring"),
                            });
  return info;
}

const StructInfo& InfoOf(const Linux*) {
  using T = Linux;
  static const StructInfo info =
      Struct<T>("Linux", {
                             Field<&T::sysctl>("sysctl"),
                             Field<&T::resources>("resources"),
                             Field<&T::cgroups_path>("cgroupsPath"),
                             Field<&T::namespaces>("namespaces"),
                             Field<&T::devices>("devices"),
                             Field<&T::net_devices>("netDevices"),
                             Field<&T::masked_paths>("maskedPaths"),
                             Field<&T::readonly_paths>("readonlyPaths"),
                             Field<&T::intel_rdt>("intelRdt"),
                             Field<&T::rootfs_propagation>("rootfsPropagation"),
                             Field<&T::seccomp>("seccomp"),
                         });
  return info;
}

const StructInfo& InfoOf(const Config*) {
  using T = Config;
  static const StructInfo info =
      Struct<T>("Config", {
                              Field<&T::oci_version>("ociVersion", kAlways),
                              Field<&T::process>("process", kAlways),
                              Field<&T::root>("root", kAlways),
                              Field<&T::hostname>("hostname"),
                              Field<&T::mounts>("mounts"),
                              Field<&T::hooks>("hooks"),
                              Field<&T::annotations>("annotations"),
                              Field<&T::linux_>("linux", kAlways),
                          });
  return info;
}

}  // namespace dray::cdi::oci
