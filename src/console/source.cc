// SPDX-License-Identifier: Apache-2.0
#include "console/source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/field_selector.h"
#include "api/resource_slice.h"
#include "base/mutex.h"
#include "client/http_client.h"
#include "client/object_client.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

bool IsAbout(const api::Event& event, std::string_view kind, std::string_view name) {
  return event.involved_object.kind == kind && event.involved_object.name == name;
}

// The newest last; so many as a page shows.
std::vector<api::Event> Newest(std::vector<api::Event> events) {
  constexpr std::size_t kMost = 50;
  const auto at = [](const api::Event& event) {
    return event.last_timestamp ? *event.last_timestamp
                                : event.metadata.creation_timestamp.value_or(base::Time());
  };
  std::ranges::stable_sort(events, {}, at);
  if (events.size() > kMost) events.erase(events.begin(), events.end() - kMost);
  return events;
}

class RemoteSource final : public Source {
 public:
  RemoteSource(std::unique_ptr<client::HttpClient> http, const base::Clock& clock)
      : http_(std::move(http)), client_(*http_, "dray-console"), clock_(clock) {}

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          std::function<void()> wake) override {
    client::RemoteOptions options;
    options.component = "dray-console";
    options.on_change = std::move(wake);
    options.withheld = [this](const api::KindInfo& kind, const Status& why) {
      const base::MutexLock lock(mutex_);
      if (why.ok()) {
        missing_.erase(kind.plural);
      } else {
        missing_[kind.plural] = {&kind, std::string(base::Message(why))};
      }
      return true;
    };
    cluster_ = std::make_unique<client::RemoteCluster>(*http_, clock_, std::move(options));
    return cluster_->Watch(kinds);
  }
  bool Wakes() const override { return true; }

  std::vector<MissingKind> Missing() const override {
    const base::MutexLock lock(mutex_);
    std::vector<MissingKind> missing;
    for (const auto& [name, kind] : missing_) missing.push_back(kind);
    return missing;
  }

  // The newest one that is served.
  std::string ResourceVersion() const override {
    {
      const base::MutexLock lock(mutex_);
      if (!version_.empty()) return version_;
    }
    for (const std::string_view version : {"v1", "v1beta2", "v1beta1"}) {
      const auto answer = http_->Send({.target = fmt::format("/apis/resource.k8s.io/{}", version)});
      if (!answer.ok()) return "";
      if (answer->status != 200) continue;
      const base::MutexLock lock(mutex_);
      return version_ = version;
    }
    return "";
  }

  StatusOr<std::vector<api::Event>> Events(std::string_view namespace_, std::string_view kind,
                                           std::string_view name) const override {
    api::Selection selection;
    selection.namespace_ = namespace_;
    DRAY_ASSIGN_OR_RETURN(selection.fields,
                          api::FieldSelector::Parse(fmt::format(
                              "involvedObject.kind={},involvedObject.name={}", kind, name)));
    DRAY_ASSIGN_OR_RETURN(auto listing,
                          client_.List(api::HubKind(api::TypeInfoOf<api::Event>()), selection));
    std::vector<api::Event> events;
    for (const api::Object& object : listing.objects) {
      const auto& event = *object.As<api::Event>();
      if (IsAbout(event, kind, name)) events.push_back(event);
    }
    return Newest(std::move(events));
  }

  void Close() override { http_->Close(); }

 private:
  const std::unique_ptr<client::HttpClient> http_;
  const client::ObjectClient client_;
  const base::Clock& clock_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  mutable base::Mutex mutex_;
  std::map<std::string_view, MissingKind> missing_ ABSL_GUARDED_BY(mutex_);
  mutable std::string version_ ABSL_GUARDED_BY(mutex_);
};

class LocalSource final : public Source {
 public:
  explicit LocalSource(api::Cluster& cluster) : cluster_(cluster) {}

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          std::function<void()> /*wake*/) override {
    return cluster_.Watch(kinds);
  }
  bool Wakes() const override { return false; }
  std::vector<MissingKind> Missing() const override { return {}; }
  std::string ResourceVersion() const override { return "v1"; }
  StatusOr<std::vector<api::Event>> Events(std::string_view namespace_, std::string_view kind,
                                           std::string_view name) const override {
    DRAY_ASSIGN_OR_RETURN(const std::vector<api::Object> objects,
                          cluster_.List(api::HubKind(api::TypeInfoOf<api::Event>())));
    std::vector<api::Event> events;
    for (const api::Object& object : objects) {
      const auto& event = *object.As<api::Event>();
      if (event.metadata.namespace_ == namespace_ && IsAbout(event, kind, name)) {
        events.push_back(event);
      }
    }
    return Newest(std::move(events));
  }
  void Close() override {}

 private:
  api::Cluster& cluster_;
};

}  // namespace

StatusOr<std::unique_ptr<Source>> MakeRemoteSource(const client::ServerAccess& access,
                                                   const base::Clock& clock) {
  client::HttpOptions options;
  options.user_agent = "dray-console";
  // Whatever happens here, nothing is written.
  options.may_write = [] { return false; };
  DRAY_ASSIGN_OR_RETURN(auto http, client::HttpClient::Create(access, std::move(options)));
  return std::unique_ptr<Source>(std::make_unique<RemoteSource>(std::move(http), clock));
}

std::unique_ptr<Source> MakeLocalSource(api::Cluster& cluster) {
  return std::make_unique<LocalSource>(cluster);
}

}  // namespace dray::console
