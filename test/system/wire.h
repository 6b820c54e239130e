// SPDX-License-Identifier: Apache-2.0
//
// Wire: what is between clients and the server. Requests go to a registry::RestHandler on the same
// thread, later; answers come back, later, or not.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/http.h"
#include "client/http_client.h"
#include "system/stage.h"

namespace dray::system {

// A request as it was sent.
struct Sent {
  std::string who;  // the process
  std::string method;
  std::string target;
  std::string body;
  Nanos at{0};
};

// One thread.
class Wire {
 public:
  explicit Wire(Stage& stage) : stage_(stage) {}
  ~Wire();

  // Who answers. Null: nobody does; whoever waits learns that the connection is broken.
  void Connect(apiserver::Handler* handler);
  bool connected() const { return handler_ != nullptr; }

  // Told right before a request of that process is sent.
  std::function<void(const std::string& who, const std::string& target)> on_sending;
  // Told right before the server gets a request, and right before a client gets an answer.
  std::function<void(const Sent&)> on_arrival;
  std::function<void(const Sent&, int status, const std::string& body)> on_answer;

  // A client's way to the server. `who`: the process's name; all of them outlive it.
  std::unique_ptr<client::HttpClient> MakeClient(std::string who, const Process& process,
                                                 apiserver::User user, client::HttpOptions options);
  // Nothing of what this process sends arrives for so long, and no answer; of lease requests alone
  // if it says so.
  void Freeze(const std::string& who, Nanos until, bool leases_only);

 private:
  class Client;
  class Stream;
  class Answering;
  struct Call;
  struct Feed;
  struct Frozen {
    std::string who;
    Nanos until;
    bool leases_only;
  };

  bool IsFrozen(const Sent& sent) const;
  // The time that something takes.
  Nanos Latency();
  void Deliver(const std::shared_ptr<Call>& call);
  void Arrive(const std::shared_ptr<Call>& call);
  void Break(const std::shared_ptr<Call>& call);
  void Pull(const std::shared_ptr<Feed>& feed);
  void Wake(const std::shared_ptr<Feed>& feed, Nanos delay);
  void End(const std::shared_ptr<Feed>& feed);
  void BeginFeed(const std::shared_ptr<Call>& call, apiserver::Response response);
  void BeginLong(const std::shared_ptr<Call>& call, apiserver::Response response);
  void PullLong(const std::shared_ptr<Feed>& feed);
  void Answer(const std::shared_ptr<Call>& call, Nanos latency, client::HttpResponse answer);

  Stage& stage_;
  apiserver::Handler* handler_ = nullptr;
  std::uint64_t epoch_ = 0;  // of the server
  std::vector<std::weak_ptr<Call>> calls_;
  std::vector<std::shared_ptr<Feed>> feeds_;
  std::vector<Frozen> frozen_;
};

}  // namespace dray::system
