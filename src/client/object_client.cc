// SPDX-License-Identifier: Apache-2.0
#include "client/object_client.h"

#include <optional>
#include <utility>

#include "api/field_table.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"
#include "base/percent.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/protobuf.h"

namespace dray::client {
namespace {

constexpr int kPage = 500;
// What a server may take longer than it was asked to.
constexpr std::chrono::seconds kGrace{30};
constexpr int kUnprocessable = 422;

// A page of a list: its items are read one by one, in the list's version.
struct ListFrame {
  api::ListMeta metadata;
  std::vector<api::RawJson> items;
};
const api::StructInfo& InfoOf(const ListFrame*) {
  using T = ListFrame;
  static const api::StructInfo info = api::Struct<T>(
      "List", {api::Field<&T::metadata>("metadata"), api::Field<&T::items>("items")});
  return info;
}

struct EventFrame {
  std::string type;
  api::RawJson object;
};
const api::StructInfo& InfoOf(const EventFrame*) {
  using T = EventFrame;
  static const api::StructInfo info = api::Struct<T>(
      "WatchEvent", {api::Field<&T::type>("type"), api::Field<&T::object>("object")});
  return info;
}

using EventType = ObjectClient::WatchEvent::Type;

// Nothing: it is no event of an object.
std::optional<EventType> TypeOf(std::string_view type) {
  if (type == "ADDED") return EventType::kAdded;
  if (type == "MODIFIED") return EventType::kModified;
  if (type == "DELETED") return EventType::kDeleted;
  if (type == "BOOKMARK") return EventType::kBookmark;
  return std::nullopt;
}

// An event as servers write it, {"type":"ADDED","object":{...}}, taken apart by what it looks like: its object need
// not be read twice. Nothing: it looks otherwise.
struct LooksLike {
  EventType type;
  std::string_view object;
};
std::optional<LooksLike> SplitEvent(std::string_view line) {
  constexpr std::string_view kBegin = R"({"type":")";
  constexpr std::string_view kBetween = R"(","object":)";
  if (!line.starts_with(kBegin) || !line.ends_with("}}")) return std::nullopt;
  line.remove_prefix(kBegin.size());
  line.remove_suffix(1);
  const std::size_t end = line.find('"');
  if (end == line.npos || !line.substr(end).starts_with(kBetween)) return std::nullopt;
  const auto type = TypeOf(line.substr(0, end));
  if (!type) return std::nullopt;
  return LooksLike{*type, line.substr(end + kBetween.size())};
}

// What is decoded as a whole before its parts are: unknown fields do not matter.
template <typename T>
Status Frame(api::JsonDecoder& decoder, std::string_view text, T& frame) {
  const Status status = decoder.Decode(text, api::TypeInfoOf<T>(), &frame);
  return base::Annotate(status, "the server's answer cannot be read");
}

// "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims". An empty namespace: of all of them.
std::string Collection(const api::KindInfo& version, std::string_view namespace_) {
  std::string path = version.group.empty()
                         ? fmt::format("/api/{}", version.version)
                         : fmt::format("/apis/{}/{}", version.group, version.version);
  if (version.namespaced && !namespace_.empty()) {
    path += fmt::format("/namespaces/{}", base::PercentEncoded(namespace_));
  }
  return path.append("/").append(version.plural);
}

std::string Place(const api::KindInfo& version, std::string_view namespace_,
                  std::string_view name) {
  return fmt::format("{}/{}", Collection(version, namespace_), base::PercentEncoded(name));
}

// "&fieldSelector=...&labelSelector=...", as far as there is one.
std::string QueryOf(const api::Selection& selection) {
  std::string query;
  if (!selection.fields.empty()) {
    query += "&fieldSelector=" + base::PercentEncoded(selection.fields.ToString());
  }
  if (!selection.labels.empty()) {
    query += "&labelSelector=" + base::PercentEncoded(selection.labels.ToString());
  }
  return query;
}

std::string Quoted(std::string_view text) {
  const std::string value(text);
  std::string json;
  api::EncodeJson(api::TypeInfoOf<std::string>(), &value, json);
  return json;
}

StatusOr<api::Object> ReadObject(api::JsonDecoder& decoder, const api::KindInfo& version,
                                 std::string_view json) {
  api::Object object = api::Object::New(version);
  const Status status = decoder.Decode(json, *version.type, object.MutableData());
  if (!status.ok()) {
    return base::Annotate(status, fmt::format("the server's {} cannot be read", version.kind));
  }
  return std::move(object).InHub();
}

}  // namespace

ObjectClient::ObjectClient(HttpClient& http, std::string manager)
    : http_(http), manager_(std::move(manager)) {}

const api::KindInfo& ObjectClient::Served(const api::KindInfo& kind) const {
  const base::MutexLock lock(mutex_);
  const auto found = versions_.find(kind.hub);
  return found == versions_.end() ? api::HubKind(*kind.hub) : *found->second;
}

StatusOr<std::string> ObjectClient::Ask(const HttpRequest& request) const {
  DRAY_ASSIGN_OR_RETURN(HttpResponse response, http_.Send(request));
  // Whoever fails over a write does not say that nothing was written: a server that waits for its
  // storage in vain, somebody between us and it. What is not implemented was not done.
  if (request.method != "GET" && response.status >= 500 && response.status != 501) {
    return api::OutcomeUnknown(base::Message(FailureOf(response)));
  }
  if (response.status >= 300) return FailureOf(response);
  return std::move(response.body);
}

StatusOr<ObjectClient::Listing> ObjectClient::List(const api::KindInfo& kind,
                                                   const api::Selection& selection) const {
  const api::KindInfo& first = Served(kind);
  auto listing = ListIn(first, selection);
  if (listing.status().code() != StatusCode::kNotFound) return listing;
  for (const api::KindInfo& version : api::Kinds()) {
    if (version.hub != kind.hub || &version == &first) continue;
    auto other = ListIn(version, selection);
    if (other.status().code() == StatusCode::kNotFound) continue;
    if (other.ok()) {
      const base::MutexLock lock(mutex_);
      versions_[kind.hub] = &version;
    }
    return other;
  }
  return listing;
}

StatusOr<ObjectClient::Listing> ObjectClient::ListIn(const api::KindInfo& version,
                                                     const api::Selection& selection) const {
  const std::string path = Collection(version, selection.namespace_);
  const std::string selected = QueryOf(selection);
  api::JsonDecoder decoder;
  Listing listing;
  std::string next;
  int limit = kPage;
  for (;;) {
    std::string target = fmt::format("{}?limit={}{}", path, limit, selected);
    if (!next.empty()) target += fmt::format("&continue={}", base::PercentEncoded(next));
    auto body = Ask({.target = std::move(target)});
    // The moment that the pages are of has left the history: all at once is always possible.
    if (body.status().code() == StatusCode::kOutOfRange && !next.empty()) {
      listing = {};
      next.clear();
      limit = 0;
      continue;
    }
    if (!body.ok()) return body.status();
    ListFrame frame;
    DRAY_RETURN_IF_ERROR(Frame(decoder, *body, frame));
    for (const api::RawJson& item : frame.items) {
      DRAY_ASSIGN_OR_RETURN(api::Object object, ReadObject(decoder, version, item.text));
      listing.objects.push_back(std::move(object));
    }
    listing.revision = std::move(frame.metadata.resource_version);
    next = std::move(frame.metadata.continue_token);
    if (next.empty()) return listing;
  }
}

StatusOr<api::Object> ObjectClient::Get(const api::KindInfo& kind, std::string_view namespace_,
                                        std::string_view name) const {
  const api::KindInfo& version = Served(kind);
  DRAY_ASSIGN_OR_RETURN(const std::string body, Ask({.target = Place(version, namespace_, name)}));
  api::JsonDecoder decoder;
  return ReadObject(decoder, version, body);
}

StatusOr<api::Object> ObjectClient::Write(std::string_view method, std::string target,
                                          const api::Object& object) const {
  const api::KindInfo& version = Served(object.kind());
  target += fmt::format("?fieldManager={}&fieldValidation=Ignore", base::PercentEncoded(manager_));
  auto body =
      Ask({.method = std::string(method), .target = target, .body = object.ToJson(version)});
  const bool invalid = !body.ok() && rest::FromStatus(body.status()).code == kUnprocessable;
  if (invalid && method == "PUT") {
    body = WriteVerbatim(target, version, object, body.status());
  }
  if (!body.ok()) return body.status();
  api::JsonDecoder decoder;
  return ReadObject(decoder, version, *body);
}

StatusOr<std::string> ObjectClient::WriteVerbatim(std::string_view target,
                                                  const api::KindInfo& version,
                                                  const api::Object& object,
                                                  const Status& refused) const {
  const api::ObjectMeta& metadata = object.metadata();
  const auto stored = Ask({.target = Place(version, metadata.namespace_, metadata.name),
                           .accept = std::string(rest::kProtobufMediaType)});
  if (!stored.ok()) return refused;
  rest::RawBytes raws;
  const auto tree =
      rest::ReadProtobuf(*stored, *version.type, version.group, version.version, &raws);
  if (!tree.ok()) return refused;
  const rest::DocumentNode* seen = rest::FindIn(*tree, "metadata");
  const bool moved =
      !metadata.resource_version.empty() &&
      (seen == nullptr || rest::TextIn(*seen, "resourceVersion") != metadata.resource_version);
  // What was refused was another object; whoever writes reads this one first.
  if (moved) return rest::Modified(version, metadata.name);
  const auto written = rest::WriteProtobuf(version, object, &raws);
  if (!written.ok() || written->verbatim == 0) return refused;
  return Ask({.method = "PUT",
              .target = std::string(target),
              .body = written->body,
              .content_type = std::string(rest::kProtobufMediaType)});
}

StatusOr<api::Object> ObjectClient::Create(const api::Object& object) const {
  return Write("POST", Collection(Served(object.kind()), object.metadata().namespace_), object);
}

StatusOr<api::Object> ObjectClient::Update(const api::Object& object) const {
  const api::ObjectMeta& metadata = object.metadata();
  return Write("PUT", Place(Served(object.kind()), metadata.namespace_, metadata.name), object);
}

StatusOr<api::Object> ObjectClient::UpdateStatus(const api::Object& object) const {
  const api::ObjectMeta& metadata = object.metadata();
  return Write("PUT", Place(Served(object.kind()), metadata.namespace_, metadata.name) + "/status",
               object);
}

StatusOr<api::Object> ObjectClient::Finalize(const api::Object& object) const {
  const api::ObjectMeta& metadata = object.metadata();
  return Write("PUT",
               Place(Served(object.kind()), metadata.namespace_, metadata.name) + "/finalize",
               object);
}

StatusOr<api::Object> ObjectClient::UpdateApproval(const api::Object& object) const {
  const api::ObjectMeta& metadata = object.metadata();
  return Write("PUT",
               Place(Served(object.kind()), metadata.namespace_, metadata.name) + "/approval",
               object);
}

Status ObjectClient::Patch(const api::KindInfo& kind, std::string_view namespace_,
                           std::string_view name, std::string_view patch) const {
  return Ask({.method = "PATCH",
              .target = fmt::format("{}?fieldManager={}", Place(Served(kind), namespace_, name),
                                    base::PercentEncoded(manager_)),
              .body = std::string(patch),
              .content_type = "application/merge-patch+json"})
      .status();
}

Status ObjectClient::Delete(const api::KindInfo& kind, std::string_view namespace_,
                            std::string_view name, std::string_view uid,
                            std::optional<std::int64_t> grace_seconds) const {
  std::string body = R"({"apiVersion":"v1","kind":"DeleteOptions")";
  if (grace_seconds) body += fmt::format(R"(,"gracePeriodSeconds":{})", *grace_seconds);
  if (!uid.empty()) body += fmt::format(R"(,"preconditions":{{"uid":{}}})", Quoted(uid));
  return Ask({.method = "DELETE",
              .target = Place(Served(kind), namespace_, name),
              .body = body + "}"})
      .status();
}

Status ObjectClient::Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                          std::string_view node) const {
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
  std::string metadata = fmt::format(R"({{"name":{})", Quoted(pod));
  if (!uid.empty()) metadata += fmt::format(R"(,"uid":{})", Quoted(uid));
  return Ask({.method = "POST",
              .target = Place(kind, namespace_, pod) + "/binding",
              .body =
                  fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{}}},"target":{{)"
                              R"("apiVersion":"v1","kind":"Node","name":{}}}}})",
                              metadata, Quoted(node))})
      .status();
}

StatusOr<std::shared_ptr<LineStream>> ObjectClient::Watch(const api::KindInfo& kind,
                                                          std::string_view revision,
                                                          std::chrono::seconds longest,
                                                          const api::Selection& selection,
                                                          std::chrono::milliseconds silence) const {
  const std::string target =
      fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{}",
                  Collection(Served(kind), selection.namespace_), base::PercentEncoded(revision),
                  longest.count(), QueryOf(selection));
  return http_.Open({.target = target}, longest + kGrace, silence);
}

StatusOr<ObjectClient::WatchEvent> ObjectClient::ReadEvent(api::JsonDecoder& decoder,
                                                           const api::KindInfo& kind,
                                                           std::string_view line) const {
  if (const auto split = SplitEvent(line)) {
    // What is more than an object is not one, and read as the whole that it is.
    auto object = ReadObject(decoder, Served(kind), split->object);
    if (object.ok()) return WatchEvent{split->type, *std::move(object)};
  }
  EventFrame frame;
  DRAY_RETURN_IF_ERROR(Frame(decoder, line, frame));
  const auto type = TypeOf(frame.type);
  if (!type && frame.type == "ERROR") {
    auto told = decoder.Decode<rest::ApiError>(frame.object.text);
    if (!told.ok()) return told.status();
    return rest::ToStatus(*told);
  }
  if (!type) {
    return base::Internal(fmt::format("unknown type \"{}\" of a watch event", frame.type));
  }
  DRAY_ASSIGN_OR_RETURN(api::Object object, ReadObject(decoder, Served(kind), frame.object.text));
  return WatchEvent{*type, std::move(object)};
}

}  // namespace dray::client
