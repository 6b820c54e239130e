// SPDX-License-Identifier: Apache-2.0
//
// Auditor: writes down who did what, when, and how it ended, as far as a policy wants to know.
// Trail: one request on its way, to which it leaves its traces.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/http.h"
#include "audit/event.h"
#include "audit/policy.h"
#include "base/clock.h"
#include "logs/line_writer.h"

namespace dray::audit {

class Auditor;

// What identifies an object that a request is about, where it is known only from the object.
struct Identity {
  std::string_view name;
  std::string_view namespace_ = {};
  std::string_view uid = {};
  std::string_view resource_version = {};
};

// One thread at a time.
class Trail {
 public:
  // Who the request is made for, once that is allowed.
  void Impersonated(const apiserver::User& user);
  void Decided(bool allowed, std::string_view reason);
  // Something that somebody else wants to be known; before Answered.
  void Annotate(std::string_view key, std::string_view value);
  // Fills in what the path did not say.
  void About(const Identity& object);
  // Whether what was sent is to be written down, too.
  bool WantsRequestObject() const { return event_.level >= Level::kRequest && !secret_; }
  // What was sent, in JSON or YAML, before Answered; of several the first counts.
  void ReadBody(std::string_view body, std::string_view media_type);

  // Once. A stream goes on until Ended.
  void Answered(const apiserver::Response& response);
  void Ended();
  // Nobody has answered.
  void Dropped();

 private:
  friend class Auditor;
  Trail(Auditor& auditor, const Decision& decision) : auditor_(auditor), decision_(decision) {}
  void Write(Stage stage);
  std::string Cleaned(std::string_view body, bool yaml) const;

  Auditor& auditor_;
  const Decision decision_;
  Event event_;
  bool secret_ = false;  // a token or the like: its bodies are nobody's business
};

struct AuditCounts {
  std::uint64_t events = 0;
  std::uint64_t errors = 0;                        // events that were lost
  std::array<std::uint64_t, kLevels> levels = {};  // requests, by the level that they have
};

// Thread-safe.
class Auditor {
 public:
  // Clock and writer outlive it.
  Auditor(Policy policy, const base::Clock& clock, logs::LineWriter& writer)
      : policy_(std::move(policy)), clock_(clock), writer_(writer) {}

  // Null: the policy does not want to know of it. Views are not kept.
  std::unique_ptr<Trail> Begin(const apiserver::Request& request, const Attributes& attributes);
  // A request that no handler saw, in one event. Of one by nobody who is known the user has no name:
  // of rules that are for some users or groups only those fit that name "".
  void Refused(const apiserver::Request& request, const Attributes& attributes, int code,
               std::string_view why);

  AuditCounts counts() const;
  Status Health() const { return writer_.Health(); }

 private:
  friend class Trail;
  std::unique_ptr<Trail> MakeTrail(const apiserver::Request& request, const Attributes& attributes);

  const Policy policy_;
  const base::Clock& clock_;
  logs::LineWriter& writer_;
  std::array<std::atomic<std::uint64_t>, kLevels> levels_ = {};
};

// How somebody who was not let in has tried to say who they are, in Kubernetes's words.
std::string Attempted(const apiserver::Headers& headers, bool certificate);

// Keeps the trail of a stream until the stream ends.
std::unique_ptr<apiserver::StreamSource> Audited(std::unique_ptr<apiserver::StreamSource> stream,
                                                 std::unique_ptr<Trail> trail);

}  // namespace dray::audit
