// SPDX-License-Identifier: Apache-2.0
#include "api/field_selector.h"

#include <algorithm>
#include <array>
#include <span>

#include "api/certificate_signing_request.h"
#include "api/config_map.h"
#include "api/event.h"
#include "api/field_view.h"
#include "api/job.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::api {
namespace {

struct SelectableField {
  std::string_view name;
  std::string (*value)(const Object&);
};

// A row for a field of the struct T.
template <typename T, auto Get>
constexpr SelectableField Row(std::string_view name) {
  return {name, [](const Object& object) -> std::string { return Get(*object.As<T>()); }};
}
#define DRAY_FIELD(type, name, expression) \
  Row<type, [](const type& o) -> std::string { return expression; }>(name)

constexpr SelectableField kName = {"metadata.name",
                                   [](const Object& o) { return o.metadata().name; }};
constexpr SelectableField kNamespace = {"metadata.namespace",
                                        [](const Object& o) { return o.metadata().namespace_; }};

std::string ToText(bool value) { return value ? "true" : "false"; }
std::string SourceOf(const Event& event) {
  return event.source.component.empty() ? event.reporting_component : event.source.component;
}

constexpr std::array kDefaultFields = {kName, kNamespace};
constexpr std::array kSliceFields = {
    kName,
    DRAY_FIELD(ResourceSlice, "spec.nodeName", o.spec.node_name.value_or("")),
    DRAY_FIELD(ResourceSlice, "spec.driver", o.spec.driver),
    DRAY_FIELD(ResourceSlice, "spec.pool.name", o.spec.pool.name),
};
constexpr std::array kPodFields = {
    kName,
    kNamespace,
    DRAY_FIELD(Pod, "spec.nodeName", o.spec.node_name),
    DRAY_FIELD(Pod, "spec.restartPolicy", o.spec.restart_policy),
    DRAY_FIELD(Pod, "spec.schedulerName", o.spec.scheduler_name),
    DRAY_FIELD(Pod, "spec.serviceAccountName", o.spec.service_account_name),
    DRAY_FIELD(Pod, "spec.hostNetwork", ToText(o.spec.host_network)),
    DRAY_FIELD(Pod, "status.phase", o.status.phase),
    DRAY_FIELD(Pod, "status.podIP", o.status.pod_ips.empty() ? "" : o.status.pod_ips[0].ip),
    DRAY_FIELD(Pod, "status.nominatedNodeName", o.status.nominated_node_name),
    // What the field was called once; old clients still send it.
    DRAY_FIELD(Pod, "spec.host", o.spec.node_name),
};
constexpr std::array kCertificateFields = {
    kName,
    DRAY_FIELD(CertificateSigningRequest, "spec.signerName", o.spec.signer_name),
};
constexpr std::array kSecretFields = {
    kName,
    kNamespace,
    DRAY_FIELD(Secret, "type", o.type),
};
// Of kinds without a struct. A kubelet follows the services that have an address, and the certificates of its pods.
#define DRAY_PATH(path)                                                     \
  SelectableField {                                                         \
    path, [](const Object& o) { return FieldView::Of(o).At(path).Shown(); } \
  }
constexpr std::array kServiceFields = {
    kName,
    kNamespace,
    DRAY_PATH("spec.clusterIP"),
    DRAY_PATH("spec.type"),
};
constexpr std::array kPodCertificateFields = {
    kName,
    kNamespace,
    DRAY_PATH("spec.signerName"),
    DRAY_PATH("spec.podName"),
    DRAY_PATH("spec.nodeName"),
};
#undef DRAY_PATH
constexpr std::array kNodeFields = {
    kName,
    DRAY_FIELD(Node, "spec.unschedulable", ToText(o.spec.unschedulable)),
};
constexpr std::array kNamespaceFields = {
    kName,
    DRAY_FIELD(Namespace, "status.phase", o.status.phase),
};
constexpr std::array kJobFields = {
    kName,
    kNamespace,
    DRAY_FIELD(Job, "status.successful", std::to_string(o.status.succeeded)),
};
constexpr std::array kEventFields = {
    kName,
    kNamespace,
    DRAY_FIELD(Event, "involvedObject.kind", o.involved_object.kind),
    DRAY_FIELD(Event, "involvedObject.namespace", o.involved_object.namespace_),
    DRAY_FIELD(Event, "involvedObject.name", o.involved_object.name),
    DRAY_FIELD(Event, "involvedObject.uid", o.involved_object.uid),
    DRAY_FIELD(Event, "involvedObject.apiVersion", o.involved_object.api_version),
    DRAY_FIELD(Event, "involvedObject.resourceVersion", o.involved_object.resource_version),
    DRAY_FIELD(Event, "involvedObject.fieldPath", o.involved_object.field_path),
    DRAY_FIELD(Event, "reason", o.reason),
    DRAY_FIELD(Event, "reportingComponent", o.reporting_component),
    DRAY_FIELD(Event, "source", SourceOf(o)),
    DRAY_FIELD(Event, "type", o.type),
};
// The same in events.k8s.io, which calls the object `regarding`.
constexpr std::array kEventsGroupFields = {
    kName,
    kNamespace,
    DRAY_FIELD(Event, "regarding.kind", o.involved_object.kind),
    DRAY_FIELD(Event, "regarding.namespace", o.involved_object.namespace_),
    DRAY_FIELD(Event, "regarding.name", o.involved_object.name),
    DRAY_FIELD(Event, "regarding.uid", o.involved_object.uid),
    DRAY_FIELD(Event, "regarding.apiVersion", o.involved_object.api_version),
    DRAY_FIELD(Event, "regarding.resourceVersion", o.involved_object.resource_version),
    DRAY_FIELD(Event, "regarding.fieldPath", o.involved_object.field_path),
    DRAY_FIELD(Event, "reason", o.reason),
    DRAY_FIELD(Event, "reportingController", o.reporting_component),
    DRAY_FIELD(Event, "type", o.type),
};
#undef DRAY_FIELD

std::span<const SelectableField> FieldsOf(const KindInfo& kind) {
  if (kind.hub == &TypeInfoOf<ResourceSlice>()) return kSliceFields;
  if (kind.hub == &TypeInfoOf<Pod>()) return kPodFields;
  if (kind.hub == &TypeInfoOf<Node>()) return kNodeFields;
  if (kind.hub == &TypeInfoOf<Namespace>()) return kNamespaceFields;
  if (kind.hub == &TypeInfoOf<CertificateSigningRequest>()) return kCertificateFields;
  if (kind.hub == &TypeInfoOf<Job>()) return kJobFields;
  if (kind.hub == &TypeInfoOf<Secret>()) return kSecretFields;
  if (kind.group.empty() && kind.kind == "Service") return kServiceFields;
  if (kind.group == "certificates.k8s.io" && kind.kind == "PodCertificateRequest") {
    return kPodCertificateFields;
  }
  if (kind.hub == &TypeInfoOf<Event>()) {
    if (kind.group.empty()) return kEventFields;
    return kEventsGroupFields;
  }
  return kDefaultFields;
}

const SelectableField* FindField(const KindInfo& kind, std::string_view name) {
  const auto fields = FieldsOf(kind);
  const auto found = std::ranges::find(fields, name, &SelectableField::name);
  return found != fields.end() ? &*found : nullptr;
}

// The text up to the next comma that no backslash precedes. Takes it and the comma off `text`.
std::string_view TakeTerm(std::string_view& text) {
  std::size_t end = 0;
  for (; end < text.size() && text[end] != ','; ++end) {
    if (text[end] == '\\') ++end;
  }
  end = std::min(end, text.size());
  const std::string_view term = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return term;
}

StatusOr<std::string> Unescape(std::string_view escaped) {
  std::string value;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    if (c == '=') {
      return base::InvalidArgument(
          fmt::format("\"{}\" has a '=' in its value; write it as \\=", escaped));
    }
    if (c != '\\') {
      value += c;
      continue;
    }
    const char next = i + 1 < escaped.size() ? escaped[i + 1] : '\0';
    if (next != '\\' && next != ',' && next != '=') {
      return base::InvalidArgument(
          fmt::format("\"{}\" has a '\\' that does not stand before '\\', ',' or '='", escaped));
    }
    value += next;
    ++i;
  }
  return value;
}

std::string Escape(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

StatusOr<FieldSelector::Term> ParseTerm(std::string_view text) {
  // The first operator splits; "!=" and "==" are both taken whole.
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return base::InvalidArgument(
        fmt::format("\"{}\" has no operator, expected field=value or field!=value", text));
  }
  const bool equal = equals == 0 || text[equals - 1] != '!';
  const bool doubled = equal && equals + 1 < text.size() && text[equals + 1] == '=';
  FieldSelector::Term term{std::string(text.substr(0, equal ? equals : equals - 1)), equal, ""};
  DRAY_ASSIGN_OR_RETURN(term.value, Unescape(text.substr(equals + (doubled ? 2 : 1))));
  return term;
}

}  // namespace

StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = TakeTerm(rest);
    if (part.empty()) continue;
    auto term = ParseTerm(part);
    if (!term.ok()) {
      return base::Annotate(term.status(), fmt::format("invalid field selector \"{}\"", text));
    }
    selector.terms_.push_back(*std::move(term));
  }
  return selector;
}

Status FieldSelector::CheckSupported(const KindInfo& kind) const {
  for (const Term& term : terms_) {
    if (FindField(kind, term.field) != nullptr) continue;
    return base::InvalidArgument(fmt::format("{} cannot be selected by field \"{}\", only by {}",
                                             kind.plural, term.field,
                                             fmt::join(SelectableFields(kind), ", ")));
  }
  return absl::OkStatus();
}

bool FieldSelector::Matches(const Object& object) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    const SelectableField* field = FindField(object.kind(), term.field);
    const std::string value = field != nullptr ? field->value(object) : "";
    return (value == term.value) == term.equal;
  });
}

std::optional<std::string_view> FieldSelector::RequiredValue(std::string_view field) const {
  for (const Term& term : terms_) {
    if (term.equal && term.field == field) return term.value;
  }
  return std::nullopt;
}

std::string FieldSelector::ToString() const {
  std::string text;
  for (const Term& term : terms_) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}{}{}", term.field, term.equal ? "=" : "!=", Escape(term.value));
  }
  return text;
}

std::vector<std::string_view> SelectableFields(const KindInfo& kind) {
  std::vector<std::string_view> names;
  for (const SelectableField& field : FieldsOf(kind)) names.push_back(field.name);
  return names;
}

}  // namespace dray::api
