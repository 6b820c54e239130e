// SPDX-License-Identifier: Apache-2.0
#include "driver/plugin_service.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cdi/folder.h"
#include "cdi/names.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

const api::KindInfo& ClaimKind() { return api::HubKind(api::TypeInfoOf<api::ResourceClaim>()); }

// A vendor of CDI begins with a letter; a driver's name need not.
std::string VendorOf(const std::string& driver) {
  return cdi::IsVendor(driver) ? driver : "k8s." + driver;
}

PreparedClaimRecord RecordOf(const ClaimView& claim, const std::string& boot_id) {
  PreparedClaimRecord record{.namespace_ = claim.name.namespace_,
                             .name = claim.name.name,
                             .uid = claim.name.uid,
                             .boot_id = boot_id};
  for (const AllocatedDevice& device : claim.devices) {
    record.devices.push_back({.request = device.base_request,
                              .pool = device.pool,
                              .device = device.device,
                              .share_id = device.share_id,
                              .admin_access = device.admin_access});
  }
  return record;
}

rpc::PreparedClaim AnswerOf(const PreparedClaimRecord& record) {
  rpc::PreparedClaim answer;
  for (const PreparedDeviceRecord& device : record.devices) {
    answer.devices.push_back({.requests = {device.request},
                              .pool = device.pool,
                              .device = device.device,
                              .cdi_ids = device.cdi_ids,
                              .share_id = device.share_id});
  }
  return answer;
}

// Devices, whatever their CDI names.
bool SameDevices(PreparedClaimRecord a, PreparedClaimRecord b) {
  for (PreparedDeviceRecord& device : a.devices) device.cdi_ids.clear();
  for (PreparedDeviceRecord& device : b.devices) device.cdi_ids.clear();
  return a.devices == b.devices;
}

// With two instances of a driver the agent may call either: what one does, the other must see.
StatusOr<files::Fd> Lock(const ServiceOptions& options) {
  if (!options.shared_folder) return files::Fd();
  const std::string path = options.folder + "/serialize.lock";
  files::Fd lock(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!lock.valid()) return files::Failed("open", path, errno);
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return files::Failed("lock", path, errno);
  }
  return lock;
}

}  // namespace

PluginService::PluginService(ServiceOptions options, DeviceHandler& handler,
                             const api::Cluster& cluster, HealthBoard& health,
                             PreparedClaims prepared)
    : options_(std::move(options)),
      folders_{.driver = options_.driver,
               .vendor = VendorOf(options_.driver),
               .plugin = options_.folder,
               .cdi = options_.cdi_folder},
      handler_(handler),
      cluster_(cluster),
      health_(health),
      prepared_(std::move(prepared)) {}

StatusOr<std::unique_ptr<PluginService>> PluginService::Open(ServiceOptions options,
                                                             DeviceHandler& handler,
                                                             const api::Cluster& cluster,
                                                             HealthBoard& health) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.folder));
  DRAY_ASSIGN_OR_RETURN(const files::Fd lock, Lock(options));
  DRAY_ASSIGN_OR_RETURN(
      PreparedClaims prepared,
      PreparedClaims::Open(options.folder,
                           options.disk != nullptr ? *options.disk : files::TheDisk()));
  return std::unique_ptr<PluginService>(
      new PluginService(std::move(options), handler, cluster, health, std::move(prepared)));
}

StatusOr<rpc::PrepareAnswer> PluginService::Prepare(const std::vector<rpc::ClaimName>& claims) {
  // A driver that is asked whether it lives.
  if (claims.empty()) return rpc::PrepareAnswer();
  // What the API server says is asked before anybody has to wait for this call. A claim that is not
  // what the agent thinks refuses the whole call: the agent has to look again.
  std::vector<ClaimView> views;
  for (const rpc::ClaimName& claim : claims) {
    DRAY_ASSIGN_OR_RETURN(ClaimView view, Fetch(claim));
    views.push_back(std::move(view));
  }
  const internal::ClaimTurns::Turn turn(turns_, KeysOf(claims));
  DRAY_ASSIGN_OR_RETURN(const files::Fd lock, LockFolder());
  rpc::PrepareAnswer answer;
  const auto refuse = [&](const ClaimView& view, const Status& why) {
    Problem(base::Annotate(
        why, fmt::format("prepare claim {}/{}", view.name.namespace_, view.name.name)));
    answer[view.name.uid] = {.error = std::string(base::Message(why))};
  };
  // All that are new are remembered together, before anything is done for one of them.
  std::vector<PreparedClaimRecord> begun;
  std::vector<const ClaimView*> fresh;
  for (const ClaimView& view : views) {
    if (auto remembered = Remembered(view)) {
      answer[view.name.uid] = *std::move(remembered);
    } else if (const Status refused = Begin(view, begun); !refused.ok()) {
      refuse(view, refused);
    } else {
      fresh.push_back(&view);
    }
  }
  if (!begun.empty()) {
    const base::MutexLock hold(mutex_);
    DRAY_RETURN_IF_ERROR(prepared_.Put(std::move(begun), files::Sync::kYes));
  }
  for (const ClaimView* view : fresh) {
    auto prepared = PrepareOne(*view);
    if (!prepared.ok()) {
      refuse(*view, prepared.status());
    } else {
      answer[view->name.uid] = *std::move(prepared);
    }
  }
  return answer;
}

StatusOr<ClaimView> PluginService::Fetch(const rpc::ClaimName& claim) const {
  const auto found = cluster_.Find(ClaimKind(), claim.namespace_, claim.name);
  const std::string shown = fmt::format("claim {}/{}", claim.namespace_, claim.name);
  if (!found.ok()) return base::Annotate(found.status(), fmt::format("retrieve {}", shown));
  if (!found->has_value()) return base::NotFound(fmt::format("retrieve {}: not found", shown));
  return ViewOf(*(*found)->As<api::ResourceClaim>(), claim, options_.driver);
}

std::set<std::string> PluginService::KeysOf(const std::vector<rpc::ClaimName>& claims) const {
  if (options_.serialize) return {"*"};
  std::set<std::string> keys;
  for (const rpc::ClaimName& claim : claims) keys.insert(claim.uid);
  return keys;
}

StatusOr<files::Fd> PluginService::LockFolder() {
  DRAY_ASSIGN_OR_RETURN(files::Fd lock, Lock(options_));
  const base::MutexLock hold(mutex_);
  if (lock.valid()) DRAY_RETURN_IF_ERROR(prepared_.Refresh());
  return lock;
}

StatusOr<rpc::PreparedClaim> PluginService::PrepareOne(const ClaimView& claim) {
  DRAY_ASSIGN_OR_RETURN(const std::vector<DeviceSetup> setups, handler_.Prepare(claim));
  if (setups.size() != claim.devices.size()) {
    return base::Internal(
        fmt::format("the driver prepared {} devices of {}", setups.size(), claim.devices.size()));
  }
  DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, WriteCdi(claim, setups));
  PreparedClaimRecord record = RecordOf(claim, options_.boot_id);
  record.complete = true;
  for (std::size_t i = 0; i < setups.size(); ++i) {
    if (!names[i].empty()) record.devices[i].cdi_ids.push_back(names[i]);
    for (const std::string& id : setups[i].cdi_ids) record.devices[i].cdi_ids.push_back(id);
  }
  if (options_.metadata) AddMetadata(claim, setups, record);
  rpc::PreparedClaim answer = AnswerOf(record);
  const base::MutexLock lock(mutex_);
  // After a power cut it does not count, and everything is prepared anew: nobody waits for the disk.
  DRAY_RETURN_IF_ERROR(prepared_.Put({std::move(record)}, files::Sync::kNo));
  return answer;
}

// Prepared since the machine was started, with files that are still there: the answer of then.
// Otherwise the author is asked again, who makes anew what a restart has taken.
std::optional<rpc::PreparedClaim> PluginService::Remembered(const ClaimView& claim) const {
  const base::MutexLock lock(mutex_);
  const PreparedClaimRecord* record = prepared_.Find(claim.name.uid);
  if (record == nullptr || !record->complete || record->boot_id != options_.boot_id ||
      !SameDevices(*record, RecordOf(claim, options_.boot_id))) {
    return std::nullopt;
  }
  if (!CdiFileIsThere(*record)) return std::nullopt;
  return AnswerOf(*record);
}

bool PluginService::CdiFileIsThere(const PreparedClaimRecord& record) const {
  const std::string ours = cdi_kind() + "=";
  const bool has = std::ranges::any_of(record.devices, [&](const PreparedDeviceRecord& device) {
    return std::ranges::any_of(device.cdi_ids,
                               [&](const std::string& id) { return id.starts_with(ours); });
  });
  const std::string path = fmt::format("{}/{}", options_.cdi_folder, CdiFile(record.uid));
  return !has || ::access(path.c_str(), F_OK) == 0;
}

// A claim that was given other devices since: those of before are let go first.
Status PluginService::DropOthers(const ClaimView& claim) {
  std::optional<PreparedClaimRecord> old;
  {
    const base::MutexLock lock(mutex_);
    if (const auto* found = prepared_.Find(claim.name.uid)) old = *found;
  }
  if (!old || SameDevices(*old, RecordOf(claim, options_.boot_id))) return {};
  return UnprepareOne(claim.name);
}

// To be remembered before anything is done, so that whatever is half done after a crash is undone by
// the agent's unprepare. `begun`: those that will be remembered together with this one.
Status PluginService::Begin(const ClaimView& claim, std::vector<PreparedClaimRecord>& begun) {
  DRAY_RETURN_IF_ERROR(DropOthers(claim));
  PreparedClaimRecord record = RecordOf(claim, options_.boot_id);
  for (std::size_t i = 0; i < claim.devices.size(); ++i) {
    const AllocatedDevice& device = claim.devices[i];
    if (device.admin_access && !options_.admin_access) {
      return base::FailedPrecondition(
          fmt::format("request \"{}\": driver {} does not support admin access", device.request,
                      options_.driver));
    }
    const auto in_use = [&](const PreparedClaimRecord& holder) {
      return base::FailedPrecondition(fmt::format("device {}/{} is in use by claim {}/{} ({})",
                                                  device.pool, device.device, holder.namespace_,
                                                  holder.name, holder.uid));
    };
    while (const auto holder = HolderOf(claim.name.uid, record.devices[i])) {
      if (holder->boot_id == options_.boot_id) return in_use(*holder);
      // Nothing of an earlier start of the machine runs any more. Who is listed all the same was let
      // go of and is back after a power cut, or will be prepared anew.
      DRAY_RETURN_IF_ERROR(UnprepareOne(
          {.namespace_ = holder->namespace_, .uid = holder->uid, .name = holder->name}));
    }
    for (const PreparedClaimRecord& other : begun) {
      if (other.uid != record.uid &&
          std::ranges::any_of(other.devices, [&](const PreparedDeviceRecord& has) {
            return Exclude(has, record.devices[i]);
          })) {
        return in_use(other);
      }
    }
  }
  begun.push_back(std::move(record));
  return {};
}

std::optional<PreparedClaimRecord> PluginService::HolderOf(
    std::string_view uid, const PreparedDeviceRecord& device) const {
  const base::MutexLock lock(mutex_);
  const PreparedClaimRecord* holder = prepared_.Holder(uid, device);
  return holder == nullptr ? std::nullopt : std::optional(*holder);
}

StatusOr<std::vector<std::string>> PluginService::WriteCdi(
    const ClaimView& claim, const std::vector<DeviceSetup>& setups) const {
  cdi::Spec spec;
  spec.kind = cdi_kind();
  std::vector<std::string> names(setups.size());
  for (std::size_t i = 0; i < setups.size(); ++i) {
    if (setups[i].edits.empty()) continue;
    cdi::Device& device = spec.devices.emplace_back();
    // The claim's UID and the place in it: never used for anything else, also with shares.
    device.name = fmt::format("{}-{}-{}", claim.name.uid, i, claim.devices[i].device);
    device.container_edits = setups[i].edits;
    names[i] = fmt::format("{}={}", spec.kind, device.name);
  }
  const std::string file = CdiFile(claim.name.uid);
  if (spec.devices.empty()) {
    DRAY_RETURN_IF_ERROR(cdi::RemoveSpec(options_.cdi_folder, file));
  } else {
    DRAY_RETURN_IF_ERROR(cdi::SaveSpec(options_.cdi_folder, file, spec, files::Sync::kNo));
  }
  return names;
}

void PluginService::AddMetadata(const ClaimView& claim, const std::vector<DeviceSetup>& setups,
                                PreparedClaimRecord& record) const {
  // By request without subrequest, in the order of the results.
  std::vector<std::string> requests;
  for (const AllocatedDevice& device : claim.devices) {
    if (std::ranges::find(requests, device.base_request) == requests.end()) {
      requests.push_back(device.base_request);
    }
  }
  for (const std::string& request : requests) {
    std::vector<MetadataRequest> shown;
    PreparedDeviceRecord* first = nullptr;
    for (std::size_t i = 0; i < setups.size(); ++i) {
      const AllocatedDevice& device = claim.devices[i];
      if (device.base_request != request) continue;
      if (first == nullptr) first = &record.devices[i];
      if (shown.empty() || shown.back().name != device.request) {
        shown.push_back({.name = device.request});
      }
      MetadataDevice& entry = shown.back().devices.emplace_back();
      entry.driver = options_.driver;
      entry.pool = device.pool;
      entry.name = device.device;
      if (options_.attributes) entry.attributes = options_.attributes(device.pool, device.device);
      for (const auto& [name, value] : setups[i].attributes) entry.attributes[name] = value;
      entry.network_data = setups[i].network_data;
      if (entry.attributes.size() > kMostMetadataAttributes) {
        Problem(base::OutOfRange(fmt::format(
            "device {}/{}: {} attributes; its metadata has none of "
            "them, at most {} are allowed",
            device.pool, device.device, entry.attributes.size(), kMostMetadataAttributes)));
        entry.attributes.clear();
      }
    }
    const auto name = WriteMetadata(folders_, claim, request, shown);
    if (name.ok()) {
      first->cdi_ids.push_back(*name);
    } else {
      Problem(base::Annotate(name.status(), fmt::format("metadata of claim {}/{}",
                                                        claim.name.namespace_, claim.name.name)));
    }
  }
}

StatusOr<rpc::UnprepareAnswer> PluginService::Unprepare(const std::vector<rpc::ClaimName>& claims) {
  const internal::ClaimTurns::Turn turn(turns_, KeysOf(claims));
  DRAY_ASSIGN_OR_RETURN(const files::Fd lock, LockFolder());
  rpc::UnprepareAnswer answer;
  for (const rpc::ClaimName& claim : claims) {
    const Status done = UnprepareOne(claim);
    if (!done.ok()) {
      Problem(
          base::Annotate(done, fmt::format("unprepare claim {}/{}", claim.namespace_, claim.name)));
    }
    answer[claim.uid] = base::Message(done);
  }
  return answer;
}

Status PluginService::UnprepareOne(const rpc::ClaimName& claim) {
  std::optional<PreparedClaimRecord> record;
  {
    const base::MutexLock lock(mutex_);
    if (const PreparedClaimRecord* found = prepared_.Find(claim.uid)) record = *found;
  }
  // Never prepared, or unprepared before: nothing is to be done.
  if (!record) return {};
  DRAY_RETURN_IF_ERROR(handler_.Unprepare(claim, record->devices));
  DRAY_RETURN_IF_ERROR(cdi::RemoveSpec(options_.cdi_folder, CdiFile(claim.uid)));
  // Under the name that it was written by, whatever the agent says now.
  DRAY_RETURN_IF_ERROR(RemoveMetadata(
      folders_, {.namespace_ = record->namespace_, .uid = record->uid, .name = record->name}));
  const base::MutexLock lock(mutex_);
  return prepared_.Remove(claim.uid);
}

Status PluginService::WatchHealth(std::shared_ptr<rpc::HealthReports> reports) {
  if (!options_.health) {
    return base::MakeStatus(StatusCode::kUnimplemented, "this driver reports no health");
  }
  health_.Listen(std::move(reports));
  return {};
}

StatusOr<rpc::PluginInfo> PluginService::Info() {
  return rpc::PluginInfo{.type = "DRAPlugin",
                         .name = options_.driver,
                         .endpoint = options_.endpoint,
                         .supported_versions = options_.services};
}

// The agent tries again by itself: a driver that ended now would only make it worse.
Status PluginService::Registered(bool registered, const std::string& error) {
  if (!registered) {
    Problem(base::FailedPrecondition(fmt::format("the agent refused to register: {}", error)));
  } else if (options_.registered) {
    options_.registered();
  }
  return {};
}

std::set<std::string> PluginService::PreparedUids() const {
  const base::MutexLock lock(mutex_);
  std::set<std::string> uids;
  for (const auto& [uid, record] : prepared_.all()) uids.insert(uid);
  return uids;
}

std::string PluginService::CdiFile(std::string_view uid) const {
  return fmt::format("{}-{}.json", options_.driver, uid);
}

void PluginService::Problem(const Status& status) const {
  if (options_.problem) options_.problem(status);
}

}  // namespace dray::driver
