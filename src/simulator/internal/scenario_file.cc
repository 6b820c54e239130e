// SPDX-License-Identifier: Apache-2.0
#include "simulator/internal/scenario_file.h"

namespace dray::simulator::internal {

using api::Field;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const FileCopies*) {
  using T = FileCopies;
  static const StructInfo info = Struct<T>("Copies", {
                                                         Field<&T::count>("count"),
                                                         Field<&T::made_from>("template"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const FileDriver*) {
  using T = FileDriver;
  static const StructInfo info = Struct<T>("Driver", {
                                                         Field<&T::driver>("driver"),
                                                         Field<&T::counter_sets>("sharedCounters"),
                                                         Field<&T::devices>("devices"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const FileNodeGroup*) {
  using T = FileNodeGroup;
  static const StructInfo info = Struct<T>("NodeGroup", {
                                                            Field<&T::name>("name"),
                                                            Field<&T::count>("count"),
                                                            Field<&T::labels>("labels"),
                                                            Field<&T::allocatable>("allocatable"),
                                                            Field<&T::taints>("taints"),
                                                            Field<&T::drivers>("drivers"),
                                                        });
  return info;
}

const StructInfo& InfoOf(const FileCluster*) {
  using T = FileCluster;
  static const StructInfo info = Struct<T>("Cluster", {
                                                          Field<&T::from>("from"),
                                                          Field<&T::node_groups>("nodeGroups"),
                                                          Field<&T::objects>("objects"),
                                                      });
  return info;
}

const StructInfo& InfoOf(const FileArrival*) {
  using T = FileArrival;
  static const StructInfo info = Struct<T>("Arrival", {
                                                          Field<&T::start>("start"),
                                                          Field<&T::per_second>("perSecond"),
                                                          Field<&T::distribution>("distribution"),
                                                      });
  return info;
}

const StructInfo& InfoOf(const FileLifetime*) {
  using T = FileLifetime;
  static const StructInfo info = Struct<T>("Lifetime", {
                                                           Field<&T::mean>("mean"),
                                                           Field<&T::distribution>("distribution"),
                                                       });
  return info;
}

const StructInfo& InfoOf(const FileWarmUp*) {
  using T = FileWarmUp;
  static const StructInfo info = Struct<T>("WarmUp", {
                                                         Field<&T::device_class>("deviceClass"),
                                                         Field<&T::utilisation>("utilisation"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const FileWorkload*) {
  using T = FileWorkload;
  static const StructInfo info = Struct<T>("Workload", {
                                                           Field<&T::name>("name"),
                                                           Field<&T::namespace_>("namespace"),
                                                           Field<&T::count>("count"),
                                                           Field<&T::made_from>("template"),
                                                           Field<&T::arrival>("arrival"),
                                                           Field<&T::lifetime>("lifetime"),
                                                           Field<&T::warm_up>("warmUp"),
                                                           Field<&T::replace_lost>("replaceLost"),
                                                       });
  return info;
}

const StructInfo& InfoOf(const FileChurn*) {
  using T = FileChurn;
  static const StructInfo info = Struct<T>("Churn", {
                                                        Field<&T::every>("every"),
                                                        Field<&T::distribution>("distribution"),
                                                        Field<&T::node_group>("nodeGroup"),
                                                        Field<&T::driver>("driver"),
                                                        Field<&T::devices>("devices"),
                                                        Field<&T::lasting>("lasting"),
                                                        Field<&T::remove>("remove"),
                                                        Field<&T::taint>("taint"),
                                                        Field<&T::attributes>("attributes"),
                                                    });
  return info;
}

const StructInfo& InfoOf(const FileNodeFailure*) {
  using T = FileNodeFailure;
  static const StructInfo info =
      Struct<T>("NodeFailure", {
                                   Field<&T::every>("every"),
                                   Field<&T::distribution>("distribution"),
                                   Field<&T::node_group>("nodeGroup"),
                                   Field<&T::lasting>("lasting"),
                               });
  return info;
}

const StructInfo& InfoOf(const FileWrites*) {
  using T = FileWrites;
  static const StructInfo info = Struct<T>("Writes", {
                                                         Field<&T::probability>("probability"),
                                                     });
  return info;
}

const StructInfo& InfoOf(const FileFailures*) {
  using T = FileFailures;
  static const StructInfo info = Struct<T>("Failures", {
                                                           Field<&T::nodes>("nodes"),
                                                           Field<&T::writes>("writes"),
                                                       });
  return info;
}

const StructInfo& InfoOf(const FileTraceColumns*) {
  using T = FileTraceColumns;
  static const StructInfo info = Struct<T>("TraceColumns", {
                                                               Field<&T::name>("name"),
                                                               Field<&T::milli_cpu>("milliCPU"),
                                                               Field<&T::memory_mib>("memoryMiB"),
                                                               Field<&T::devices>("devices"),
                                                               Field<&T::share>("share"),
                                                               Field<&T::model>("model"),
                                                               Field<&T::arrival>("arrival"),
                                                               Field<&T::departure>("departure"),
                                                           });
  return info;
}

const StructInfo& InfoOf(const FileTraceTable*) {
  using T = FileTraceTable;
  static const StructInfo info = Struct<T>("TraceTable", {
                                                             Field<&T::file>("file"),
                                                             Field<&T::columns>("columns"),
                                                         });
  return info;
}

const StructInfo& InfoOf(const FileTrace*) {
  using T = FileTrace;
  static const StructInfo info = Struct<T>("Trace", {
                                                        Field<&T::nodes>("nodes"),
                                                        Field<&T::pods>("pods"),
                                                        Field<&T::order>("order"),
                                                        Field<&T::fill>("fill"),
                                                        Field<&T::offered>("offered"),
                                                    });
  return info;
}

const StructInfo& InfoOf(const ScenarioFile*) {
  using T = ScenarioFile;
  static const StructInfo info = Struct<T>("Scenario", {
                                                           Field<&T::api_version>("apiVersion"),
                                                           Field<&T::kind>("kind"),
                                                           Field<&T::title>("title"),
                                                           Field<&T::seed>("seed"),
                                                           Field<&T::duration>("duration"),
                                                           Field<&T::decision_time>("decisionTime"),
                                                           Field<&T::policy>("policy"),
                                                           Field<&T::feature_gates>("featureGates"),
                                                           Field<&T::cluster>("cluster"),
                                                           Field<&T::workloads>("workloads"),
                                                           Field<&T::churn>("churn"),
                                                           Field<&T::failures>("failures"),
                                                           Field<&T::trace>("trace"),
                                                       });
  return info;
}

}  // namespace dray::simulator::internal
