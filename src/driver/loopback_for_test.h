// SPDX-License-Identifier: Apache-2.0
//
// A driver and an agent in one process, without sockets: what goes over the wire is handed over on
// another thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "rpc/plugin_client.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

// Sockets by their paths. Thread-safe.
class Loopback final : public rpc::PluginConnector {
 public:
  struct Served {
    rpc::PluginSockets sockets;
    rpc::PluginHandler* handler = nullptr;
  };

  // For DriverOptions::serve.
  std::function<StatusOr<std::unique_ptr<rpc::PluginServer>>(const rpc::PluginSockets&,
                                                             rpc::PluginHandler&)>
  Serve() {
    return [this](const rpc::PluginSockets& sockets,
                  rpc::PluginHandler& handler) -> StatusOr<std::unique_ptr<rpc::PluginServer>> {
      const base::MutexLock lock(mutex_);
      for (const std::string& path : {sockets.registration, sockets.dra}) {
        if (!path.empty()) served_[path] = {sockets, &handler};
      }
      return std::unique_ptr<rpc::PluginServer>(std::make_unique<Server>(*this, sockets));
    };
  }
  Served Find(const std::string& path) const {
    const base::MutexLock lock(mutex_);
    const auto it = served_.find(path);
    return it == served_.end() ? Served{} : it->second;
  }

  StatusOr<std::unique_ptr<rpc::RegistrationClient>> Registration(
      const std::string& socket) override {
    return std::unique_ptr<rpc::RegistrationClient>(
        std::make_unique<Registrar>(Find(socket).handler));
  }
  StatusOr<std::unique_ptr<rpc::PluginChannel>> Channel(const rpc::ChannelOptions& options,
                                                        rpc::PluginListener& listener) override {
    rpc::PluginHandler* handler = Find(options.endpoint).handler;
    if (handler != nullptr) listener.OnConnected(true);
    return std::unique_ptr<rpc::PluginChannel>(
        std::make_unique<Line>(handler, options.dra, listener));
  }

 private:
  class Server final : public rpc::PluginServer {
   public:
    Server(Loopback& loopback, rpc::PluginSockets sockets)
        : loopback_(loopback), sockets_(std::move(sockets)) {}
    ~Server() override {
      const base::MutexLock lock(loopback_.mutex_);
      loopback_.served_.erase(sockets_.registration);
      loopback_.served_.erase(sockets_.dra);
    }

   private:
    Loopback& loopback_;
    const rpc::PluginSockets sockets_;
  };
  // Joins what it has started.
  class Threads {
   public:
    ~Threads() {
      for (std::thread& thread : threads_) thread.join();
    }
    void Start(std::function<void()> work) { threads_.emplace_back(std::move(work)); }

   private:
    std::vector<std::thread> threads_;
  };
  static Status Nobody() { return base::Unavailable("nobody listens"); }

  class Registrar final : public rpc::RegistrationClient {
   public:
    explicit Registrar(rpc::PluginHandler* handler) : handler_(handler) {}
    void GetInfo(std::chrono::nanoseconds, rpc::Done<rpc::PluginInfo> done) override {
      threads_.Start([this, done] { done(handler_ == nullptr ? Nobody() : handler_->Info()); });
    }
    void Notify(const std::string& error, std::chrono::nanoseconds, rpc::DoneStatus done) override {
      threads_.Start([this, error, done] {
        done(handler_ == nullptr ? Nobody() : handler_->Registered(error.empty(), error));
      });
    }

   private:
    rpc::PluginHandler* const handler_;
    Threads threads_;
  };

  class Reports final : public rpc::HealthReports {
   public:
    Reports(rpc::PluginListener& listener, std::shared_ptr<bool> open)
        : listener_(listener), open_(std::move(open)) {}
    bool Send(std::vector<rpc::DeviceHealth> devices) override {
      if (!*open_) return false;
      listener_.OnHealth(std::move(devices));
      return true;
    }

   private:
    rpc::PluginListener& listener_;
    const std::shared_ptr<bool> open_;
  };

  class Line final : public rpc::PluginChannel {
   public:
    Line(rpc::PluginHandler* handler, rpc::DraService dra, rpc::PluginListener& listener)
        : handler_(handler), dra_(dra), listener_(listener) {}
    ~Line() override { *open_ = false; }
    void Prepare(std::vector<rpc::ClaimName> claims, std::chrono::nanoseconds,
                 rpc::Done<rpc::PrepareAnswer> done) override {
      threads_.Start([this, claims = std::move(claims), done] {
        auto answer = handler_ == nullptr ? StatusOr<rpc::PrepareAnswer>(Nobody())
                                          : handler_->Prepare(claims);
        if (answer.ok() && dra_ == rpc::DraService::kV1Beta1) {
          for (auto& [uid, claim] : *answer) {
            for (auto& device : claim.devices) device.share_id.reset();
          }
        }
        done(std::move(answer));
      });
    }
    void Unprepare(std::vector<rpc::ClaimName> claims, std::chrono::nanoseconds,
                   rpc::Done<rpc::UnprepareAnswer> done) override {
      threads_.Start([this, claims = std::move(claims), done] {
        done(handler_ == nullptr ? StatusOr<rpc::UnprepareAnswer>(Nobody())
                                 : handler_->Unprepare(claims));
      });
    }
    void WatchHealth() override {
      const Status status = handler_->WatchHealth(std::make_shared<Reports>(listener_, open_));
      if (!status.ok()) listener_.OnHealthEnd(status);
    }
    void NextHealth() override {}

   private:
    rpc::PluginHandler* const handler_;
    const rpc::DraService dra_;
    rpc::PluginListener& listener_;
    const std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
    Threads threads_;
  };

  mutable base::Mutex mutex_;
  std::map<std::string, Served> served_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::driver
