// SPDX-License-Identifier: Apache-2.0
#include "driver/slice_publisher.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/node.h"
#include "driver/internal/dropped_fields.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

using std::chrono::nanoseconds;

// While others keep writing, so many settle times at most.
constexpr int kLongestSettle = 4;
constexpr nanoseconds kLook = std::chrono::seconds(1);

const api::KindInfo& SliceKind() { return api::HubKind(api::TypeInfoOf<api::ResourceSlice>()); }

// Servers count up; what is no number says nothing about which is newer.
std::optional<std::uint64_t> Revision(const api::Object& object) {
  const std::string& text = object.metadata().resource_version;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Whether what the watch told is what was written, or comes after it.
bool HasCaughtUp(const api::Object& told, const api::Object& written) {
  if (told.metadata().resource_version == written.metadata().resource_version) return true;
  const auto a = Revision(told);
  const auto b = Revision(written);
  return a && b && *a > *b;
}

nanoseconds Backoff(const PublisherOptions& options, int failures) {
  nanoseconds wait = options.first_retry;
  for (int i = 1; i < failures && wait < options.longest_retry; ++i) wait *= 2;
  return std::min(wait, options.longest_retry);
}

}  // namespace

SlicePublisher::SlicePublisher(api::Cluster& cluster, const base::Clock& clock,
                               PublisherOptions options)
    : cluster_(cluster), clock_(clock), options_(std::move(options)) {
  publisher_.driver = options_.driver;
  publisher_.node = options_.node;
  owner_known_ = options_.node.empty();
}
SlicePublisher::~SlicePublisher() = default;

void SlicePublisher::Publish(WantedPools pools) {
  std::map<std::string, Wanted, std::less<>> wanted;
  for (auto& [name, pool] : pools) {
    Wanted entry{.given = pool, .adapted = std::move(pool)};
    // What is wanted as before stays adapted: it would only be dropped again.
    if (const auto old = wanted_.find(name); old != wanted_.end()) {
      const WantedPool& before = old->second.given;
      const std::size_t both = std::min(before.slices.size(), entry.given.slices.size());
      for (std::size_t i = 0; i < both; ++i) {
        if (before.slices[i] == entry.given.slices[i]) {
          entry.adapted.slices[i] = old->second.adapted.slices[i];
        }
      }
    }
    if (const Status fault = CheckPool(name, entry.given, !options_.node.empty()); !fault.ok()) {
      entry.valid = false;
      Problem(fault);
    }
    wanted.emplace(name, std::move(entry));
  }
  wanted_ = std::move(wanted);
  published_ = true;
  all_due_ = true;
}

nanoseconds SlicePublisher::Step() {
  const nanoseconds now = clock_.Monotonic();
  if (!published_) return now + kLook;
  if (!FindOwner(now)) return owner_at_;
  if (watch_ == nullptr) OpenWatch();
  TakeChanges(now);
  // Whoever does not know what is there would write it twice.
  if (!watch_->Stale().ok()) return now + kLook;
  LoseTrust(now);
  if (std::exchange(all_due_, false)) MakeAllDue(now);
  std::vector<std::string> pools;
  for (const auto& [pool, due] : due_) {
    if (due.at <= now) pools.push_back(pool);
  }
  for (const std::string& pool : pools) {
    due_.erase(pool);
    Sync(pool, now);
  }
  nanoseconds next = now + kLook;
  if (due_.empty()) return next;
  for (const auto& [pool, due] : due_) next = std::min(next, due.at);
  return next;
}

bool SlicePublisher::FindOwner(nanoseconds now) {
  if (owner_known_) return true;
  if (now < owner_at_) return false;
  const auto node = cluster_.Find(api::HubKind(api::TypeInfoOf<api::Node>()), "", options_.node);
  if (node.ok() && node->has_value()) {
    publisher_.owner = api::OwnerReference{.api_version = "v1",
                                           .kind = "Node",
                                           .name = options_.node,
                                           .uid = (*node)->metadata().uid,
                                           .controller = true};
    owner_known_ = true;
    return true;
  }
  const Status trouble =
      node.ok() ? base::NotFound(fmt::format("node \"{}\" does not exist yet; nothing is published "
                                             "before it does",
                                             options_.node))
                : base::Annotate(node.status(), fmt::format("read node \"{}\"", options_.node));
  if (owner_trouble_ != base::Message(trouble)) Problem(trouble);
  owner_trouble_ = base::Message(trouble);
  owner_at_ =
      now + std::min<nanoseconds>(Backoff(options_, ++owner_failures_), std::chrono::seconds(10));
  return false;
}

void SlicePublisher::OpenWatch() {
  const std::array kinds = {&SliceKind()};
  api::Selection selection;
  const auto fields = api::FieldSelector::Parse(
      options_.node.empty()
          ? fmt::format("spec.driver={}", options_.driver)
          : fmt::format("spec.driver={},spec.nodeName={}", options_.driver, options_.node));
  if (fields.ok()) selection.fields = *fields;
  watch_ = cluster_.Watch(kinds, selection);
}

void SlicePublisher::TakeChanges(nanoseconds now) {
  while (const auto change = watch_->Next()) Take(*change, now);
}

void SlicePublisher::Take(const api::Change& change, nanoseconds now) {
  const auto* slice = change.object.As<api::ResourceSlice>();
  if (slice == nullptr || slice->spec.driver != options_.driver) return;
  if (slice->spec.node_name.value_or("") != options_.node) return;
  const std::string& uid = slice->metadata.uid;
  const std::string& pool = slice->spec.pool.name;
  if (change.kind == api::Change::Kind::kDeleted) {
    const auto known = known_.find(uid);
    const bool ours = known != known_.end() && known->second.deleted;
    if (known != known_.end()) known_.erase(known);
    if (!ours) OnEvent(pool, now);
    return;
  }
  Known& known = known_[uid];
  const bool echo = known.written &&
                    known.written->metadata().resource_version == slice->metadata.resource_version;
  const bool late = known.written && !HasCaughtUp(change.object, *known.written);
  // A slice that somebody moved to another pool is missing in the one where it was.
  if (const auto* before = Current(known); before != nullptr && before->spec.pool.name != pool) {
    OnEvent(before->spec.pool.name, now);
  }
  known.told = change.object;
  if (!late) known.written.reset();
  if (!echo && !late) OnEvent(pool, now);
}

void SlicePublisher::LoseTrust(nanoseconds now) {
  for (auto it = known_.begin(); it != known_.end();) {
    Known& known = it->second;
    const bool mine = known.written || known.deleted;
    if (!mine || now - known.since < options_.trust) {
      ++it;
      continue;
    }
    const auto* slice = known.written ? known.written->As<api::ResourceSlice>()
                                      : known.told->As<api::ResourceSlice>();
    SetDue(slice->spec.pool.name, now);
    known.written.reset();
    known.deleted = false;
    if (known.told) {
      ++it;
    } else {
      it = known_.erase(it);
    }
  }
}

void SlicePublisher::OnEvent(const std::string& pool, nanoseconds now) {
  const auto [it, fresh] =
      due_.try_emplace(pool, Due{.at = now + options_.settle, .first = now, .settling = true});
  if (fresh || !it->second.settling) return;
  it->second.at =
      std::min(now + options_.settle, it->second.first + kLongestSettle * options_.settle);
}

void SlicePublisher::SetDue(const std::string& pool, nanoseconds at) {
  const auto [it, fresh] = due_.try_emplace(pool, Due{.at = at});
  if (fresh) return;
  it->second.at = std::min(it->second.at, at);
  it->second.settling = false;
}

void SlicePublisher::MakeAllDue(nanoseconds now) {
  for (const auto& [pool, wanted] : wanted_) SetDue(pool, now);
  for (const auto& [uid, known] : known_) {
    if (const auto* slice = Current(known)) SetDue(slice->spec.pool.name, now);
  }
}

const api::ResourceSlice* SlicePublisher::Current(const Known& known) const {
  if (known.deleted) return nullptr;
  const std::optional<api::Object>& object = known.written ? known.written : known.told;
  return object ? object->As<api::ResourceSlice>() : nullptr;
}

std::vector<const api::ResourceSlice*> SlicePublisher::SlicesOf(std::string_view pool) const {
  std::vector<const api::ResourceSlice*> slices;
  for (const auto& [uid, known] : known_) {
    const auto* slice = Current(known);
    if (slice != nullptr && slice->spec.pool.name == pool) slices.push_back(slice);
  }
  return slices;
}

void SlicePublisher::Sync(const std::string& pool, nanoseconds now) {
  const auto wanted = wanted_.find(pool);
  if (wanted != wanted_.end() && !wanted->second.valid) return;
  const WantedPool* pool_wanted = wanted == wanted_.end() ? nullptr : &wanted->second.adapted;
  const Status outcome = Write(pool, PlanPool(publisher_, pool, pool_wanted, SlicesOf(pool)));
  if (outcome.ok()) {
    failures_.erase(pool);
    return;
  }
  Problem(base::Annotate(outcome, fmt::format("pool \"{}\"", pool)));
  nanoseconds wait = Backoff(options_, ++failures_[pool]);
  if (api::MayHaveHappened(outcome)) wait = std::max(wait, options_.doubt);
  SetDue(pool, now + wait);
}

Status SlicePublisher::Write(const std::string& pool, const PoolPlan& plan) {
  const nanoseconds now = clock_.Monotonic();
  for (const DoomedSlice& doomed : plan.deletes) {
    const Status done = cluster_.Delete(SliceKind(), "", doomed.name, doomed.uid);
    // Gone, or another one by that name: in both cases this one is not there.
    const bool gone = done.code() == StatusCode::kNotFound || done.code() == StatusCode::kAborted;
    if (!done.ok() && !gone) return base::Annotate(done, fmt::format("delete {}", doomed.name));
    ++counts_.deletes;
    Known& known = known_[doomed.uid];
    known.deleted = true;
    known.since = now;
    if (!known.told) known_.erase(doomed.uid);
  }
  for (const api::ResourceSlice& slice : plan.updates) {
    const auto stored = cluster_.Update(api::Object::Of(slice));
    if (!stored.ok()) {
      return base::Annotate(stored.status(), fmt::format("update {}", slice.metadata.name));
    }
    ++counts_.updates;
    DRAY_RETURN_IF_ERROR(Stored(pool, slice, *stored));
  }
  for (const api::ResourceSlice& slice : plan.creates) {
    const auto stored = cluster_.Create(api::Object::Of(slice));
    if (!stored.ok()) {
      return base::Annotate(stored.status(),
                            fmt::format("create {}", slice.metadata.generate_name));
    }
    ++counts_.creates;
    DRAY_RETURN_IF_ERROR(Stored(pool, slice, *stored));
  }
  return {};
}

Status SlicePublisher::Stored(const std::string& pool, const api::ResourceSlice& asked,
                              const api::Object& object) {
  const auto* stored = object.As<api::ResourceSlice>();
  if (stored == nullptr) return base::Internal("the server answered with another kind of object");
  Known& known = known_[stored->metadata.uid];
  known.written = object;
  known.since = clock_.Monotonic();
  if (!SaysTheSame(stored->spec, asked.spec)) Adapt(pool, asked, stored->spec);
  return {};
}

void SlicePublisher::Adapt(const std::string& pool, const api::ResourceSlice& asked,
                           const api::ResourceSliceSpec& stored) {
  for (const internal::DroppedField& field : internal::DroppedFields(asked.spec, stored)) {
    if (!told_
             .insert(
                 fmt::format("{} {} {}", pool, field.gate, field.gate.empty() ? field.path : ""))
             .second) {
      continue;
    }
    Problem(base::FailedPrecondition(
        field.gate.empty()
            ? fmt::format("pool \"{}\": the API server did not store {} as it was sent; it is left "
                          "as the server has it",
                          pool, field.path)
            : fmt::format("pool \"{}\": the API server did not store {}; its feature gate {} is "
                          "probably off there. The pool is published without it",
                          pool, field.path, field.gate)));
  }
  const auto wanted = wanted_.find(pool);
  if (wanted == wanted_.end()) return;
  WantedPool& adapted = wanted->second.adapted;
  const std::string& name =
      asked.metadata.name.empty() ? asked.metadata.generate_name : asked.metadata.name;
  const auto index = IndexOf(name, std::max<std::size_t>(1, adapted.slices.size()));
  if (!index || *index >= adapted.slices.size()) return;
  WantedSlice& slice = adapted.slices[*index];
  slice.devices = stored.devices.value_or(std::vector<api::Device>());
  slice.shared_counters = stored.shared_counters.value_or(std::vector<api::CounterSet>());
  slice.per_device_node_selection = stored.per_device_node_selection.value_or(false);
  slice.partition_type_attribute = stored.partition_type_attribute;
  slice.skip_node_operations = stored.skip_node_operations;
}

void SlicePublisher::Problem(const Status& status) const {
  if (options_.problem) options_.problem(status);
}

PublisherThread::PublisherThread(api::Cluster& cluster, const base::Clock& clock,
                                 PublisherOptions options, base::Host& host)
    : publisher_(cluster, clock, std::move(options)), clock_(clock), alarm_(host.MakeAlarm()) {
  running_ = host.Start([this] { Run(); });
}

PublisherThread::~PublisherThread() {
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
  }
  alarm_->Ring();
}

void PublisherThread::Publish(WantedPools pools) {
  {
    const base::MutexLock lock(mutex_);
    next_ = std::move(pools);
    idle_ = false;
  }
  alarm_->Ring();
}

PublishCounts PublisherThread::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

bool PublisherThread::idle() const {
  const base::MutexLock lock(mutex_);
  return idle_;
}

void PublisherThread::Run() {
  for (;;) {
    std::optional<WantedPools> next;
    {
      const base::MutexLock lock(mutex_);
      if (ending_) return;
      next = std::exchange(next_, std::nullopt);
    }
    if (next) publisher_.Publish(*std::move(next));
    const nanoseconds due = publisher_.Step();
    {
      const base::MutexLock lock(mutex_);
      counts_ = publisher_.counts();
      idle_ = !next_ && publisher_.idle();
    }
    const nanoseconds now = clock_.Monotonic();
    if (due > now) alarm_->Sleep(due - now);
  }
}

}  // namespace dray::driver
