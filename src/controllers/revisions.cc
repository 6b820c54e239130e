// SPDX-License-Identifier: Apache-2.0
#include "controllers/revisions.h"

#include <algorithm>
#include <utility>

#include "api/document.h"
#include "api/json.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kHashLabel = "controller.kubernetes.io/hash";

const api::ControllerRevision& Of(const api::Object& object) {
  return *object.As<api::ControllerRevision>();
}

}  // namespace

StatusOr<api::Object> EnsureRevision(const api::Object& owner,
                                     const api::PodTemplateSpec& made_from, std::string_view hash,
                                     const std::vector<api::Object>& known, View& view) {
  std::int64_t newest = 0;
  for (const api::Object& revision : known) newest = std::max(newest, Of(revision).revision);
  const std::string name = fmt::format("{}-{}", owner.metadata().name, hash);
  for (const api::Object& revision : known) {
    if (revision.metadata().name != name) continue;
    if (Of(revision).revision == newest) return revision;
    api::Object moved = revision;
    moved.Mutable<api::ControllerRevision>()->revision = newest + 1;
    return view.Update(std::move(moved));
  }
  api::ControllerRevision made;
  made.metadata.name = name;
  made.metadata.namespace_ = owner.metadata().namespace_;
  made.metadata.labels = made_from.metadata.labels;
  made.metadata.labels[kHashLabel] = hash;
  // Among them why it was changed, which `kubectl rollout history` shows.
  made.metadata.annotations = owner.metadata().annotations;
  made.metadata.owner_references = {ControllerReference(owner)};
  made.revision = newest + 1;
  // A patch that makes the workload's template this one, whatever it is then.
  std::string text = api::EncodeJson(made_from);
  text.insert(1, text == "{}" ? R"("$patch":"replace")" : R"("$patch":"replace",)");
  made.data.text = fmt::format(R"({{"spec":{{"template":{}}}}})", text);
  return view.Create(api::Object::Of(std::move(made)));
}

StatusOr<api::PodTemplateSpec> TemplateOf(const api::Object& revision) {
  std::vector<api::Diagnostic> diagnostics;
  api::DocumentNode root = api::ParseJson(Of(revision).data.text, diagnostics);
  const api::Member* spec = root.Find("spec");
  const api::Member* made_from = spec == nullptr ? nullptr : spec->value.Find("template");
  if (!diagnostics.empty() || made_from == nullptr) {
    return base::InvalidArgument(
        fmt::format("revision {} has no template", revision.metadata().name));
  }
  api::DocumentNode plain = made_from->value;
  std::erase_if(plain.members, [](const api::Member& member) { return member.key == "$patch"; });
  api::PodTemplateSpec result;
  api::DecodeNode(plain, api::TypeInfoOf<api::PodTemplateSpec>(), &result, api::Severity::kWarning,
                  diagnostics);
  return result;
}

Status TrimRevisions(std::vector<api::Object> known, const std::vector<std::string>& in_use,
                     std::int32_t keep, View& view) {
  std::erase_if(known, [&](const api::Object& revision) {
    return std::ranges::find(in_use, revision.metadata().name) != in_use.end();
  });
  std::ranges::sort(known, {}, [](const api::Object& revision) { return Of(revision).revision; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(keep, 0)) < known.size(); ++i) {
    DRAY_RETURN_IF_ERROR(view.Delete(known[i]));
  }
  return {};
}

}  // namespace dray::controllers
