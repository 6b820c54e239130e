// SPDX-License-Identifier: Apache-2.0
#include "node/pod_worker.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/seconds.h"
#include "fmt/format.h"
#include "node/internal/pod_track.h"
#include "node/plugin_health.h"
#include "node/termination_message.h"

namespace dray::node {
namespace {

constexpr std::chrono::seconds kFirstWriteRetry{1};
constexpr std::chrono::seconds kLongestWriteRetry{30};

std::uint64_t VersionOf(const api::Object& object) {
  const std::string& text = object.metadata().resource_version;
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

api::Object Placeholder(const container::PodIdentity& identity) {
  api::Pod pod;
  pod.metadata.namespace_ = identity.namespace_;
  pod.metadata.name = identity.name;
  pod.metadata.uid = identity.uid;
  return api::Object::Of(std::move(pod));
}

// Whether two lists say the same of a pod.
bool Same(const PodInventory& a, const PodInventory& b) {
  const auto sandbox = [](const container::SandboxInfo& x, const container::SandboxInfo& y) {
    return x.id == y.id && x.ready == y.ready && x.ips == y.ips;
  };
  const auto one = [](const container::ContainerInfo& x, const container::ContainerInfo& y) {
    return x.id == y.id && x.state == y.state && x.exit_code == y.exit_code &&
           x.started_at == y.started_at && x.finished_at == y.finished_at;
  };
  return std::ranges::equal(a.sandboxes, b.sandboxes, sandbox) &&
         std::ranges::equal(a.containers, b.containers, one);
}

// All containers together may say so much; if they say more, each gets its share.
void ShortenMessages(PodView& view) {
  std::vector<std::string*> messages;
  std::size_t all = 0;
  for (auto* list : {&view.init, &view.main, &view.ephemeral}) {
    for (ContainerView& one : *list) {
      if (!one.exited() || one.latest->message.empty()) continue;
      messages.push_back(&one.latest->message);
      all += one.latest->message.size();
    }
  }
  if (all <= kLongestMessages) return;
  for (std::string* message : messages) {
    *message = LastText(*message, kLongestMessages / messages.size());
  }
}

}  // namespace

std::chrono::nanoseconds NextDelay(std::chrono::nanoseconds before, std::chrono::nanoseconds first,
                                   std::chrono::nanoseconds longest) {
  return before <= std::chrono::nanoseconds(0) ? first : std::min(before * 2, longest);
}

PodWorker::PodWorker(PodHost& host, api::Object object)
    : host_(host), uid_(object.metadata().uid), object_(std::move(object)) {
  for (const api::Container& spec : pod().spec.init_containers) {
    init_.push_back(std::make_unique<Track>(Track{.spec = spec, .is_init = true}));
  }
  for (const api::Container& spec : pod().spec.containers) {
    main_.push_back(std::make_unique<Track>(Track{.spec = spec}));
  }
  for (auto* list : {&init_, &main_}) {
    for (auto& track : *list) {
      track->view.spec = &track->spec;
      track->lifecycle = ReadLifecycle(track->spec);
      track->view.stop_signal = track->lifecycle.stop_signal;
    }
  }
  AddDebuggers();
  AdoptStatus();
  needed_ = 1;
}

PodWorker::PodWorker(PodHost& host, const container::PodIdentity& identity)
    : host_(host), uid_(identity.uid), object_(Placeholder(identity)), object_exists_(false) {
  admitted_ = true;
  terminating_ = true;
  needed_ = 1;
}

PodWorker::~PodWorker() = default;

// Containers for debugging come while the pod runs, and stay as they are.
void PodWorker::AddDebuggers() {
  for (const api::EphemeralContainer& one : pod().spec.ephemeral_containers) {
    const bool known = std::ranges::any_of(
        ephemeral_, [&](const auto& track) { return track->spec.name == one.common.name; });
    if (known) continue;
    auto& track = ephemeral_.emplace_back(
        std::make_unique<Track>(Track{.spec = one.common, .target = one.target_container_name}));
    track->view.spec = &track->spec;
  }
}

// What an agent before this one has written is where it goes on.
void PodWorker::AdoptStatus() {
  const api::PodStatus& status = pod().status;
  // It was let in once; nobody is thrown out because the agent was started again.
  admitted_ = !status.container_statuses.empty() || status.phase == api::kPodRunning ||
              host_.claims().Holds(uid_) || IsTerminal(status);
  const auto adopt = [&](std::vector<std::unique_ptr<Track>>& tracks,
                         const std::vector<api::ContainerStatus>& statuses) {
    for (auto& track : tracks) {
      const auto it = std::ranges::find(statuses, track->spec.name, &api::ContainerStatus::name);
      if (it == statuses.end()) continue;
      track->view.latest = InfoFrom(*it, host_.runtime_name());
      track->view.restarts = it->restart_count;
      if (track->view.latest) {
        track->next_attempt = static_cast<std::uint32_t>(it->restart_count) + 1;
      }
    }
  };
  adopt(init_, status.init_container_statuses);
  adopt(main_, status.container_statuses);
  adopt(ephemeral_, status.ephemeral_container_statuses);
}

void PodWorker::OnObject(api::Object object) {
  // Our own write was answered before the watch came by with what was before it.
  if (VersionOf(object) != 0 && VersionOf(object) < VersionOf(object_)) return;
  const api::PodStatus& before = pod().status;
  const api::PodStatus& after = object.As<api::Pod>()->status;
  const bool claims_changed =
      before.resource_claim_statuses != after.resource_claim_statuses ||
      before.extended_resource_claim_status != after.extended_resource_claim_status;
  const api::ObjectMeta& was = pod().metadata;
  const api::ObjectMeta& now = object.metadata();
  // A pod may read of its labels in a volume.
  if (volumes_.changes && (was.labels != now.labels || was.annotations != now.annotations)) {
    volumes_old_ = true;
  }
  object_ = std::move(object);
  object_exists_ = true;
  AddDebuggers();
  if (claims_changed) prepare_at_.reset();
  // Less time than before: those that are being stopped are told.
  if (terminating_ && stopping_with_.count() >= 0 && Grace() < stopping_with_) {
    stopping_with_ = Grace();
    for (const container::ContainerInfo& info : inventory_.containers) {
      if (info.state != container::ContainerState::kRunning) continue;
      host_.runtime().Stop(info.id, stopping_with_, [](const Status&) {});
    }
  }
  Sync();
}

void PodWorker::OnObjectGone() {
  object_exists_ = false;
  Sync();
}

void PodWorker::OnInventory(const PodInventory& inventory, std::uint64_t number) {
  // Pods are many and lists are often: whom a list tells nothing new, and who did not wait for it,
  // has nothing to do. What is due at a time has a timer.
  const bool waited = number_ < needed_;
  number_ = number;
  if (!waited && Same(inventory_, inventory)) return;
  inventory_ = inventory;
  RefreshViews();
  Sync();
}

void PodWorker::OnDriverReady() {
  prepare_at_.reset();
  prepare_delay_ = {};
  unprepare_at_.reset();
  unprepare_delay_ = {};
  Sync();
}

PodWorker::Track* PodWorker::FindTrack(std::string_view name) {
  for (auto* list : {&init_, &main_, &ephemeral_}) {
    for (auto& track : *list) {
      if (track->spec.name == name) return track.get();
    }
  }
  return nullptr;
}

const ContainerView* PodWorker::FindContainer(std::string_view name) const {
  const Track* track = const_cast<PodWorker*>(this)->FindTrack(name);
  return track != nullptr ? &track->view : nullptr;
}

const container::SandboxInfo* PodWorker::FindSandbox() const {
  const auto it = std::ranges::find_if(inventory_.sandboxes, &container::SandboxInfo::ready);
  return it != inventory_.sandboxes.end() ? &*it : nullptr;
}

void PodWorker::RefreshViews() {
  for (auto* list : {&init_, &main_, &ephemeral_}) {
    for (auto& track : *list) {
      ContainerView& view = track->view;
      const container::ContainerInfo* latest = nullptr;
      const container::ContainerInfo* before = nullptr;
      for (const container::ContainerInfo& info : inventory_.containers) {
        if (info.name != track->spec.name) continue;
        if (latest == nullptr || info.attempt > latest->attempt) {
          before = std::exchange(latest, &info);
        } else if (before == nullptr || info.attempt > before->attempt) {
          before = &info;
        }
      }
      if (latest == nullptr) {
        // It is not there any more, and nobody has seen it end.
        if (view.latest && !view.exited()) {
          view.latest->state = container::ContainerState::kExited;
          view.latest->exit_code = 137;
          view.latest->reason = "ContainerStatusUnknown";
          view.latest->message = "The container is not there any more";
          view.latest->finished_at = host_.loop().clock().Now();
        }
        track->Settle();
        continue;
      }
      if (before != nullptr) {
        view.before = *before;
        AddMessage(*track, *view.before);
      } else if (view.latest && view.latest->attempt < latest->attempt) {
        view.before = view.latest;
      }
      view.latest = *latest;
      AddMessage(*track, *view.latest);
      track->Settle();
      view.restarts = static_cast<std::int32_t>(latest->attempt);
      track->next_attempt = latest->attempt + 1;
      if (view.running()) {
        view.waiting_reason.clear();
        view.waiting_message.clear();
      }
    }
  }
}

PodView PodWorker::View() const {
  PodView view;
  view.pod = &pod();
  for (const auto& track : init_) view.init.push_back(track->view);
  for (const auto& track : main_) {
    ContainerView& one = view.main.emplace_back(track->view);
    one.devices.clear();
    if (!host_.health_in_status()) continue;
    const auto claims = host_.claims().ClaimsFor(pod(), track->spec);
    if (!claims.ok()) continue;
    for (const ContainerClaim& claim : *claims) {
      if (hide_extended_ && pod().status.extended_resource_claim_status &&
          claim.claim == pod().status.extended_resource_claim_status->resource_claim_name) {
        continue;
      }
      std::vector<UsedDevice> devices = claim.devices;
      std::ranges::stable_sort(devices, [](const UsedDevice& a, const UsedDevice& b) {
        return std::tie(a.driver, a.device.pool, a.device.device) <
               std::tie(b.driver, b.device.pool, b.device.device);
      });
      api::ResourceStatus status{.name = claim.label};
      for (const UsedDevice& used : devices) {
        const HealthOfDevice health =
            host_.plugins().HealthOf({used.driver, used.device.pool, used.device.device});
        std::string id =
            used.device.cdi_ids.empty()
                ? fmt::format("{}/{}/{}", used.driver, used.device.pool, used.device.device)
                : used.device.cdi_ids.front();
        if (std::ranges::find(status.resources, id, &api::ResourceHealth::resource_id) !=
            status.resources.end()) {
          continue;
        }
        api::ResourceHealth& shown = status.resources.emplace_back();
        shown.resource_id = std::move(id);
        shown.health = ToString(health.health);
        if (!health.message.empty() && host_.health_messages()) shown.message = health.message;
      }
      if (!status.resources.empty()) one.devices.push_back(std::move(status));
    }
  }
  for (const auto& track : ephemeral_) view.ephemeral.push_back(track->view);
  ShortenMessages(view);
  for (const container::SandboxInfo& sandbox : inventory_.sandboxes) {
    if (sandbox.ready) view.sandbox = sandbox;
  }
  view.host_ips = host_.host_ips();
  view.runtime = host_.runtime_name();
  view.verdict = verdict_;
  view.ended = ended_;
  view.now = host_.loop().clock().Now();
  return view;
}

void PodWorker::Sync() {
  if (finished_) return;
  if (!busy_.empty() || number_ < needed_) {
    // What is known so far is worth telling, once there is something to know.
    if (number_ == 0 || busy_ == kReadingMessages) return;
    if (!terminating_) UpdateProbes();
    return WriteStatus();
  }
  if (ReadMessages()) return;
  retry_.Cancel();
  Decide();
  if (!terminating_) UpdateProbes();
  const std::weak_ptr<int> alive = alive_;
  terminating_ ? StepEnd() : StepRun();
  if (!alive.expired() && !finished_) WriteStatus();
}

void PodWorker::Decide() {
  if (terminating_) return;
  const api::Pod& now = pod();
  if (!object_exists_ || now.metadata.deletion_timestamp || IsTerminal(now.status)) {
    return BeginEnd();
  }
  if (verdict_) return BeginEnd();
  if (now.spec.active_deadline_seconds && now.status.start_time) {
    const base::Time end =
        *now.status.start_time + base::BoundedSeconds(*now.spec.active_deadline_seconds);
    const base::Time clock = host_.loop().clock().Now();
    if (clock >= end) {
      verdict_ = Verdict{"DeadlineExceeded",
                         "Pod was active on the node longer than the specified deadline"};
      Note("Normal", "DeadlineExceeded", verdict_->message);
      return BeginEnd();
    }
    deadline_ = host_.loop().After(end - clock, [this] { Sync(); });
  }
}

void PodWorker::Busy(std::string_view what) { busy_ = what; }

void PodWorker::Idle(bool changed_runtime) {
  busy_.clear();
  if (changed_runtime) needed_ = host_.RequestList();
  Sync();
}

void PodWorker::RetryAfter(std::chrono::nanoseconds time) {
  // Whoever looks finds out what is due; all that is needed is that somebody looks.
  const auto due = host_.loop().Now() + time;
  if (retry_.pending() && retry_due_ <= due) return;
  retry_due_ = due;
  retry_ = host_.loop().After(time, [this] { Sync(); });
}

bool PodWorker::Later(std::optional<std::chrono::nanoseconds>& at) {
  if (!at) return false;
  const auto left = *at - host_.loop().Now();
  if (left <= std::chrono::nanoseconds(0)) {
    at.reset();
    return false;
  }
  RetryAfter(left);
  return true;
}

void PodWorker::Note(std::string_view type, std::string_view reason, std::string message) {
  if (object_exists_) host_.Note(object_, type, reason, std::move(message));
}

std::function<void(Status)> PodWorker::BackStatus(std::function<void(Status)> then) {
  return
      [&loop = host_.loop(), then = std::move(then), alive = std::weak_ptr(alive_)](Status status) {
        loop.Post([then, alive, status = std::move(status)] {
          if (!alive.expired()) then(status);
        });
      };
}

// ---- The status ----

void PodWorker::WriteStatus() {
  if (!object_exists_ || writing_) return;
  // A final status is final; what an agent before this one has written there stays.
  if (IsTerminal(pod().status)) return;
  api::PodStatus status = StatusOf(View());
  if (api::SemanticEqual(status, pod().status)) return;
  if (Later(write_at_)) return;
  api::Object next = object_;
  next.Mutable<api::Pod>()->status = std::move(status);
  writing_ = true;
  api::Cluster& cluster = host_.cluster();
  Away(
      host_.offload(), host_.loop(),
      [&cluster, next = std::move(next)] { return cluster.UpdateStatus(next); },
      [this, alive = std::weak_ptr(alive_)](StatusOr<api::Object> written) {
        if (!alive.expired()) StatusWritten(std::move(written));
      });
}

void PodWorker::StatusWritten(StatusOr<api::Object> written) {
  writing_ = false;
  if (written.ok()) {
    write_delay_ = {};
    if (VersionOf(*written) >= VersionOf(object_)) object_ = *std::move(written);
    return Sync();
  }
  // Not every server knows devices of extended resources in a status: better none of them than no
  // status at all.
  if (written.status().code() == StatusCode::kInvalidArgument &&
      pod().status.extended_resource_claim_status && !std::exchange(hide_extended_, true)) {
    return Sync();
  }
  write_delay_ = NextDelay(write_delay_, kFirstWriteRetry, kLongestWriteRetry);
  write_at_ = host_.loop().Now() + write_delay_;
  if (written.status().code() != StatusCode::kAborted &&
      written.status().code() != StatusCode::kNotFound) {
    host_.log().Warning("The status of a pod could not be written",
                        {{"pod", pod().metadata.namespace_ + "/" + pod().metadata.name},
                         {"err", written.status()}});
    return Sync();
  }
  // Somebody else has written: what is there now is what the next one is made from.
  writing_ = true;
  api::Cluster& cluster = host_.cluster();
  Away(
      host_.offload(), host_.loop(),
      [&cluster, ns = pod().metadata.namespace_, name = pod().metadata.name] {
        return cluster.Find(api::HubKind(api::TypeInfoOf<api::Pod>()), ns, name);
      },
      [this, alive = std::weak_ptr(alive_)](StatusOr<std::optional<api::Object>> found) {
        if (alive.expired()) return;
        writing_ = false;
        if (!found.ok()) return Sync();
        if (!found->has_value() || (*found)->metadata().uid != uid_) return OnObjectGone();
        write_at_.reset();
        OnObject(**std::move(found));
      });
}

}  // namespace dray::node
