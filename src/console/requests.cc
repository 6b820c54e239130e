// SPDX-License-Identifier: Apache-2.0
#include "console/requests.h"

#include <charconv>

#include "api/document.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

using api::DocumentNode;
using Kind = DocumentNode::Kind;

Status Bad(std::string_view field, std::string_view what) {
  return base::InvalidArgument(fmt::format("{}: {}", field, what));
}

StatusOr<DocumentNode> MapIn(std::string_view body) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode node = api::ParseJson(body, diagnostics);
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == api::Severity::kError) {
      return base::InvalidArgument(fmt::format("the body is not valid JSON: {}:{}: {}",
                                               diagnostic.position.line, diagnostic.position.column,
                                               diagnostic.message));
    }
  }
  if (node.kind != Kind::kMap) return base::InvalidArgument("the body must be a JSON object");
  return node;
}

// Null: it is not there, or null.
const DocumentNode* FieldOf(const DocumentNode& map, std::string_view key) {
  const api::Member* member = map.Find(key);
  return member == nullptr || member->value.kind == Kind::kNull ? nullptr : &member->value;
}

Status ReadText(const DocumentNode& map, std::string_view key, std::size_t most, std::string& out) {
  const DocumentNode* node = FieldOf(map, key);
  if (node == nullptr) return {};
  if (node->kind != Kind::kString) return Bad(key, "must be a string");
  if (node->text.size() > most) {
    return Bad(key, fmt::format("must have at most {} bytes", most));
  }
  out = node->text;
  return {};
}

Status ReadBool(const DocumentNode& map, std::string_view key, bool& out) {
  const DocumentNode* node = FieldOf(map, key);
  if (node == nullptr) return {};
  if (node->kind != Kind::kBool) return Bad(key, "must be true or false");
  out = node->boolean;
  return {};
}

StatusOr<std::int64_t> NumberIn(const DocumentNode& node, std::string_view key, std::int64_t least,
                                std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [rest, error] = std::from_chars(node.text.data(), end, value);
  if (node.kind != Kind::kNumber || error != std::errc() || rest != end || value < least ||
      value > most) {
    return Bad(key, fmt::format("must be a whole number from {} to {}", least, most));
  }
  return value;
}

StatusOr<ObjectName> NameIn(std::string_view text, std::string_view key) {
  constexpr std::size_t kLongest = 600;
  const auto first = text.find('/');
  const auto second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (text.size() > kLongest || second == std::string_view::npos || first == 0 ||
      second + 1 == text.size() || text.find('/', second + 1) != std::string_view::npos) {
    return Bad(key, fmt::format("\"{}\" must be KIND/NAMESPACE/NAME, as in pod/default/web-0",
                                text.substr(0, kLongest)));
  }
  return ObjectName{std::string(text.substr(0, first)),
                    std::string(text.substr(first + 1, second - first - 1)),
                    std::string(text.substr(second + 1))};
}

constexpr std::size_t kShort = 253;

}  // namespace

StatusOr<PlanRequest> ReadPlanRequest(std::string_view body) {
  DRAY_ASSIGN_OR_RETURN(const DocumentNode map, MapIn(body));
  PlanRequest request;
  DRAY_RETURN_IF_ERROR(ReadText(map, "manifests", kMostManifestBytes, request.manifests));
  DRAY_RETURN_IF_ERROR(ReadText(map, "policy", kShort, request.policy));
  DRAY_RETURN_IF_ERROR(ReadBool(map, "explain", request.explain));
  if (const DocumentNode* gone = FieldOf(map, "delete")) {
    if (gone->kind != Kind::kList || gone->items.size() > kMostChanges) {
      return Bad("delete", fmt::format("must be a list of at most {} names", kMostChanges));
    }
    for (const DocumentNode& item : gone->items) {
      if (item.kind != Kind::kString) return Bad("delete", "must have strings");
      DRAY_ASSIGN_OR_RETURN(ObjectName name, NameIn(item.text, "delete"));
      request.gone.push_back(std::move(name));
    }
  }
  if (const DocumentNode* scale = FieldOf(map, "scale")) {
    if (scale->kind != Kind::kMap || scale->members.size() > kMostChanges) {
      return Bad("scale", fmt::format("must be an object of at most {} members", kMostChanges));
    }
    for (const api::Member& member : scale->members) {
      DRAY_ASSIGN_OR_RETURN(ObjectName name, NameIn(member.key, "scale"));
      DRAY_ASSIGN_OR_RETURN(const std::int64_t count,
                            NumberIn(member.value, "scale", 0, kMostReplicas));
      request.scale.emplace_back(std::move(name), count);
    }
  }
  if (const DocumentNode* nodes = FieldOf(map, "nodes")) {
    if (nodes->kind != Kind::kList || nodes->items.size() > kMostChanges) {
      return Bad("nodes", fmt::format("must be a list of at most {} objects", kMostChanges));
    }
    std::int64_t all = 0;
    for (const DocumentNode& item : nodes->items) {
      if (item.kind != Kind::kMap) return Bad("nodes", "must have objects with like and count");
      PlanRequest::MoreNodes more;
      DRAY_RETURN_IF_ERROR(ReadText(item, "like", kShort, more.like));
      if (more.like.empty()) return Bad("nodes.like", "must name a node");
      if (const DocumentNode* count = FieldOf(item, "count")) {
        DRAY_ASSIGN_OR_RETURN(more.count, NumberIn(*count, "nodes.count", 0, kMostNodes));
      }
      all += more.count;
      request.nodes.push_back(std::move(more));
    }
    if (all > kMostNodes) return Bad("nodes", fmt::format("must be at most {} in all", kMostNodes));
  }
  return request;
}

StatusOr<ExplainRequest> ReadExplainRequest(std::string_view body) {
  DRAY_ASSIGN_OR_RETURN(const DocumentNode map, MapIn(body));
  ExplainRequest request;
  DRAY_RETURN_IF_ERROR(ReadBool(map, "pending", request.pending));
  std::string target;
  DRAY_RETURN_IF_ERROR(ReadText(map, "target", 1000, target));
  if (target.empty() != request.pending) {
    return Bad("target", "give either target or \"pending\": true");
  }
  if (target.empty()) return request;
  DRAY_ASSIGN_OR_RETURN(request.target, NameIn(target, "target"));
  return request;
}

StatusOr<CelRequest> ReadCelRequest(std::string_view body) {
  DRAY_ASSIGN_OR_RETURN(const DocumentNode map, MapIn(body));
  CelRequest request;
  DRAY_RETURN_IF_ERROR(ReadText(map, "expression", 64u << 10, request.expression));
  DRAY_RETURN_IF_ERROR(ReadBool(map, "derived", request.derived));
  if (request.expression.empty()) return Bad("expression", "must not be empty");
  return request;
}

StatusOr<SimulationRequest> ReadSimulationRequest(std::string_view body) {
  DRAY_ASSIGN_OR_RETURN(const DocumentNode map, MapIn(body));
  SimulationRequest request;
  DRAY_RETURN_IF_ERROR(ReadText(map, "scenario", kShort, request.scenario));
  DRAY_RETURN_IF_ERROR(ReadText(map, "text", 1u << 20, request.text));
  DRAY_RETURN_IF_ERROR(ReadText(map, "policy", kShort, request.policy));
  if (request.scenario.empty() == request.text.empty()) {
    return Bad("scenario", "give either the name of a file in the folder, or text");
  }
  if (const DocumentNode* seed = FieldOf(map, "seed")) {
    DRAY_ASSIGN_OR_RETURN(const std::int64_t value,
                          NumberIn(*seed, "seed", 0, std::int64_t{1} << 53));
    request.seed = static_cast<std::uint64_t>(value);
  }
  if (const DocumentNode* duration = FieldOf(map, "duration")) {
    DRAY_ASSIGN_OR_RETURN(const std::int64_t value,
                          NumberIn(*duration, "duration", 1, 366 * 24 * 3600));
    request.duration = std::chrono::seconds(value);
  }
  return request;
}

}  // namespace dray::console
