// SPDX-License-Identifier: Apache-2.0
#include "console/hub.h"

#include <algorithm>
#include <utility>

#include "api/namespace.h"
#include "api/resource_claim.h"
#include "console/door.h"
#include "fleet/fleet_json.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

constexpr std::size_t kMostLine = 8u << 20;
constexpr std::size_t kMostReleased = 10'000;
constexpr std::size_t kBatch = 20'000;  // changes before somebody else has a turn

std::int64_t Seconds(const base::Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.Monotonic()).count();
}

std::string ResetLine(std::string_view why) {
  fleet::JsonOut out;
  out.BeginMap().Flag("reset", true).Text("message", why).EndMap();
  return out.Take() + "\n";
}

}  // namespace

// --- View.

View::View(Rights rights, const HubOptions& options, std::string epoch, base::Time since,
           std::uint64_t first_revision)
    : rights_(rights),
      options_(options),
      base_epoch_(std::move(epoch)),
      sight_(std::move(rights)),
      fleet_(std::make_unique<fleet::Fleet>(
          fleet::FleetOptions{.gates = options.gates, .first_revision = first_revision})),
      epoch_(base_epoch_),
      history_(since) {}

void View::Listen(const std::shared_ptr<Listener>& listener) {
  const base::MutexLock lock(mutex_);
  std::erase_if(listeners_, [](const auto& known) { return known.expired(); });
  listeners_.push_back(listener);
}

std::optional<base::Time> View::ReleasedAt(std::string_view namespace_,
                                           std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto it = released_.find({std::string(namespace_), std::string(name)});
  if (it == released_.end()) return std::nullopt;
  return it->second;
}

void View::Apply(const api::Change& change, base::Time now) {
  const base::MutexLock lock(mutex_);
  const auto seen = sight_.Of(change);
  if (!seen) return;
  if (const auto* claim = seen->object.As<api::ResourceClaim>()) {
    const std::pair<std::string, std::string> key(claim->metadata.namespace_, claim->metadata.name);
    const auto known = fleet_->claims().find(key);
    const bool had = known != fleet_->claims().end() && known->second.object &&
                     known->second.object->As<api::ResourceClaim>()->status.allocation.has_value();
    const bool gone = seen->kind == api::Change::Kind::kDeleted;
    if (gone) {
      released_.erase(key);
    } else if (had && !claim->status.allocation.has_value()) {
      if (released_.size() < kMostReleased) released_[key] = now;
    } else if (claim->status.allocation.has_value()) {
      released_.erase(key);
    }
  }
  fleet_->Apply(*seen);
}

// The same objects in a new fleet: numbers of what is gone are given again, in another epoch.
void View::Rebuild() {
  auto fresh =
      std::make_unique<fleet::Fleet>(fleet::FleetOptions{.gates = options_.gates,
                                                         .claims_unknown = fleet_->claims_unknown(),
                                                         .first_revision = fleet_->revision()});
  fleet_->ForEachObject([&](const api::Object& object) {
    fresh->Apply({api::Change::Kind::kAdded, object});
  });
  fresh->Settle();
  fleet_ = std::move(fresh);
  epoch_ = fmt::format("{}-{}", base_epoch_, ++rebuilt_);
}

void View::Settle(base::Time now, bool claims_unknown) {
  const base::MutexLock lock(mutex_);
  fleet_->SetClaimsUnknown(claims_unknown);
  fleet_->Settle();
  if (fleet_->Wasteful()) Rebuild();
  if (history_.Due(now)) history_.Add(fleet::Measure(*fleet_, now));
}

// One line for all who have been told as much.
void View::Tell(base::Time now) {
  const base::MutexLock lock(mutex_);
  std::map<std::uint64_t, std::shared_ptr<const std::string>> lines;
  const std::uint64_t revision = fleet_->revision();
  for (const auto& known : listeners_) {
    const auto listener = known.lock();
    if (listener == nullptr) continue;
    const auto from = listener->Wants();
    if (!from || *from == revision) continue;
    if (*from > revision || *from < fleet_->oldest()) {
      listener->Tell(std::make_shared<const std::string>(
                         ResetLine("the snapshot is too old; request the fleet again")),
                     revision, true);
      continue;
    }
    auto& line = lines[*from];
    if (line == nullptr) {
      std::string text = fleet::ChangesJson(*fleet_, *from, now);
      if (text.size() > kMostLine) text.clear();
      line = std::make_shared<const std::string>(std::move(text));
    }
    if (line->empty()) {
      listener->Tell(std::make_shared<const std::string>(
                         ResetLine("too much has changed at once; request the fleet again")),
                     revision, true);
    } else {
      listener->Tell(line, revision, false);
    }
  }
}

bool View::Listened() {
  const base::MutexLock lock(mutex_);
  std::erase_if(listeners_, [](const auto& known) { return known.expired(); });
  return !listeners_.empty();
}

void View::End(std::string_view why) {
  const base::MutexLock lock(mutex_);
  for (const auto& known : listeners_) {
    if (const auto listener = known.lock()) {
      listener->Tell(std::make_shared<const std::string>(ResetLine(why)), 0, true);
    }
  }
  listeners_.clear();
}

// --- Hub.

Hub::Hub(Source& source, const Desk& desk, const base::Clock& clock, HubOptions options)
    : source_(source),
      clock_(clock),
      options_(std::move(options)),
      epoch_(NewToken().substr(0, 16)),
      started_(clock.Now()) {
  std::set<const api::TypeInfo*> known;
  const auto add = [&](std::span<const api::KindInfo* const> kinds) {
    for (const api::KindInfo* kind : kinds) {
      if (known.insert(kind->hub).second) kinds_.push_back(kind);
    }
  };
  add(fleet::Fleet::Kinds());
  add(desk.Kinds());
}

Hub::~Hub() {
  {
    const base::MutexLock lock(wake_mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  source_.Close();
  if (thread_.joinable()) thread_.join();
  const base::MutexLock lock(mutex_);
  for (const auto& [signature, view] : views_) view->End("the console is stopping");
}

void Hub::Start() {
  if (running_.exchange(true)) return;
  const base::MutexLock lock(mutex_);
  // Everybody who may see all has the same one, with its history from the beginning.
  const Rights all = Rights::All();
  views_.emplace(all.Signature(), std::make_shared<View>(all, options_, epoch_, clock_.Now(), 1));
  thread_ = std::thread([this] { Run(); });
}

void Hub::Wake() {
  const base::MutexLock lock(wake_mutex_);
  woken_ = true;
  wake_.NotifyAll();
}

Connection Hub::connection() const {
  const base::MutexLock lock(connection_mutex_);
  return connection_;
}

bool Hub::Drain(api::ObjectWatch& watch, base::Time now) {
  std::vector<api::Change> changes;
  for (std::size_t i = 0; i < kBatch; ++i) {
    auto change = watch.Next();
    if (!change) break;
    changes.push_back(*std::move(change));
  }
  if (changes.empty()) return false;
  const base::MutexLock lock(mutex_);
  for (const api::Change& change : changes) {
    const api::ObjectMeta& metadata = change.object.metadata();
    Key key(change.object.kind().hub, metadata.namespace_, metadata.name);
    if (change.kind == api::Change::Kind::kDeleted) {
      objects_.erase(key);
    } else {
      objects_.insert_or_assign(std::move(key), change.object);
    }
    for (const auto& [signature, view] : views_) view->Apply(change, now);
  }
  return true;
}

void Hub::Run() {
  const auto watch = source_.Watch(kinds_, [this] { Wake(); });
  const api::TypeInfo* const claims = &api::TypeInfoOf<api::ResourceClaim>();
  bool ready = false;
  for (;;) {
    const base::Time now = clock_.Now();
    const Status stale = watch->Stale();
    const bool more = Drain(*watch, now);
    ready = ready || (stale.ok() && !more);
    {
      const base::MutexLock lock(connection_mutex_);
      if (connection_.lost != !stale.ok()) connection_.since = now;
      connection_.lost = !stale.ok();
      connection_.message = base::Message(stale);
    }
    bool unknown = false;
    for (const MissingKind& missing : source_.Missing()) unknown |= missing.kind->hub == claims;
    std::vector<std::shared_ptr<View>> views;
    {
      const base::MutexLock lock(mutex_);
      for (const auto& [signature, view] : views_) views.push_back(view);
    }
    if (ready) {
      for (const auto& view : views) {
        view->Settle(now, unknown);
        view->Tell(now);
      }
      ForgetViews();
      const base::MutexLock lock(connection_mutex_);
      connection_.ready = true;
    }
    // The first change is looked at when it comes, others not before so much time has gone by.
    const auto told = std::chrono::steady_clock::now();
    const auto patience = source_.Wakes() ? std::chrono::milliseconds(250) : options_.poll;
    const base::MutexLock lock(wake_mutex_);
    while (!more && !woken_ && !stopping_) {
      if (!wake_.WaitUntil(wake_mutex_, told + patience)) break;
    }
    while (!more && !stopping_) {
      if (!wake_.WaitUntil(wake_mutex_, told + options_.gather)) break;
    }
    woken_ = false;
    if (stopping_) return;
  }
}

void Hub::ForgetViews() {
  const base::MutexLock lock(mutex_);
  const std::int64_t now = Seconds(clock_);
  std::erase_if(views_, [&](const auto& entry) {
    if (entry.second->rights().all() || entry.second->Listened()) return false;
    return now - entry.second->used_.load() > options_.keep_view.count();
  });
}

StatusOr<std::shared_ptr<View>> Hub::ViewFor(const Rights& rights) {
  const std::string signature = rights.Signature();
  const base::MutexLock lock(mutex_);
  auto it = views_.find(signature);
  if (it == views_.end()) {
    if (views_.size() >= options_.most_views) {
      return base::MakeStatus(
          StatusCode::kResourceExhausted,
          "too many users with different permissions are using the console now");
    }
    auto view = std::make_shared<View>(
        rights, options_, fmt::format("{}.{}", epoch_, ++views_made_), clock_.Now(), 1);
    const base::Time now = clock_.Now();
    for (const auto& [key, object] : objects_) {
      view->Apply({api::Change::Kind::kAdded, object}, now);
    }
    view->Settle(now, false);
    it = views_.emplace(signature, std::move(view)).first;
  }
  it->second->used_ = Seconds(clock_);
  return it->second;
}

Scene Hub::SceneFor(const View& view) const {
  Scene scene;
  scene.now = clock_.Now();
  std::set<std::string_view> hidden;
  Sight sight(view.rights());
  const base::MutexLock lock(mutex_);
  scene.objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) {
    if (view.rights().all()) {
      scene.objects.push_back(object);
      continue;
    }
    if (auto seen = sight.Of({api::Change::Kind::kAdded, object})) {
      scene.objects.push_back(std::move(seen->object));
    }
    if (!view.rights().May(object.kind(), object.metadata().namespace_)) {
      hidden.insert(object.kind().plural);
    }
  }
  for (const std::string_view plural : hidden) {
    scene.assumptions.push_back(
        plural == "resourceclaims"
            ? "Claims that you may not read keep their devices; their holders are not named."
            : fmt::format("{} that you may not read are left out.", plural));
  }
  for (const MissingKind& missing : source_.Missing()) {
    scene.assumptions.push_back(
        fmt::format("{} may not be read and are left out.", missing.kind->plural));
  }
  scene.complete = scene.assumptions.empty();
  return scene;
}

std::vector<std::string> Hub::Namespaces() const {
  std::vector<std::string> names;
  const base::MutexLock lock(mutex_);
  const api::TypeInfo* const type = &api::TypeInfoOf<api::Namespace>();
  for (auto it = objects_.lower_bound(Key(type, "", ""));
       it != objects_.end() && std::get<0>(it->first) == type; ++it) {
    names.push_back(std::get<2>(it->first));
  }
  return names;
}

}  // namespace dray::console
