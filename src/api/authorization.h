// SPDX-License-Identifier: Apache-2.0
//
// The checks on claims that need more than the object: who asks, and which namespace it is in.
// Their failures are field errors and are reported together with those of validation.
//
// Spec: docs/spec/api.md section 8; KEP-5018 (admin access).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "api/map.h"
#include "api/resource_claim.h"
#include "base/status.h"

namespace dray::api {

// Of UserInfo::extra: the node on which whoever has the credentials runs.
inline constexpr std::string_view kNodeNameExtra = "authentication.kubernetes.io/node-name";

struct UserInfo {
  std::string name;
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
  std::string uid = {};
};

// One permission that is asked for. An empty namespace is the whole cluster, an empty name all
// objects.
struct AuthorizationRequest {
  UserInfo user;
  std::string verb;
  std::string api_group = {};
  std::string resource = {};
  std::string subresource = {};
  std::string namespace_ = {};
  std::string name = {};
  // Of a list, a watch or a deletion of many: what was asked for, as it was written.
  std::string field_selector = {};
  // Something that is no resource, such as /metrics; then nothing above but user and verb counts.
  std::string path = {};

  bool IsResource() const { return path.empty(); }
};

struct AuthorizationDecision {
  bool allowed = false;
  std::string reason = {};  // why not; may be empty
  // What went wrong on the way. An authorizer may allow nevertheless; then this is not looked at.
  Status error = absl::OkStatus();
};

// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // May be called several times for one update, each time for another permission; no state is kept
  // between calls.
  virtual AuthorizationDecision Authorize(const AuthorizationRequest& request) const = 0;
};

// Thread-safe.
class NamespaceLabels {
 public:
  virtual ~NamespaceLabels() = default;
  // The labels of a namespace; NotFound when there is no such namespace.
  virtual StatusOr<Map<std::string>> LabelsOf(std::string_view namespace_) const = 0;
};

// Who sends an update, how (update, patch), and to which namespace.
struct RequestInfo {
  UserInfo user;
  std::string verb;
  std::string namespace_;
};

// Admin access that a new claim or template asks for: its namespace must carry the label
// resource.kubernetes.io/admin-access=true. Objects of other kinds pass. Updates need no check, the
// spec cannot change.
ErrorList CheckAdminAccess(const Object& object, const NamespaceLabels& namespaces);
// The same for a status that newly has an allocation with admin access.
ErrorList CheckAdminAccessOfStatus(const ResourceClaim& claim, const ResourceClaim& old,
                                   const NamespaceLabels& namespaces);

// Changing status.allocation or status.reservedFor takes the request's verb on
// resourceclaims/binding, in the whole cluster.
ErrorList CheckBinding(const ResourceClaimStatus& status, const ResourceClaimStatus& old,
                       const RequestInfo& request, const Authorizer& authorizer);
// Changing status.devices takes, for each driver concerned, arbitrary-node:<verb> on
// resourceclaims/driver with the driver's name, or associated-node:<verb> for a service account on
// the one node that the claim is allocated for.
ErrorList CheckDeviceStatus(const ResourceClaimStatus& status, const ResourceClaimStatus& old,
                            const RequestInfo& request, const Authorizer& authorizer);

// All checks of a claim's status update, as far as the gates ask for them. `claim` was prepared.
ErrorList AuthorizeStatusUpdate(const ResourceClaim& claim, const ResourceClaim& old,
                                const RequestInfo& request, const FeatureGates& gates,
                                const Authorizer& authorizer, const NamespaceLabels& namespaces);

// The drivers whose entries in status.devices were added, changed or removed; sorted.
std::vector<std::string> ModifiedDrivers(const ResourceClaimStatus& old,
                                         const ResourceClaimStatus& status);

}  // namespace dray::api
