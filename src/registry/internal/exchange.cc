// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/exchange.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/impersonation.h"
#include "registry/internal/free_devices.h"
#include "registry/policies.h"
#include "registry/roles.h"
#include "rest/api_error.h"
#include "rest/protobuf.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

// RFC 7234's warn-text is a quoted string.
std::string WarningHeader(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' || c == '\r' ? ' ' : c;
  }
  return fmt::format("299 - \"{}\"", quoted);
}

// Clients read headers of a limited size. As in Kubernetes: each warning once; where all of them are
// too long, each is cut, and those behind the last one that fits are left out.
std::vector<std::string_view> FewEnough(const std::vector<std::string>& warnings) {
  constexpr std::size_t kMaxTotal = 4096;
  constexpr std::size_t kMaxEach = 256;
  std::set<std::string_view> seen;
  std::vector<std::string_view> texts;
  std::size_t total = 0;
  for (const std::string& warning : warnings) {
    if (!seen.insert(warning).second) continue;
    texts.push_back(warning);
    total += warning.size();
  }
  if (total <= kMaxTotal) return texts;
  total = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i] = base::Beginning(texts[i], kMaxEach);
    total += texts[i].size();
    if (total > kMaxTotal) {
      texts.resize(i);
      break;
    }
  }
  return texts;
}

// v1beta1 came with 1.32 and v1beta2 with 1.33; each is deprecated three minor versions later.
std::optional<std::string> Deprecation(const api::KindInfo& kind) {
  if (kind.group != "resource.k8s.io") return std::nullopt;
  if (kind.version != "v1beta1" && kind.version != "v1beta2") return std::nullopt;
  if (kind.kind == "DeviceTaintRule") return std::nullopt;
  const int introduced = kind.version == "v1beta1" ? 32 : 33;
  return fmt::format("{} {} is deprecated in v1.{}+, unavailable in v1.{}+", kind.ApiVersion(),
                     kind.kind, introduced + 3, introduced + 6);
}

}  // namespace

api::UserInfo Exchange::user() const {
  api::UserInfo user = InfoOf(request.user);
  // As tokens of service accounts say in Kubernetes where they are used.
  if (const std::string_view node = NodeOf(user); !node.empty()) {
    user.extra[std::string(api::kNodeNameExtra)] = {std::string(node)};
  }
  return user;
}

Exchange::~Exchange() {
  if (answered) return;
  if (trail != nullptr) trail->Dropped();
  if (log != nullptr) log->OnAnswer(*this, 500, false);
}

void Exchange::Note(std::string_view step) {
  if (log != nullptr) steps.Note(step, log->Now());
}

void Exchange::Decoded(const api::Object& object) {
  Note("decoded");
  if (trail == nullptr) return;
  const api::ObjectMeta& metadata = object.metadata();
  trail->About({.name = metadata.name,
                .namespace_ = metadata.namespace_,
                .uid = metadata.uid,
                .resource_version = metadata.resource_version});
  const std::string media = MediaType(request.headers.Find("Content-Type"));
  if (media != rest::kProtobufMediaType || !trail->WantsRequestObject()) return;
  trail->ReadBody(object.ToJson(kind()), "application/json");
}

void Exchange::Answer(apiserver::Response response) {
  answered = true;
  if (log != nullptr) log->OnAnswer(*this, response.status, response.stream != nullptr);
  if (trail != nullptr) {
    const std::string media = MediaType(request.headers.Find("Content-Type"));
    if (media != rest::kProtobufMediaType) trail->ReadBody(request.body, media);
    if (notes != nullptr) {
      for (const auto& [key, value] : notes->annotations()) trail->Annotate(key, value);
    }
    trail->Answered(response);
    if (response.stream != nullptr) {
      response.stream = audit::Audited(std::move(response.stream), std::move(trail));
    }
  }
  responder->Send(std::move(response));
}

apiserver::Response Exchange::Begin(int code, std::string_view content_type) const {
  apiserver::Response response;
  response.status = code;
  response.headers.Add("Content-Type", std::string(content_type));
  response.headers.Add("Cache-Control", "no-cache, private");
  std::vector<std::string> all = warnings;
  if (notes != nullptr) {
    for (std::string& warning : notes->warnings()) all.push_back(std::move(warning));
  }
  for (const std::string_view warning : FewEnough(all)) {
    response.headers.Add("Warning", WarningHeader(warning));
  }
  if (route.kind != nullptr) {
    if (const auto text = Deprecation(*route.kind)) {
      response.headers.Add("Warning", WarningHeader(*text));
    }
  }
  return response;
}

void Exchange::Send(int code, std::string body) {
  apiserver::Response response = Begin(code, format.content_type());
  response.body = std::make_shared<const std::string>(std::move(body));
  Answer(std::move(response));
}

void Exchange::SendText(int code, std::string body) {
  apiserver::Response response = Begin(code, "text/plain; charset=utf-8");
  response.body = std::make_shared<const std::string>(std::move(body));
  Answer(std::move(response));
}

void Exchange::SendError(const Status& status) {
  const rest::ApiError error = rest::FromStatus(status);
  // Who is refused early, before it was asked what they can read, is told in that, too.
  const auto accepted = ParseAccept(request.headers.Find("Accept"));
  const bool yaml = format.yaml || (accepted.ok() && accepted->yaml);
  apiserver::Response response = Begin(error.code, yaml ? "application/yaml" : "application/json");
  if (error.details && error.details->retry_after_seconds > 0) {
    response.headers.Add("Retry-After", fmt::format("{}", error.details->retry_after_seconds));
  }
  response.body = std::make_shared<const std::string>(error.ToJson());
  Answer(std::move(response));
}

void Exchange::SendObject(int code, const api::Object& object) {
  // The name that was made for it, where it was sent without one.
  if (trail != nullptr) {
    trail->About({.name = object.metadata().name, .namespace_ = object.metadata().namespace_});
  }
  if (format.shape == Shape::kTable) {
    const auto include = IncludeOf(query);
    if (!include.ok()) return SendError(include.status());
    const std::string metadata =
        fmt::format(R"({{"resourceVersion":"{}"}})", object.metadata().resource_version);
    return Send(code, rest::TableJson(kind(), {&object, 1},
                                      {.list_metadata = metadata, .include = *include},
                                      TableContextFor(*registry, kind())));
  }
  if (format.shape == Shape::kPartialMetadata) return Send(code, rest::PartialMetadataJson(object));
  if (auto text = StoredText(object)) return Send(code, *std::move(text));
  Send(code, object.ToJson(kind()));
}

std::optional<std::string> Exchange::StoredText(const api::Object& object) const {
  if (&kind() != &api::HubKind(*kind().hub)) return std::nullopt;
  const api::ObjectMeta& metadata = object.metadata();
  const auto found = registry->objects().Find(kind(), metadata.namespace_, metadata.name);
  if (!found.ok() || !found->has_value()) return std::nullopt;
  if ((*found)->object().data() != object.data()) return std::nullopt;
  return (*found)->stored->MakeJson();
}

void Exchange::SendSuccess(int code, const api::Object* about) {
  std::string details;
  if (about != nullptr) {
    details = fmt::format(R"(,"details":{{"name":{},"group":"{}","kind":"{}","uid":"{}"}})",
                          ToJson(rest::StringNode(about->metadata().name)), about->kind().group,
                          about->kind().plural, about->metadata().uid);
  }
  const std::string tail = code == 200 ? "" : fmt::format(R"(,"code":{})", code);
  Send(code, fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},)"
                         R"("status":"Success"{}{}}})",
                         details, tail));
}

StatusOr<rest::IncludeObject> IncludeOf(const Query& query) {
  const std::string_view text = query.Get("includeObject");
  if (text.empty() || text == "Metadata") return rest::IncludeObject::kMetadata;
  if (text == "None") return rest::IncludeObject::kNone;
  if (text == "Object") return rest::IncludeObject::kObject;
  return rest::BadRequest(
      fmt::format("includeObject is None, Metadata or Object, not \"{}\"", text));
}

rest::TableContext TableContextFor(const Registry& registry, const api::KindInfo& kind) {
  rest::TableContext context{.now = registry.clock().Now()};
  if (const CustomResourcePtr custom = registry.objects().custom()->Find(kind)) {
    context.custom = TableOf(custom->Of(kind), kind, context.now);
    return context;
  }
  if (kind.hub != &api::TypeInfoOf<api::ResourceSlice>()) return context;
  // One pass over the claims for all slices of the table.
  const auto held = std::make_shared<HeldDevices>();
  const api::KindInfo& claims = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
  for (const StoredObjectPtr& stored : registry.objects().Readable(claims)) {
    held->Add(*stored->object().As<api::ResourceClaim>());
  }
  context.free_devices = [held](const api::ResourceSlice& slice) -> std::optional<std::int64_t> {
    return held->FreeIn(slice);
  };
  return context;
}

}  // namespace dray::registry::internal
