// SPDX-License-Identifier: Apache-2.0
//
// The four kinds of PATCH.
#include <utility>

#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "rest/api_error.h"
#include "rest/decode.h"
#include "rest/json_patch.h"
#include "rest/strategic_merge.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

// The object that a patch makes of the stored one, in the request's version. The warnings of the
// last try are the ones that count.
StatusOr<api::Object> Changed(Exchange& exchange, PatchKind how, const rest::DocumentNode& patch,
                              rest::FieldValidation validation, const api::Object& stored) {
  const api::KindInfo& kind = exchange.kind();
  DRAY_ASSIGN_OR_RETURN(rest::DocumentNode document, rest::ReadTree(stored.ToJson(kind)));
  DRAY_RETURN_IF_ERROR(Patched(how, patch, *kind.type, document));
  if (!rest::IsMap(document)) return rest::BadRequest("the patch leaves no object");
  DRAY_RETURN_IF_ERROR(rest::CheckType(document, kind));
  DRAY_ASSIGN_OR_RETURN(rest::DecodedBody decoded, rest::DecodeTree(document, kind, validation));
  const api::ObjectMeta& metadata = decoded.object.metadata();
  if (metadata.name != stored.metadata().name ||
      metadata.namespace_ != stored.metadata().namespace_) {
    return rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    metadata.name, stored.metadata().name));
  }
  exchange.warnings = std::move(decoded.warnings);
  return std::move(decoded.object);
}

Status CheckApply(const Exchange& exchange) {
  if (exchange.query.Get("fieldManager").empty()) {
    return rest::Invalid(
        "meta.k8s.io", "PatchOptions", "",
        {api::Required(base::FieldPath("fieldManager"), "is required for apply patch")});
  }
  return {};
}

void HandleApply(const ExchangePtr& exchange, const WriteContext& context,
                 rest::FieldValidation validation) {
  if (Status fine = CheckApply(*exchange); !fine.ok()) return exchange->SendError(fine);
  auto config = rest::ReadTree(exchange->request.body, true);
  if (!config.ok() || !rest::IsMap(*config)) {
    return exchange->SendError(rest::BadRequest(
        fmt::format("error decoding YAML: {}",
                    config.ok() ? "an object was expected" : base::Message(config.status()))));
  }
  const api::KindInfo& kind = exchange->kind();
  if (Status type = rest::CheckType(*config, kind); !type.ok()) return exchange->SendError(type);
  auto decoded = rest::DecodeTree(*config, kind, validation);
  if (!decoded.ok()) return exchange->SendError(decoded.status());
  const std::string& name = decoded->object.metadata().name;
  if (!name.empty() && name != exchange->route.name) {
    return exchange->SendError(rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    exchange->route.name)));
  }
  exchange->warnings = std::move(decoded->warnings);
  exchange->registry->Apply(PartOf(*exchange), kind, exchange->route.namespace_,
                            exchange->route.name, *std::move(config),
                            exchange->query.IsTrue("force"), context,
                            [exchange](StatusOr<api::Object> result, bool created) {
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
  const auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  const auto how = PatchKindOf(exchange->request.headers.Find("Content-Type"));
  if (!how.ok()) return exchange->SendError(how.status());
  const auto validation = rest::ParseFieldValidation(exchange->query.Get("fieldValidation"));
  if (!validation.ok()) return exchange->SendError(validation.status());
  if (*how == PatchKind::kApply) return HandleApply(exchange, *context, *validation);
  if (exchange->query.Has("force")) {
    return exchange->SendError(rest::Invalid(
        "meta.k8s.io", "PatchOptions", "",
        {api::Forbidden(base::FieldPath("force"), "may not be specified for non-apply patch")}));
  }
  auto patch = rest::ReadTree(exchange->request.body);
  if (!patch.ok()) {
    return exchange->SendError(
        rest::BadRequest(fmt::format("error decoding patch: {}", base::Message(patch.status()))));
  }
  exchange->registry->Modify(
      PartOf(*exchange), exchange->kind(), exchange->route.namespace_, exchange->route.name,
      [exchange, how = *how, patch = *std::move(patch), validation = *validation](
          const api::Object& stored) { return Changed(*exchange, how, patch, validation, stored); },
      *context,
      [exchange](StatusOr<api::Object> result) {
        if (!result.ok()) return exchange->SendError(result.status());
        exchange->SendObject(200, *result);
      });
}

}  // namespace dray::registry::internal
