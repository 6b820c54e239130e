// SPDX-License-Identifier: Apache-2.0
//
// A pod gets its node.
#include <utility>

#include "api/pod.h"
#include "api/validation.h"
#include "fmt/format.h"
#include "registry/internal/attempt.h"
#include "registry/internal/policy_requests.h"
#include "registry/policies.h"
#include "registry/registry.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

// A binding is for the pod that the scheduler has looked at.
Status CheckBound(const Binding& binding, const api::Object& pod) {
  const api::ObjectMeta& now = pod.metadata();
  const auto failed = [&](std::string_view what, std::string_view meant, std::string_view is) {
    return rest::Conflict(pod.kind(), now.name,
                          fmt::format("Precondition failed: {0} in precondition: {1}, {0} in "
                                      "object meta: {2}",
                                      what, meant, is));
  };
  if (!binding.uid.empty() && binding.uid != now.uid) return failed("UID", binding.uid, now.uid);
  if (!binding.resource_version.empty() && binding.resource_version != now.resource_version) {
    return failed("ResourceVersion", binding.resource_version, now.resource_version);
  }
  return {};
}

// What cannot be written by any other door is not written by this one, or nobody could change the pod
// again.
Status CheckWritten(const Binding& binding, const api::KindInfo& kind,
                    const api::ObjectMeta& bound) {
  if (binding.labels.empty() && binding.annotations.empty()) return {};
  api::ObjectMeta written;
  written.name = bound.name;
  written.namespace_ = bound.namespace_;
  written.labels = bound.labels;
  written.annotations = bound.annotations;
  const api::ErrorList errors = api::ValidateMetadata(written);
  return errors.empty() ? Status() : rest::Invalid(kind, bound.name, errors);
}

}  // namespace

void Registry::Bind(std::string_view namespace_, std::string_view pod, Binding binding,
                    const WriteContext& context, Done done) {
  Run(
      KeyOf(api::HubKind(api::TypeInfoOf<api::Pod>()), namespace_, pod),
      [this, space = std::string(namespace_), name = std::string(pod), binding = std::move(binding),
       context]() -> StatusOr<Attempt> {
        const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
        DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, space, name));
        if (!found) return rest::NotFound(kind, name);
        DRAY_RETURN_IF_ERROR(CheckBound(binding, found->object()));
        auto bound = api::BoundPod(found->object(), binding.node, clock_.Now());
        if (!bound.ok() && bound.status().code() != StatusCode::kInvalidArgument) {
          return rest::Conflict(kind, name, base::Message(bound.status()));
        }
        DRAY_ASSIGN_OR_RETURN(api::Object next, std::move(bound));
        api::ObjectMeta& metadata = next.MutableMetadata();
        for (const auto& [key, value] : binding.labels) metadata.labels[key] = value;
        for (const auto& [key, value] : binding.annotations) metadata.annotations[key] = value;
        DRAY_RETURN_IF_ERROR(CheckWritten(binding, kind, metadata));
        if (HasPolicies()) {
          DRAY_RETURN_IF_ERROR(options_.policies->Admit(
              internal::BindingRequest(context, found->object(), binding).request, objects_,
              context.notes.get()));
        }
        return TryReplace(*found, std::move(next));
      },
      context.dry_run, std::move(done));
}

}  // namespace dray::registry
