// SPDX-License-Identifier: Apache-2.0
//
// Drivers for tests of registration, endpoints and health: sockets without files, on the loop's time.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/loop.h"
#include "rpc/plugin_client.h"

namespace dray::node {

// What listens on a registration socket.
struct FakeRegistration {
  StatusOr<rpc::PluginInfo> info = rpc::PluginInfo{.type = "DRAPlugin",
                                                   .name = "gpu.example.com",
                                                   .endpoint = "/plugins/gpu/dra.sock",
                                                   .supported_versions = {"v1.DRAPlugin"}};
  Status notify;                  // its answer
  bool hangs = false;             // says nothing, until the deadline
  int asked = 0;                  // GetInfo
  std::vector<std::string> told;  // errors of Notify; empty: it is registered
};

// All sockets of a machine. On the loop's thread alone.
class FakeDrivers final : public rpc::PluginConnector {
 public:
  explicit FakeDrivers(Loop& loop) : loop_(loop) {}

  // Who is not there refuses connections.
  std::map<std::string, FakeRegistration> registrations;

  // A DRA socket.
  struct Endpoint {
    bool listening = false;
    int connections = 0;             // accepted so far
    int streams = 0;                 // opened so far
    std::vector<std::string> calls;  // "prepare v1 uid,uid"
    Status stream_answer;            // what a stream ends with at once; OK: it stays
    std::function<StatusOr<rpc::PrepareAnswer>(const std::vector<rpc::ClaimName>&)> prepare;
  };
  Endpoint& endpoint(const std::string& path) { return endpoints_[path]; }

  // The driver's process begins or ends to serve its DRA socket.
  void Listen(const std::string& path, bool listens = true) {
    endpoints_[path].listening = listens;
    for (FakeChannel* channel : ChannelsTo(path)) channel->SetConnected(listens);
  }
  void Report(const std::string& path, std::vector<rpc::DeviceHealth> devices) {
    for (FakeChannel* channel : ChannelsTo(path)) channel->Report(devices);
  }
  void EndStreams(const std::string& path, const Status& why) {
    for (FakeChannel* channel : ChannelsTo(path)) channel->EndStream(why);
  }
  // Messages that were not read yet.
  std::size_t Unread(const std::string& path) {
    std::size_t out = 0;
    for (FakeChannel* channel : ChannelsTo(path)) out += channel->unread.size();
    return out;
  }

  StatusOr<std::unique_ptr<rpc::RegistrationClient>> Registration(
      const std::string& socket) override {
    return std::make_unique<FakeClient>(*this, socket);
  }
  StatusOr<std::unique_ptr<rpc::PluginChannel>> Channel(const rpc::ChannelOptions& options,
                                                        rpc::PluginListener& listener) override {
    return std::make_unique<FakeChannel>(*this, options, listener);
  }

 private:
  class FakeClient final : public rpc::RegistrationClient {
   public:
    FakeClient(FakeDrivers& drivers, std::string socket)
        : drivers_(drivers), socket_(std::move(socket)) {}
    void GetInfo(std::chrono::nanoseconds deadline, rpc::Done<rpc::PluginInfo> done) override {
      FakeRegistration* there = Find();
      if (there == nullptr) return Later([done] { done(Refused()); });
      ++there->asked;
      if (there->hangs) return After(deadline, [done] { done(TooLate()); });
      Later([done, info = there->info] { done(info); });
    }
    void Notify(const std::string& error, std::chrono::nanoseconds deadline,
                rpc::DoneStatus done) override {
      FakeRegistration* there = Find();
      if (there == nullptr) return Later([done] { done(Refused()); });
      there->told.push_back(error);
      if (there->hangs) return After(deadline, [done] { done(TooLate()); });
      Later([done, status = there->notify] { done(status); });
    }

   private:
    static Status Refused() { return base::Unavailable("connection refused"); }
    static Status TooLate() {
      return base::MakeStatus(StatusCode::kDeadlineExceeded, "deadline exceeded");
    }
    FakeRegistration* Find() {
      const auto found = drivers_.registrations.find(socket_);
      return found == drivers_.registrations.end() ? nullptr : &found->second;
    }
    void Later(Loop::Task task) { drivers_.loop_.Post(std::move(task)); }
    void After(std::chrono::nanoseconds deadline, Loop::Task task) {
      timer_ = drivers_.loop_.After(deadline, std::move(task));
    }
    FakeDrivers& drivers_;
    const std::string socket_;
    Loop::Timer timer_;
  };

  class FakeChannel final : public rpc::PluginChannel {
   public:
    FakeChannel(FakeDrivers& drivers, rpc::ChannelOptions options, rpc::PluginListener& listener)
        : drivers_(drivers), options_(std::move(options)), listener_(&listener) {
      drivers_.channels_.push_back(this);
      if (There().listening) SetConnected(true);
    }
    ~FakeChannel() override { std::erase(drivers_.channels_, this); }

    void Prepare(std::vector<rpc::ClaimName> claims, std::chrono::nanoseconds,
                 rpc::Done<rpc::PrepareAnswer> done) override {
      if (!Call("prepare", claims)) return Unavailable(std::move(done));
      if (There().prepare) {
        drivers_.loop_.Post([done, answer = There().prepare(claims)] { done(answer); });
        return;
      }
      rpc::PrepareAnswer answer;
      for (const rpc::ClaimName& claim : claims) answer[claim.uid];
      drivers_.loop_.Post([done, answer] { done(answer); });
    }
    void Unprepare(std::vector<rpc::ClaimName> claims, std::chrono::nanoseconds,
                   rpc::Done<rpc::UnprepareAnswer> done) override {
      if (!Call("unprepare", claims)) return Unavailable(std::move(done));
      rpc::UnprepareAnswer answer;
      for (const rpc::ClaimName& claim : claims) answer[claim.uid];
      drivers_.loop_.Post([done, answer] { done(answer); });
    }
    void WatchHealth() override {
      ++There().streams;
      streaming_ = true;
      asked_ = true;
      if (!There().listening) {
        EndStream(base::Unavailable("not connected"));
      } else if (!There().stream_answer.ok()) {
        EndStream(There().stream_answer);
      }
    }
    void NextHealth() override {
      asked_ = true;
      Deliver();
    }

    void SetConnected(bool connected) {
      if (connected) ++There().connections;
      listener_->OnConnected(connected);
      if (!connected) EndStream(base::Unavailable("connection closed"));
    }
    void Report(const std::vector<rpc::DeviceHealth>& devices) {
      if (!streaming_) return;
      unread.push_back(devices);
      Deliver();
    }
    void EndStream(const Status& why) {
      if (!std::exchange(streaming_, false)) return;
      unread.clear();
      listener_->OnHealthEnd(why);
    }
    const std::string& path() const { return options_.endpoint; }
    std::deque<std::vector<rpc::DeviceHealth>> unread;

   private:
    FakeDrivers::Endpoint& There() { return drivers_.endpoints_[options_.endpoint]; }
    bool Call(const std::string& what, const std::vector<rpc::ClaimName>& claims) {
      if (!There().listening) return false;
      std::string text = what + (options_.dra == rpc::DraService::kV1 ? " v1" : " v1beta1");
      for (const rpc::ClaimName& claim : claims) text += " " + claim.uid;
      There().calls.push_back(std::move(text));
      return true;
    }
    template <class Answer>
    void Unavailable(rpc::Done<Answer> done) {
      drivers_.loop_.Post([done] { done(base::Unavailable("connection refused")); });
    }
    void Deliver() {
      if (!asked_ || unread.empty()) return;
      asked_ = false;
      std::vector<rpc::DeviceHealth> next = std::move(unread.front());
      unread.pop_front();
      listener_->OnHealth(std::move(next));
    }

    FakeDrivers& drivers_;
    const rpc::ChannelOptions options_;
    rpc::PluginListener* const listener_;
    bool streaming_ = false;
    bool asked_ = false;  // for the next message
  };

  std::vector<FakeChannel*> ChannelsTo(const std::string& path) {
    std::vector<FakeChannel*> out;
    std::ranges::copy_if(channels_, std::back_inserter(out),
                         [&](const FakeChannel* channel) { return channel->path() == path; });
    return out;
  }

  Loop& loop_;
  std::map<std::string, Endpoint> endpoints_;
  std::vector<FakeChannel*> channels_;
};

}  // namespace dray::node
