// SPDX-License-Identifier: Apache-2.0
//
// The scenario file as it is written. What templates are is looked up in the document itself, which
// knows lines and columns; here they are only known to be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/field_table.h"
#include "api/map.h"
#include "api/node.h"
#include "api/resource_slice.h"
#include "api/values.h"

namespace dray::simulator::internal {

struct FileCopies {
  std::optional<std::int64_t> count;
  api::RawJson made_from;  // template
  api::UnknownFields unknown;
};
struct FileDriver {
  std::string driver;
  std::vector<FileCopies> counter_sets;
  std::vector<FileCopies> devices;
  api::UnknownFields unknown;
};
struct FileNodeGroup {
  std::string name;
  std::optional<std::int64_t> count;
  api::RawJson labels;
  api::RawJson allocatable;
  std::vector<api::Taint> taints;
  std::vector<FileDriver> drivers;
  api::UnknownFields unknown;
};
struct FileCluster {
  std::string from;
  std::vector<FileNodeGroup> node_groups;
  std::vector<FileCopies> objects;
  api::UnknownFields unknown;
};
struct FileArrival {
  std::string start;
  std::optional<double> per_second;
  std::string distribution;
  api::UnknownFields unknown;
};
struct FileLifetime {
  std::string mean;
  std::string distribution;
  api::UnknownFields unknown;
};
struct FileWarmUp {
  std::string device_class;
  std::optional<double> utilisation;
  api::UnknownFields unknown;
};
struct FileWorkload {
  std::string name;
  std::string namespace_;
  std::optional<std::int64_t> count;
  api::RawJson made_from;  // template
  std::optional<FileArrival> arrival;
  std::optional<FileLifetime> lifetime;
  std::optional<FileWarmUp> warm_up;
  std::optional<bool> replace_lost;
  api::UnknownFields unknown;
};
struct FileChurn {
  std::string every;
  std::string distribution;
  std::string node_group;
  std::string driver;
  std::optional<std::int64_t> devices;
  std::string lasting;
  std::optional<bool> remove;
  std::optional<api::DeviceTaint> taint;
  api::Map<api::DeviceAttribute> attributes;
  api::UnknownFields unknown;
};
struct FileNodeFailure {
  std::string every;
  std::string distribution;
  std::string node_group;
  std::string lasting;
  api::UnknownFields unknown;
};
struct FileWrites {
  std::optional<double> probability;
  api::UnknownFields unknown;
};
struct FileFailures {
  std::vector<FileNodeFailure> nodes;
  std::optional<FileWrites> writes;
  api::UnknownFields unknown;
};
struct FileTraceColumns {
  std::string name;
  std::string milli_cpu;
  std::string memory_mib;
  std::string devices;
  std::string share;
  std::string model;
  std::string arrival;
  std::string departure;
  api::UnknownFields unknown;
};
struct FileTraceTable {
  std::string file;
  FileTraceColumns columns;
  api::UnknownFields unknown;
};
struct FileTrace {
  FileTraceTable nodes;
  FileTraceTable pods;
  std::string order;
  std::optional<double> fill;
  std::optional<double> offered;
  api::UnknownFields unknown;
};
struct ScenarioFile {
  std::string api_version;
  std::string kind;
  std::string title;
  std::optional<std::int64_t> seed;
  std::string duration;
  std::string decision_time;
  std::string policy;
  api::Map<bool> feature_gates;
  FileCluster cluster;
  std::vector<FileWorkload> workloads;
  std::vector<FileChurn> churn;
  std::optional<FileFailures> failures;
  std::optional<FileTrace> trace;
  api::UnknownFields unknown;
};

const api::StructInfo& InfoOf(const FileTraceColumns*);
const api::StructInfo& InfoOf(const FileTraceTable*);
const api::StructInfo& InfoOf(const FileTrace*);
const api::StructInfo& InfoOf(const FileCopies*);
const api::StructInfo& InfoOf(const FileDriver*);
const api::StructInfo& InfoOf(const FileNodeGroup*);
const api::StructInfo& InfoOf(const FileCluster*);
const api::StructInfo& InfoOf(const FileArrival*);
const api::StructInfo& InfoOf(const FileLifetime*);
const api::StructInfo& InfoOf(const FileWarmUp*);
const api::StructInfo& InfoOf(const FileWorkload*);
const api::StructInfo& InfoOf(const FileChurn*);
const api::StructInfo& InfoOf(const FileNodeFailure*);
const api::StructInfo& InfoOf(const FileWrites*);
const api::StructInfo& InfoOf(const FileFailures*);
const api::StructInfo& InfoOf(const ScenarioFile*);

}  // namespace dray::simulator::internal
