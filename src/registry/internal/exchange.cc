// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/exchange.h"

#include <map>
#include <utility>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/quantity.h"
#include "fmt/format.h"
#include "registry/roles.h"
#include "rest/api_error.h"
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

// v1beta1 came with 1.32 and v1beta2 with 1.33; each is deprecated three minor versions later.
std::optional<std::string> Deprecation(const api::KindInfo& kind) {
  if (kind.group != "resource.k8s.io") return std::nullopt;
  if (kind.version != "v1beta1" && kind.version != "v1beta2") return std::nullopt;
  if (kind.kind == "DeviceTaintRule") return std::nullopt;
  const int introduced = kind.version == "v1beta1" ? 32 : 33;
  return fmt::format("{} {} is deprecated in v1.{}+, unavailable in v1.{}+", kind.ApiVersion(),
                     kind.kind, introduced + 3, introduced + 6);
}

std::string DeviceKey(std::string_view driver, std::string_view pool, std::string_view device) {
  return fmt::format("{}/{}/{}", driver, pool, device);
}

}  // namespace

api::UserInfo Exchange::user() const {
  api::UserInfo user{.name = request.user.name, .groups = request.user.groups};
  // As tokens of service accounts say in Kubernetes where they are used.
  if (const std::string_view node = NodeOf(user); !node.empty()) {
    user.extra[std::string(api::kNodeNameExtra)] = {std::string(node)};
  }
  return user;
}

apiserver::Response Exchange::Begin(int code, std::string_view content_type) const {
  apiserver::Response response;
  response.status = code;
  response.headers.Add("Content-Type", std::string(content_type));
  response.headers.Add("Cache-Control", "no-cache, private");
  for (const std::string& warning : warnings) {
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
  responder->Send(std::move(response));
}

void Exchange::SendText(int code, std::string body) {
  apiserver::Response response = Begin(code, "text/plain; charset=utf-8");
  response.body = std::make_shared<const std::string>(std::move(body));
  responder->Send(std::move(response));
}

void Exchange::SendError(const Status& status) {
  const rest::ApiError error = rest::FromStatus(status);
  apiserver::Response response = Begin(error.code, "application/json");
  if (error.details && error.details->retry_after_seconds > 0) {
    response.headers.Add("Retry-After", fmt::format("{}", error.details->retry_after_seconds));
  }
  response.body = std::make_shared<const std::string>(error.ToJson());
  responder->Send(std::move(response));
}

void Exchange::SendObject(int code, const api::Object& object) {
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
  Send(code, object.ToJson(kind()));
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

namespace {

// What claims have of one device.
struct Held {
  bool whole = false;  // not only shares of it
  std::map<std::string, base::Quantity> consumed;
};

// A capacity's name is the same with the driver's domain and without.
std::string BareName(std::string_view name, std::string_view driver) {
  const bool own = name.starts_with(driver) && name.substr(driver.size()).starts_with("/");
  return std::string(own ? name.substr(driver.size() + 1) : name);
}

// Whether somebody could have another share: none of its capacities is used up.
bool HasRoom(const api::Device& device, std::string_view driver, const Held& held) {
  if (held.whole || !device.allow_multiple_allocations.value_or(false)) return false;
  for (const auto& [name, capacity] : device.capacity) {
    const auto used = held.consumed.find(BareName(name, driver));
    if (used != held.consumed.end() && used->second >= capacity.value) return false;
  }
  return true;
}

}  // namespace

rest::TableContext TableContextFor(const Registry& registry, const api::KindInfo& kind) {
  rest::TableContext context{.now = registry.clock().Now()};
  if (kind.hub != &api::TypeInfoOf<api::ResourceSlice>()) return context;
  // One pass over the claims for all slices of the table.
  std::map<std::string, Held> held;
  const api::KindInfo& claims = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
  for (const StoredObjectPtr& stored : registry.objects().All(claims)) {
    const auto& claim = *stored->object().As<api::ResourceClaim>();
    if (!claim.status.allocation.has_value()) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.admin_access.value_or(false)) continue;
      Held& device = held[DeviceKey(result.driver, result.pool, result.device)];
      device.whole |= !result.share_id.has_value();
      for (const auto& [name, amount] : result.consumed_capacity) {
        device.consumed[BareName(name, result.driver)] += amount;
      }
    }
  }
  context.free_devices =
      [held = std::move(held)](const api::ResourceSlice& slice) -> std::optional<std::int64_t> {
    std::int64_t free = 0;
    if (!slice.spec.devices) return free;
    for (const api::Device& device : *slice.spec.devices) {
      const auto found = held.find(DeviceKey(slice.spec.driver, slice.spec.pool.name, device.name));
      if (found == held.end() || HasRoom(device, slice.spec.driver, found->second)) ++free;
    }
    return free;
  };
  return context;
}

}  // namespace dray::registry::internal
