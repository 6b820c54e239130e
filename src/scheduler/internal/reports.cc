// SPDX-License-Identifier: Apache-2.0
#include "scheduler/internal/reports.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/pod.h"

namespace dray::scheduler::internal {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// Somebody else wrote the pod in between: the pod is read again at once.
constexpr int kConflicts = 3;
constexpr seconds kFirstBackoff{1};
constexpr seconds kLongestBackoff{30};
// When a server comes back, thousands may have something to be told. Decisions come first.
constexpr std::size_t kAgainAtOnce = 16;

// What a server refuses for good it would refuse once more.
bool MayWorkLater(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnknown:
    case StatusCode::kAborted:
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

nanoseconds Backoff(int failed) {
  nanoseconds backoff = kFirstBackoff;
  for (; failed > 1 && backoff < kLongestBackoff; --failed) backoff *= 2;
  return std::min<nanoseconds>(backoff, kLongestBackoff);
}

// 0: not a number, and not to be compared.
std::uint64_t RevisionOf(const api::ObjectMeta& metadata) {
  const std::string& text = metadata.resource_version;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() ? number : 0;
}

// Whether anything was to be changed.
bool Apply(const Report& report, base::Time now, api::PodStatus& status) {
  auto& conditions = status.conditions;
  auto condition =
      std::ranges::find(conditions, api::kPodScheduledCondition, &api::PodCondition::type);
  const bool same_condition = condition != conditions.end() && condition->status == "False" &&
                              condition->reason == report.reason &&
                              condition->message == report.message;
  const bool same_node = !report.nominated || *report.nominated == status.nominated_node_name;
  if (same_condition && same_node) return false;
  if (condition == conditions.end()) {
    conditions.push_back({.type = std::string(api::kPodScheduledCondition)});
    condition = conditions.end() - 1;
  }
  if (condition->status != "False") {
    condition->status = "False";
    condition->last_transition_time = now;
  }
  condition->reason = report.reason;
  condition->message = report.message;
  if (report.nominated) status.nominated_node_name = *report.nominated;
  return true;
}

}  // namespace

void Reports::Tell(std::shared_ptr<const PodInfo> pod, Report report) {
  const std::string key = pod->key;
  const std::uint64_t number = ++numbers_;
  open_.insert_or_assign(key, Open{std::move(pod), std::move(report), number});
  if (background_ == nullptr) return Write(key, number);
  background_->Run([this, key, number] { Write(key, number); });
}

bool Reports::Nominates(std::string_view pod) const {
  const auto found = open_.find(pod);
  return found != open_.end() && found->second.report.nominated.has_value();
}

Reports::Open* Reports::FindOpen(std::string_view pod, std::uint64_t number) {
  const auto found = open_.find(pod);
  return found == open_.end() || found->second.number != number ? nullptr : &found->second;
}

void Reports::Write(const std::string& pod, std::uint64_t number) {
  Status status;
  for (int tries = 0; tries < kConflicts; ++tries) {
    // Whenever the cluster was waited for, others had their turn.
    const Open* const open = FindOpen(pod, number);
    if (open == nullptr) return;
    const std::shared_ptr<const PodInfo> info = open->pod;
    const Report report = open->report;
    // Most often nobody else has written it since it was seen: then it need not be asked for.
    status = TryOnce(*info, number, report, /*read=*/tries > 0 || open->failed > 0);
    if (status.code() != StatusCode::kAborted) break;
  }
  Open* const open = FindOpen(pod, number);
  if (open == nullptr) return;
  if (!MayWorkLater(status)) {
    open_.erase(pod);
    return;
  }
  due_.insert({clock_.Monotonic() + Backoff(++open->failed), pod, number});
}

const api::Pod* Reports::Newest(const PodInfo& pod) const {
  const auto written = written_.find(pod.key);
  if (written == written_.end() || written->second.metadata().uid != pod.pod->metadata.uid) {
    return pod.pod.get();
  }
  const std::uint64_t ours = RevisionOf(written->second.metadata());
  const std::uint64_t seen = RevisionOf(pod.pod->metadata);
  if (ours == 0 || seen == 0) return nullptr;
  return ours > seen ? written->second.As<api::Pod>() : pod.pod.get();
}

Status Reports::TryOnce(const PodInfo& pod, std::uint64_t number, const Report& report, bool read) {
  const api::ObjectMeta& metadata = pod.pod->metadata;
  const api::Pod* known = read ? nullptr : Newest(pod);
  api::Pod changed;
  if (known != nullptr) {
    changed = *known;
  } else {
    // PreBind or PostFilter may have written the pod since it was seen.
    DRAY_ASSIGN_OR_RETURN(const std::optional<api::Object> stored,
                          cluster_.Find(api::HubKind(api::TypeInfoOf<api::Pod>()),
                                        metadata.namespace_, metadata.name));
    if (!stored || stored->metadata().uid != metadata.uid) return {};
    // Something newer may have been written before this was read: that stays.
    if (FindOpen(pod.key, number) == nullptr) return {};
    changed = *stored->As<api::Pod>();
  }
  if (!changed.spec.node_name.empty()) return {};  // it need not be told any more
  if (!Apply(report, clock_.Now(), changed.status)) return {};
  auto written = cluster_.UpdateStatus(api::Object::Of(std::move(changed)));
  if (!written.ok()) return written.status();
  const auto found = written_.find(pod.key);
  // An answer may overtake the one before it.
  if (found == written_.end() ||
      RevisionOf(found->second.metadata()) < RevisionOf(written->metadata())) {
    written_.insert_or_assign(pod.key, *std::move(written));
  }
  return {};
}

void Reports::Tick() {
  const nanoseconds now = clock_.Monotonic();
  for (std::size_t tried = 0; tried < kAgainAtOnce && again_ < kAgainAtOnce;) {
    if (due_.empty() || due_.begin()->when > now) return;
    const Due due = *due_.begin();
    due_.erase(due_.begin());
    if (FindOpen(due.pod, due.number) == nullptr) continue;
    ++tried;
    if (background_ == nullptr) {
      Write(due.pod, due.number);
      continue;
    }
    ++again_;
    background_->Run([this, due] {
      Write(due.pod, due.number);
      --again_;
    });
  }
}

std::optional<nanoseconds> Reports::NextDue() const {
  // Who is done calls the scheduler again.
  if (due_.empty() || again_ >= kAgainAtOnce) return std::nullopt;
  return due_.begin()->when;
}

}  // namespace dray::scheduler::internal
