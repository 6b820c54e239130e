// SPDX-License-Identifier: Apache-2.0
//
// The four kinds of PATCH.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/custom_kind.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "rest/api_error.h"
#include "rest/decode.h"
#include "rest/json_patch.h"
#include "rest/strategic_merge.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

constexpr std::size_t kShownPatch = 200;  // bytes

// A patch and how it was sent.
struct SentPatch {
  PatchKind kind = PatchKind::kMerge;
  rest::DocumentNode tree;
  std::vector<std::string> repeated;  // keys that come twice in it
};

// As Kubernetes says that the result of a patch is no object of its kind.
Status NoObject(std::string_view document, std::string_view why) {
  return rest::Invalid(
      "", "", "", {api::Invalid(base::FieldPath("patch"), document.substr(0, kShownPatch), why)});
}

std::vector<std::string> RepeatedFields(const SentPatch& patch) {
  const std::string_view prefix = patch.kind == PatchKind::kJson ? "json patch " : "";
  std::vector<std::string> texts;
  for (const std::string& path : patch.repeated) {
    texts.push_back(fmt::format("{}{}", prefix, rest::DuplicateField(path)));
  }
  return texts;
}

// In JSON an empty list and one with one empty entry both ask for managed fields to be cleared; the
// struct has only the latter.
void MarkReset(rest::DocumentNode& document) {
  rest::DocumentNode* metadata = rest::FindIn(document, "metadata");
  if (metadata == nullptr || !rest::IsMap(*metadata)) return;
  rest::DocumentNode* fields = rest::FindIn(*metadata, "managedFields");
  if (fields == nullptr || !rest::IsList(*fields) || !fields->items.empty()) return;
  fields->items.push_back(rest::MapNode());
}

StatusOr<rest::DecodedBody> DecodedTree(const Exchange& exchange, rest::DocumentNode tree,
                                        rest::FieldValidation validation) {
  const api::KindInfo& kind = exchange.kind();
  if (kind.hub == DefinitionKind().hub) return DecodeDefinition(std::move(tree), {}, validation);
  if (!api::IsCustom(kind)) return rest::DecodeTree(tree, kind, validation);
  const auto resource = exchange.registry->objects().custom()->Find(kind);
  if (resource == nullptr) return rest::UnknownResource();
  return DecodeCustom(std::move(tree), {}, kind, *resource->Of(kind), validation);
}

// The object that a patch makes of the stored one, in the request's version. The warnings of the
// last try are the ones that count.
StatusOr<api::Object> Changed(Exchange& exchange, const SentPatch& patch,
                              rest::FieldValidation validation, const api::Object& stored) {
  const api::KindInfo& kind = exchange.kind();
  DRAY_ASSIGN_OR_RETURN(rest::DocumentNode document, rest::ReadTaken(stored.ToJson(kind)));
  DRAY_RETURN_IF_ERROR(Patched(patch.kind, patch.tree, *kind.type, document));
  const std::string text = ToJson(document);
  if (!rest::IsMap(document)) return NoObject(text, "the patch leaves no object");
  MarkReset(document);
  DRAY_RETURN_IF_ERROR(rest::CheckType(document, kind));
  auto decoded = DecodedTree(exchange, std::move(document), validation);
  if (!decoded.ok()) return NoObject(text, base::Message(decoded.status()));
  std::vector<std::string> warnings;
  if (validation != rest::FieldValidation::kIgnore) warnings = RepeatedFields(patch);
  if (validation == rest::FieldValidation::kStrict && !warnings.empty()) {
    return NoObject(text, fmt::format("strict decoding error: {}", fmt::join(warnings, ", ")));
  }
  api::ObjectMeta& metadata = decoded->object.MutableMetadata();
  if (!kind.namespaced) metadata.namespace_.clear();
  if (metadata.name != stored.metadata().name ||
      metadata.namespace_ != stored.metadata().namespace_) {
    return rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    metadata.name, stored.metadata().name));
  }
  if (!metadata.uid.empty() && metadata.uid != stored.metadata().uid) {
    return rest::Invalid(
        kind, metadata.name,
        {api::Invalid(base::FieldPath("metadata") / "uid", metadata.uid, "field is immutable")});
  }
  exchange.warnings = std::move(warnings);
  for (std::string& warning : decoded->warnings) exchange.warnings.push_back(std::move(warning));
  return std::move(decoded->object);
}

// An apply says what it is about: whoever leaves that out has sent something else.
Status CheckConfig(const Exchange& exchange, const rest::DocumentNode& config,
                   const api::ObjectMeta& metadata) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    if (rest::TextIn(config, name).empty()) {
      return rest::BadRequest(fmt::format("an apply needs {}, which is missing", name));
    }
  }
  if (metadata.name != exchange.route.name) {
    return rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    metadata.name, exchange.route.name));
  }
  const std::string& space = metadata.namespace_;
  if (exchange.kind().namespaced && !space.empty() && space != exchange.route.namespace_) {
    return rest::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

Status Unreadable(std::string_view what, const Status& why) {
  const std::string text = fmt::format("error decoding {}: {}", what, base::Message(why));
  return why.code() == StatusCode::kResourceExhausted ? rest::TooLarge(text)
                                                      : rest::BadRequest(text);
}

void HandleApply(const ExchangePtr& exchange, const Writing& writing) {
  std::vector<std::string> repeated;
  auto config = rest::ReadTree(exchange->request.body, true, &repeated);
  if (!config.ok()) return exchange->SendError(Unreadable("YAML", config.status()));
  if (!rest::IsMap(*config)) {
    return exchange->SendError(rest::BadRequest("error decoding YAML: an object was expected"));
  }
  if (!repeated.empty() && writing.validation == rest::FieldValidation::kStrict) {
    return exchange->SendError(rest::BadRequest(
        fmt::format("error strict decoding patch: {}", rest::DuplicateField(repeated.front()))));
  }
  const api::KindInfo& kind = exchange->kind();
  if (Status type = rest::CheckType(*config, kind); !type.ok()) return exchange->SendError(type);
  // Whoever applies a field manages it, so that one that nobody knows is refused in any case.
  auto decoded = DecodedTree(*exchange, *config, rest::FieldValidation::kStrict);
  if (!decoded.ok()) return exchange->SendError(decoded.status());
  const Status meant = CheckConfig(*exchange, *config, decoded->object.metadata());
  if (!meant.ok()) return exchange->SendError(meant);
  if (rest::DocumentNode* metadata = rest::FindIn(*config, "metadata"); !kind.namespaced) {
    rest::EraseIn(*metadata, "namespace");
  }
  if (writing.validation == rest::FieldValidation::kWarn) {
    for (const std::string& path : repeated) {
      exchange->warnings.push_back(rest::DuplicateField(path));
    }
  }
  exchange->Decoded(decoded->object);
  exchange->registry->Apply(
      PartOf(*exchange), kind, exchange->route.namespace_, exchange->route.name, *std::move(config),
      writing.force, writing.context, [exchange](StatusOr<api::Object> result, bool created) {
        exchange->Note("stored");
        if (!result.ok()) return exchange->SendError(result.status());
        exchange->SendObject(created ? 201 : 200, *result);
      });
}

}  // namespace

Status Patched(PatchKind how, const rest::DocumentNode& patch, const api::TypeInfo& type,
               rest::DocumentNode& document) {
  switch (how) {
    case PatchKind::kJson:
      return rest::ApplyJsonPatch(patch, document);
    case PatchKind::kMerge:
      rest::ApplyMergePatch(patch, document);
      return {};
    default:
      return rest::ApplyStrategicMerge(patch, type, document);
  }
}

void HandlePatch(const ExchangePtr& exchange) {
  const auto how = PatchKindOf(exchange->request.headers.Find("Content-Type"));
  if (!how.ok()) return exchange->SendError(how.status());
  const bool apply = *how == PatchKind::kApply;
  const auto writing =
      WritingOf(*exchange, apply ? rest::WriteVerb::kApply : rest::WriteVerb::kPatch);
  if (!writing.ok()) return exchange->SendError(writing.status());
  if (apply) return HandleApply(exchange, *writing);
  if (*how == PatchKind::kStrategic && api::IsCustom(exchange->kind())) {
    return exchange->SendError(rest::UnsupportedMediaType(
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  SentPatch patch{.kind = *how, .tree = {}, .repeated = {}};
  auto tree = rest::ReadTree(exchange->request.body, false, &patch.repeated);
  if (!tree.ok()) return exchange->SendError(Unreadable("patch", tree.status()));
  patch.tree = *std::move(tree);
  exchange->Note("decoded");
  exchange->registry->Modify(
      PartOf(*exchange), exchange->kind(), exchange->route.namespace_, exchange->route.name,
      [exchange, patch = std::move(patch), validation = writing->validation](
          const api::Object& stored) { return Changed(*exchange, patch, validation, stored); },
      writing->context,
      [exchange](StatusOr<api::Object> result) {
        exchange->Note("stored");
        if (!result.ok()) return exchange->SendError(result.status());
        exchange->SendObject(200, *result);
      });
}

}  // namespace dray::registry::internal
