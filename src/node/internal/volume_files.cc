// SPDX-License-Identifier: Apache-2.0
#include "node/internal/volume_files.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/field_table.h"
#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

constexpr unsigned kDefaultMode = 0644;
constexpr std::int64_t kDefaultTokenSeconds = 3600;

struct DownwardItem {
  std::string path;
  api::Box<api::ObjectFieldSelector> field;
  api::Box<api::ResourceFieldSelector> resource;
  std::optional<std::int32_t> mode;
};
struct DownwardSource {
  std::vector<DownwardItem> items;
  std::optional<std::int32_t> default_mode;
};
struct KeptSource {
  std::string name;
  std::vector<api::KeyToPath> items;
  std::optional<bool> optional;
};
struct TokenSource {
  std::string audience;
  std::optional<std::int64_t> expiration_seconds;
  std::string path;
};
struct ProjectedPart {
  api::Box<KeptSource> secret;
  api::Box<DownwardSource> downward;
  api::Box<KeptSource> config_map;
  api::Box<TokenSource> token;
  api::Box<api::RawJson> trust_bundle;
  api::Box<api::RawJson> certificate;
};
struct ProjectedSource {
  std::vector<ProjectedPart> sources;
  std::optional<std::int32_t> default_mode;
};

const api::StructInfo& InfoOf(const DownwardItem*) {
  static const api::StructInfo info = api::Struct<DownwardItem>(
      "DownwardAPIVolumeFile",
      {api::Field<&DownwardItem::path>("path"), api::Field<&DownwardItem::field>("fieldRef"),
       api::Field<&DownwardItem::resource>("resourceFieldRef"),
       api::Field<&DownwardItem::mode>("mode")});
  return info;
}
const api::StructInfo& InfoOf(const DownwardSource*) {
  static const api::StructInfo info = api::Struct<DownwardSource>(
      "DownwardAPIVolumeSource", {api::Field<&DownwardSource::items>("items"),
                                  api::Field<&DownwardSource::default_mode>("defaultMode")});
  return info;
}
const api::StructInfo& InfoOf(const KeptSource*) {
  static const api::StructInfo info = api::Struct<KeptSource>(
      "Projection", {api::Field<&KeptSource::name>("name"), api::Field<&KeptSource::items>("items"),
                     api::Field<&KeptSource::optional>("optional")});
  return info;
}
const api::StructInfo& InfoOf(const TokenSource*) {
  static const api::StructInfo info =
      api::Struct<TokenSource>("ServiceAccountTokenProjection",
                               {api::Field<&TokenSource::audience>("audience"),
                                api::Field<&TokenSource::expiration_seconds>("expirationSeconds"),
                                api::Field<&TokenSource::path>("path")});
  return info;
}
const api::StructInfo& InfoOf(const ProjectedPart*) {
  static const api::StructInfo info = api::Struct<ProjectedPart>(
      "VolumeProjection", {api::Field<&ProjectedPart::secret>("secret"),
                           api::Field<&ProjectedPart::downward>("downwardAPI"),
                           api::Field<&ProjectedPart::config_map>("configMap"),
                           api::Field<&ProjectedPart::token>("serviceAccountToken"),
                           api::Field<&ProjectedPart::trust_bundle>("clusterTrustBundle"),
                           api::Field<&ProjectedPart::certificate>("podCertificate")});
  return info;
}
const api::StructInfo& InfoOf(const ProjectedSource*) {
  static const api::StructInfo info = api::Struct<ProjectedSource>(
      "ProjectedVolumeSource", {api::Field<&ProjectedSource::sources>("sources"),
                                api::Field<&ProjectedSource::default_mode>("defaultMode")});
  return info;
}

unsigned ModeOf(const std::optional<std::int32_t>& own, const std::optional<std::int32_t>& whole) {
  const std::int32_t mode = own.value_or(whole.value_or(static_cast<std::int32_t>(kDefaultMode)));
  return static_cast<unsigned>(mode) & 0777u;
}

// What several steps need.
struct Making {
  const VolumeWork& work;
  Sources& sources;
  const std::string& current;
  VolumesMade& made;
  VolumeFiles out;
};

Status AddKept(Making& making, bool secret, const KeptSource& source,
               std::optional<std::int32_t> default_mode) {
  const std::string_view kind = secret ? "secret" : "configmap";
  const std::string& namespace_ = making.work.pod.metadata.namespace_;
  const bool optional = source.optional.value_or(false);
  auto found = secret ? making.sources.Secret(namespace_, source.name)
                      : making.sources.ConfigMap(namespace_, source.name);
  if (!found.ok()) {
    return base::Annotate(found.status(),
                          fmt::format("{} \"{}/{}\"", kind, namespace_, source.name));
  }
  making.out.secret = making.out.secret || secret;
  if (!found->has_value()) {
    making.out.changes = true;
    if (optional) return {};
    return base::FailedPrecondition(
        fmt::format("{} \"{}/{}\" not found", kind, namespace_, source.name));
  }
  const Kept& kept = **found;
  making.out.changes = making.out.changes || !kept.immutable;
  if (source.items.empty()) {
    for (const auto& [key, bytes] : kept.data) {
      making.out.files[key] = {.bytes = bytes, .mode = ModeOf({}, default_mode)};
    }
    return {};
  }
  for (const api::KeyToPath& item : source.items) {
    const auto value = kept.data.find(item.key);
    if (value == kept.data.end()) {
      if (optional) continue;
      return base::FailedPrecondition(
          fmt::format("{} \"{}/{}\" has no key \"{}\"", kind, namespace_, source.name, item.key));
    }
    making.out.files[item.path] = {.bytes = value->second, .mode = ModeOf(item.mode, default_mode)};
  }
  return {};
}

Status AddDownward(Making& making, const DownwardSource& source,
                   std::optional<std::int32_t> default_mode) {
  for (const DownwardItem& item : source.items) {
    std::string text;
    if (item.field) {
      DRAY_ASSIGN_OR_RETURN(
          text, DownwardField(making.work.pod, item.field->field_path, making.work.facts));
    } else if (item.resource) {
      DRAY_ASSIGN_OR_RETURN(
          text, DownwardResource(making.work.pod, nullptr, *item.resource, making.work.facts));
    } else {
      return base::InvalidArgument(
          fmt::format("\"{}\" needs one of fieldRef and resourceFieldRef", item.path));
    }
    making.out.files[item.path] = {.bytes = std::move(text),
                                   .mode = ModeOf(item.mode, default_mode)};
  }
  // Labels and annotations may.
  making.out.changes = true;
  return {};
}

// A token is renewed when 80 % of its life are over, or a day is.
Status AddToken(Making& making, const std::string& volume, const TokenSource& source,
                std::optional<std::int32_t> default_mode) {
  making.out.secret = making.out.changes = true;
  const std::string key = fmt::format("{}/{}", volume, source.path);
  const unsigned mode = ModeOf({}, default_mode);
  if (const auto due = making.work.tokens.find(key);
      due != making.work.tokens.end() && making.work.now < due->second) {
    const auto before = files::ReadWholeBelow(making.current, source.path);
    if (before.ok() && !before->empty()) {
      making.made.tokens[key] = due->second;
      making.out.files[source.path] = {.bytes = *before, .mode = mode};
      return {};
    }
  }
  const api::Pod& pod = making.work.pod;
  const std::string account =
      pod.spec.service_account_name.empty() ? "default" : pod.spec.service_account_name;
  const auto token = making.sources.MakeToken(
      {.namespace_ = pod.metadata.namespace_,
       .account = account,
       .audience = source.audience,
       .lasts = std::chrono::seconds(source.expiration_seconds.value_or(kDefaultTokenSeconds)),
       .pod = pod.metadata.name,
       .pod_uid = pod.metadata.uid});
  if (!token.ok()) {
    return base::Annotate(token.status(),
                          fmt::format("failed to fetch token for service account \"{}\"", account));
  }
  const auto life =
      std::chrono::duration_cast<std::chrono::seconds>(token->expires - making.work.now);
  making.made.tokens[key] =
      making.work.now + std::min<std::chrono::seconds>(life * 4 / 5, std::chrono::hours(24));
  making.out.files[source.path] = {.bytes = token->text, .mode = mode};
  return {};
}

Status AddProjected(Making& making, const std::string& volume, const ProjectedSource& source) {
  for (const ProjectedPart& part : source.sources) {
    if (part.secret) {
      DRAY_RETURN_IF_ERROR(AddKept(making, true, *part.secret, source.default_mode));
    } else if (part.config_map) {
      DRAY_RETURN_IF_ERROR(AddKept(making, false, *part.config_map, source.default_mode));
    } else if (part.downward) {
      DRAY_RETURN_IF_ERROR(AddDownward(making, *part.downward, source.default_mode));
    } else if (part.token) {
      DRAY_RETURN_IF_ERROR(AddToken(making, volume, *part.token, source.default_mode));
    } else {
      return base::FailedPrecondition(fmt::format(
          "projected.sources: {} is not supported by this node agent, only secret, configMap, "
          "downwardAPI and serviceAccountToken",
          part.trust_bundle ? "clusterTrustBundle"
                            : (part.certificate ? "podCertificate" : "this kind of source")));
    }
  }
  return {};
}

template <typename T>
StatusOr<T> Read(const api::RawJson& json) {
  api::JsonDecoder decoder;
  return decoder.Decode<T>(json.text);
}

}  // namespace

bool HasFiles(const api::Volume& volume) {
  return volume.config_map || volume.secret || volume.downward_api || volume.projected;
}

StatusOr<VolumeFiles> FilesOf(const VolumeWork& work, const api::Volume& volume, Sources& sources,
                              const std::string& current, VolumesMade& made) {
  Making making{.work = work, .sources = sources, .current = current, .made = made, .out = {}};
  if (volume.config_map) {
    const auto& source = *volume.config_map;
    DRAY_RETURN_IF_ERROR(AddKept(
        making, false, {.name = source.name, .items = source.items, .optional = source.optional},
        source.default_mode));
  } else if (volume.secret) {
    const auto& source = *volume.secret;
    DRAY_RETURN_IF_ERROR(
        AddKept(making, true,
                {.name = source.secret_name, .items = source.items, .optional = source.optional},
                source.default_mode));
  } else if (volume.downward_api) {
    DRAY_ASSIGN_OR_RETURN(const auto source, Read<DownwardSource>(*volume.downward_api));
    DRAY_RETURN_IF_ERROR(AddDownward(making, source, source.default_mode));
  } else if (volume.projected) {
    DRAY_ASSIGN_OR_RETURN(const auto source, Read<ProjectedSource>(*volume.projected));
    DRAY_RETURN_IF_ERROR(AddProjected(making, volume.name, source));
  }
  return std::move(making.out);
}

}  // namespace dray::node
