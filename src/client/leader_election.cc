// SPDX-License-Identifier: Apache-2.0
#include "client/leader_election.h"

#include <utility>

#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"

namespace dray::client {
namespace {

const api::KindInfo& LeaseKind() { return api::HubKind(api::TypeInfoOf<api::Lease>()); }

// Whole seconds, as the object has them; what is left over is for us to be careful with.
int SecondsOf(std::chrono::nanoseconds duration) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

// Who has just missed a try has another one before the deadline.
constexpr double kJitter = 1.2;

}  // namespace

Status CheckLease(const LeaseOptions& options) {
  const auto shown = [](std::chrono::nanoseconds time) { return base::GoDurationToString(time); };
  if (!base::IsDnsSubdomain(options.name)) {
    return base::InvalidArgument(fmt::format(
        "\"{}\" cannot be the name of a Lease: small letters, digits, '-' and '.'", options.name));
  }
  if (!base::IsDnsLabel(options.namespace_)) {
    return base::InvalidArgument(
        fmt::format("\"{}\" cannot be the namespace of a Lease", options.namespace_));
  }
  if (options.retry.count() <= 0 || SecondsOf(options.duration) < 1) {
    return base::InvalidArgument(
        fmt::format("a lease must last at least 1s ({}) and be tried for now and then ({})",
                    shown(options.duration), shown(options.retry)));
  }
  if (options.duration <= options.renew_deadline) {
    return base::InvalidArgument(
        fmt::format("a lease must last longer ({}) than its holder tries to renew it ({})",
                    shown(options.duration), shown(options.renew_deadline)));
  }
  if (std::chrono::duration<double>(options.renew_deadline) <=
      kJitter * std::chrono::duration<double>(options.retry)) {
    return base::InvalidArgument(
        fmt::format("the time in which to renew a lease ({}) must be more than 1.2 times that "
                    "between two tries ({})",
                    shown(options.renew_deadline), shown(options.retry)));
  }
  return {};
}

LeaderElector::LeaderElector(api::Cluster& cluster, const base::Clock& clock, LeaseOptions options)
    : cluster_(cluster), clock_(clock), options_(std::move(options)) {}

StatusOr<std::optional<api::Lease>> LeaderElector::Stored() const {
  DRAY_ASSIGN_OR_RETURN(const auto found,
                        cluster_.Find(LeaseKind(), options_.namespace_, options_.name));
  if (!found) return std::nullopt;
  return std::optional(*found->As<api::Lease>());
}

bool LeaderElector::Try() {
  trouble_ =
      base::Annotate(Attempt(true), fmt::format("lease {}/{}", options_.namespace_, options_.name));
  return leading();
}

bool LeaderElector::Renew() {
  trouble_ = base::Annotate(Attempt(false),
                            fmt::format("lease {}/{}", options_.namespace_, options_.name));
  return leading();
}

// Who waits for what is read here may be suspended for as long as others need to lead and to give the lease back: so
// whether it may be taken is asked of what was read, and not of the time.
Status LeaderElector::Attempt(bool take) {
  DRAY_ASSIGN_OR_RETURN(std::optional<api::Lease> stored, Stored());
  if (!stored) {
    if (!take && !leading()) return {};
    api::Lease lease;
    lease.metadata.namespace_ = options_.namespace_;
    lease.metadata.name = options_.name;
    lease.spec.lease_transitions = 0;
    return Write(std::move(lease), true);
  }
  if (stored->metadata.resource_version != seen_revision_) {
    seen_revision_ = stored->metadata.resource_version;
    seen_at_ = clock_.Monotonic();
  }
  holder_ = stored->spec.holder_identity.value_or("");
  const bool ours = holder_ == options_.identity;
  if (!ours) renewed_at_ = kNever;
  // The holder says how long it lasts; it may have been started with other options than we.
  const std::chrono::seconds lasts(
      stored->spec.lease_duration_seconds.value_or(SecondsOf(options_.duration)));
  const bool over = clock_.Monotonic() - seen_at_ >= lasts;
  if (!ours && (!take || (!holder_.empty() && !over))) return {};
  return Write(*std::move(stored), false);
}

Status LeaderElector::Write(api::Lease lease, bool create) {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  api::LeaseSpec& spec = lease.spec;
  spec.renew_time = api::MicroTime{clock_.Now()};
  if (spec.holder_identity != options_.identity) {
    spec.acquire_time = spec.renew_time;
    if (!create) spec.lease_transitions = spec.lease_transitions.value_or(0) + 1;
  }
  spec.holder_identity = options_.identity;
  spec.lease_duration_seconds = SecondsOf(options_.duration);
  auto object = api::Object::Of(std::move(lease));
  const auto written =
      create ? cluster_.Create(std::move(object)) : cluster_.Update(std::move(object));
  // Somebody was faster: the next Try sees who. That is how an election goes.
  if (written.status().code() == StatusCode::kAborted ||
      written.status().code() == StatusCode::kAlreadyExists) {
    return {};
  }
  if (!written.ok()) return written.status();
  seen_revision_ = written->metadata().resource_version;
  seen_at_ = now;
  renewed_at_ = now.count();
  holder_ = options_.identity;
  return {};
}

bool LeaderElector::leading() const {
  const std::int64_t renewed = renewed_at_;
  return renewed != kNever &&
         clock_.Monotonic() - std::chrono::nanoseconds(renewed) < options_.renew_deadline;
}

void LeaderElector::Release() {
  if (renewed_at_.exchange(kNever) == kNever) return;
  const auto read = Stored();
  if (!read.ok()) return;
  std::optional<api::Lease> stored = *read;
  if (!stored || stored->spec.holder_identity != options_.identity) return;
  stored->spec.holder_identity = "";
  stored->spec.lease_duration_seconds = 1;
  static_cast<void>(cluster_.Update(api::Object::Of(*std::move(stored))));
}

}  // namespace dray::client
