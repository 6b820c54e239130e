// SPDX-License-Identifier: Apache-2.0
#include "registry/negotiation.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "rest/api_error.h"
#include "rest/protobuf.h"

namespace dray::registry {
namespace {

constexpr std::string_view kBodies =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kPatches =
    "application/json-patch+json, application/merge-patch+json, "
    "application/strategic-merge-patch+json, application/apply-patch+yaml";
constexpr std::string_view kAnswers =
    "application/json, application/yaml, application/json;stream=watch";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(Trimmed(text.substr(0, end)));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::optional<Format> FormatOf(std::string_view range) {
  const std::vector<std::string_view> parts = Split(range, ';');
  const std::string type = Lower(parts.front());
  Format format;
  if (type == "application/yaml") {
    format.yaml = true;
  } else if (type != "application/json" && type != "*/*" && type != "application/*") {
    return std::nullopt;
  }
  std::string_view as;
  std::string_view version;
  for (const std::string_view part : parts) {
    if (part.starts_with("as=")) as = part.substr(3);
    if (part.starts_with("v=")) version = part.substr(2);
  }
  if (as.empty()) return format;
  if (as == "Table" && version != "v1") return std::nullopt;
  if (as == "Table") {
    format.shape = Shape::kTable;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    format.shape = Shape::kPartialMetadata;
    format.list = as == "PartialObjectMetadataList";
  } else if (as == "APIGroupDiscoveryList" && version == "v2") {
    format.shape = Shape::kDiscovery;
  } else {
    return std::nullopt;
  }
  return format;
}

}  // namespace

StatusOr<Format> ParseAccept(std::string_view accept) {
  if (Trimmed(accept).empty()) return Format{};
  for (const std::string_view range : Split(accept, ',')) {
    if (const auto format = FormatOf(range)) return *format;
  }
  return rest::NotAcceptable(kAnswers);
}

Status CheckShape(const Format& format, std::string_view verb) {
  if (format.shape != Shape::kPartialMetadata || verb == "watch") return {};
  const bool list = verb == "list" || verb == "deletecollection";
  if (list == format.list) return {};
  return rest::ToStatus(
      {.code = 406,
       .reason = "NotAcceptable",
       .message = list ? "you requested PartialObjectMetadata, but the requested object is a list"
                       : "you requested PartialObjectMetadataList, but the requested object is not "
                         "a list"});
}

std::string MediaType(std::string_view content_type) {
  return Lower(Trimmed(content_type.substr(0, content_type.find(';'))));
}

StatusOr<rest::BodyFormat> BodyFormatOf(std::string_view content_type) {
  const std::string type = MediaType(content_type);
  if (type.empty() || type == "application/json" || type == "*/*") return rest::BodyFormat::kJson;
  if (type == "application/yaml") return rest::BodyFormat::kYaml;
  if (type == rest::kProtobufMediaType) return rest::BodyFormat::kProtobuf;
  return rest::UnsupportedMediaType(kBodies);
}

StatusOr<PatchKind> PatchKindOf(std::string_view content_type) {
  const std::string type = MediaType(content_type);
  if (type == "application/json-patch+json") return PatchKind::kJson;
  if (type == "application/merge-patch+json") return PatchKind::kMerge;
  if (type == "application/strategic-merge-patch+json") return PatchKind::kStrategic;
  if (type == "application/apply-patch+yaml") return PatchKind::kApply;
  return rest::UnsupportedMediaType(kPatches);
}

}  // namespace dray::registry
