// SPDX-License-Identifier: Apache-2.0
#include "cdi/spec.h"

#include <algorithm>

#include "api/document.h"
#include "api/json.h"
#include "cdi/names.h"
#include "fmt/format.h"

namespace dray::cdi {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const DeviceNode*) {
  using T = DeviceNode;
  static const StructInfo info =
      Struct<T>("DeviceNode", {
                                  Field<&T::path>("path", {.presence = Presence::kAlways}),
                                  Field<&T::host_path>("hostPath"),
                                  Field<&T::type>("type"),
                                  Field<&T::major>("major"),
                                  Field<&T::minor>("minor"),
                                  Field<&T::file_mode>("fileMode"),
                                  Field<&T::permissions>("permissions"),
                                  Field<&T::uid>("uid"),
                                  Field<&T::gid>("gid"),
                              });
  return info;
}

const StructInfo& InfoOf(const NetDevice*) {
  using T = NetDevice;
  static const StructInfo info = Struct<T>(
      "NetDevice",
      {
          Field<&T::host_interface_name>("hostInterfaceName", {.presence = Presence::kAlways}),
          Field<&T::name>("name", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const Mount*) {
  using T = Mount;
  static const StructInfo info = Struct<T>(
      "Mount", {
                   Field<&T::host_path>("hostPath", {.presence = Presence::kAlways}),
                   Field<&T::container_path>("containerPath", {.presence = Presence::kAlways}),
                   Field<&T::options>("options"),
                   Field<&T::type>("type"),
               });
  return info;
}

const StructInfo& InfoOf(const Hook*) {
  using T = Hook;
  static const StructInfo info =
      Struct<T>("Hook", {
                            Field<&T::hook_name>("hookName", {.presence = Presence::kAlways}),
                            Field<&T::path>("path", {.presence = Presence::kAlways}),
                            Field<&T::args>("args"),
                            Field<&T::env>("env"),
                            Field<&T::timeout>("timeout"),
                        });
  return info;
}

const StructInfo& InfoOf(const ContainerEdits*) {
  using T = ContainerEdits;
  static const StructInfo info =
      Struct<T>("ContainerEdits", {
                                      Field<&T::env>("env"),
                                      Field<&T::device_nodes>("deviceNodes"),
                                      Field<&T::net_devices>("netDevices"),
                                      Field<&T::hooks>("hooks"),
                                      Field<&T::mounts>("mounts"),
                                      Field<&T::intel_rdt>("intelRdt"),
                                      Field<&T::additional_gids>("additionalGids"),
                                  });
  return info;
}

const StructInfo& InfoOf(const Device*) {
  using T = Device;
  static const StructInfo info = Struct<T>(
      "Device", {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::annotations>("annotations"),
                    Field<&T::container_edits>("containerEdits", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const Spec*) {
  using T = Spec;
  static const StructInfo info =
      Struct<T>("Spec", {
                            Field<&T::cdi_version>("cdiVersion", {.presence = Presence::kAlways}),
                            Field<&T::kind>("kind", {.presence = Presence::kAlways}),
                            Field<&T::annotations>("annotations"),
                            Field<&T::devices>("devices", {.presence = Presence::kAlways}),
                            Field<&T::container_edits>("containerEdits"),
                        });
  return info;
}

bool ContainerEdits::empty() const { return *this == ContainerEdits(); }

void ContainerEdits::Append(const ContainerEdits& more) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(env, more.env);
  append(device_nodes, more.device_nodes);
  append(net_devices, more.net_devices);
  append(hooks, more.hooks);
  append(mounts, more.mounts);
  append(additional_gids, more.additional_gids);
  if (more.intel_rdt.has_value()) intel_rdt = more.intel_rdt;
}

namespace {

// Versions that first had something, and whether the spec has it.
bool Uses(const Spec& spec, bool (*edits)(const ContainerEdits&)) {
  return edits(spec.container_edits) ||
         std::ranges::any_of(spec.devices,
                             [&](const Device& device) { return edits(device.container_edits); });
}

bool Needs110(const Spec& spec) {
  return Uses(spec, [](const ContainerEdits& edits) {
    return !edits.net_devices.empty() ||
           (edits.intel_rdt.has_value() &&
            (!edits.intel_rdt->schemata.empty() || edits.intel_rdt->enable_monitoring));
  });
}

bool Needs070(const Spec& spec) {
  return Uses(spec, [](const ContainerEdits& edits) {
    return !edits.additional_gids.empty() || edits.intel_rdt.has_value();
  });
}

bool Needs060(const Spec& spec) {
  const std::size_t slash = spec.kind.find('/');
  return !spec.annotations.empty() ||
         (slash != std::string::npos && spec.kind.find('.', slash) != std::string::npos) ||
         std::ranges::any_of(spec.devices,
                             [](const Device& device) { return !device.annotations.empty(); });
}

bool Needs050(const Spec& spec) {
  return Uses(spec,
              [](const ContainerEdits& edits) {
                return std::ranges::any_of(edits.device_nodes, [](const DeviceNode& node) {
                  return !node.host_path.empty();
                });
              }) ||
         std::ranges::any_of(spec.devices, [](const Device& device) {
           return !device.name.empty() && device.name.front() >= '0' && device.name.front() <= '9';
         });
}

bool Needs040(const Spec& spec) {
  return Uses(spec, [](const ContainerEdits& edits) {
    return std::ranges::any_of(edits.mounts,
                               [](const Mount& mount) { return !mount.type.empty(); });
  });
}

// Of many faults the first are enough to see what kind of file it is.
constexpr std::size_t kFaultsTold = 5;

template <typename Faults, typename Text>
Status Faulty(const Faults& faults, Text text) {
  std::string told;
  for (std::size_t i = 0; i < faults.size() && i < kFaultsTold; ++i) {
    if (i != 0) told += "; ";
    told += text(faults[i]);
  }
  if (faults.size() > kFaultsTold) {
    told += fmt::format("; and {} more", faults.size() - kFaultsTold);
  }
  return base::InvalidArgument(told);
}

}  // namespace

std::string_view LowestVersion(const Spec& spec) {
  if (Needs110(spec)) return "1.1.0";
  if (Needs070(spec)) return "0.7.0";
  if (Needs060(spec)) return "0.6.0";
  if (Needs050(spec)) return "0.5.0";
  if (Needs040(spec)) return "0.4.0";
  return "0.3.0";
}

StatusOr<Spec> ReadSpec(std::string_view text) {
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<api::DocumentNode> documents = api::ParseYaml(text, diagnostics);
  if (diagnostics.empty() && documents.size() != 1) {
    return base::InvalidArgument(
        fmt::format("a file holds one CDI spec, this one has {} documents", documents.size()));
  }
  Spec spec;
  if (diagnostics.empty()) {
    api::DecodeNode(documents.front(), api::TypeInfoOf<Spec>(), &spec, api::Severity::kError,
                    diagnostics);
  }
  if (!diagnostics.empty()) {
    return Faulty(diagnostics, [](const api::Diagnostic& d) { return api::ToString(d); });
  }
  if (const api::ErrorList errors = Validate(spec); !errors.empty()) {
    return Faulty(errors, [](const api::FieldError& error) { return error.Message(); });
  }
  return spec;
}

StatusOr<std::string> WriteSpec(const Spec& spec) {
  Spec written = spec;
  written.cdi_version = LowestVersion(spec);
  if (const api::ErrorList errors = Validate(written); !errors.empty()) {
    return Faulty(errors, [](const api::FieldError& error) { return error.Message(); });
  }
  return api::IndentJson(api::EncodeJson(written), 2) + "\n";
}

}  // namespace dray::cdi
