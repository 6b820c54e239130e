// SPDX-License-Identifier: Apache-2.0
//
// Admission policies as they are stored: what they say of a write, from the moment on at which the
// policy's own write was answered. Without any it costs two loads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/authorization.h"
#include "base/mutex.h"
#include "base/status.h"
#include "policy/admission.h"
#include "policy/request.h"
#include "registry/objects.h"

namespace dray::registry {

// What a write leaves besides its answer. Thread-safe.
class WriteNotes {
 public:
  // What is said again is kept once: a write may be tried several times.
  void Add(const policy::Verdict& verdict);
  std::vector<std::string> warnings() const;
  std::map<std::string, std::string> annotations() const;

 private:
  mutable base::Mutex mutex_;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> annotations_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe.
class PolicyAdmission {
 public:
  // Outlives it.
  explicit PolicyAdmission(const api::Authorizer& authorizer);
  ~PolicyAdmission();

  // Goes by what is stored there until this is destroyed. One at a time; both outlive it.
  class Following {
   public:
    virtual ~Following() = default;
  };
  [[nodiscard]] std::unique_ptr<Following> Follow(const Objects& objects);

  // Whether there may be a policy in force.
  bool Any() const { return changed_.load() || !none_.load(); }
  // Refused: an ApiError, with the policy's words. `notes` may be null. `objects`: where the
  // request's namespace and parameters are looked up. A policy that is bound and cannot be read may forbid
  // anything: then everything is refused but leases, by which leaders and nodes show that they live.
  Status Admit(const policy::Request& request, const Objects& objects, WriteNotes* notes) const;
  // Expressions evaluated so far.
  std::uint64_t evaluated() const { return evaluated_.load(); }

 private:
  class Stored;
  struct InForce;
  std::shared_ptr<const InForce> Current() const;

  const api::Authorizer& authorizer_;
  mutable std::atomic<bool> changed_ = false;
  mutable std::atomic<bool> none_ = true;
  mutable std::atomic<std::uint64_t> evaluated_ = 0;
  mutable base::Mutex mutex_;
  Stored* stored_ ABSL_GUARDED_BY(mutex_) = nullptr;
  mutable std::shared_ptr<const InForce> in_force_ ABSL_GUARDED_BY(mutex_);
};

// Whoever gives a policy parameters must be allowed to read them: its messages could tell them.
// Forbidden says what is missing; other kinds, and what stays as it was, pass. `old` is null for a
// create.
Status CheckPolicyParams(const api::UserInfo& user, const api::Authorizer& authorizer,
                         const Objects& objects, const api::Object& next, const api::Object* old);

// Writes into the status of a policy what is known of its expressions: where they do not fit the
// kinds that they will see. Other kinds stay as they are.
void ObservePolicy(api::Object& object, const Objects& objects);

// What is wrong with the expressions of a policy that is to be stored. Other kinds have none.
api::ErrorList CheckPolicyExpressions(const api::Object& object);

}  // namespace dray::registry
