// SPDX-License-Identifier: Apache-2.0
//
// Clients of several servers that write down what they asked and what they were told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dice.h"
#include "parts/history.h"
#include "parts/judges.h"
#include "process/requests.h"

namespace dray::parts {

inline constexpr std::string_view kRegisters = "registers";  // the namespace of single objects

// How the servers are reached.
struct Doors {
  std::vector<std::uint16_t> ports;
  apiserver::ClientTls tls;
};

// A client that asks another server when one does not answer, and now and then without cause. One thread.
class Asker {
 public:
  Asker(std::string name, const Doors& doors, std::uint64_t seed);

  // Status 0: no whole answer came.
  apiserver::ClientResponse Do(const process::Call& call);
  // Any server from now on.
  void Move() {
    at_ = static_cast<std::size_t>(dice_.Range(0, static_cast<int>(doors_.ports.size()) - 1));
  }
  std::size_t at() const { return at_; }
  const Doors& doors() const { return doors_; }
  model::Dice& dice() { return dice_; }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  const Doors doors_;
  model::Dice dice_;
  std::size_t at_ = 0;
  std::vector<std::unique_ptr<process::Requests>> requests_;
};

// What an answer says about a write.
Operation::Outcome OutcomeOf(int status);
// Nothing: it was no list.
std::optional<Listing> ReadListing(std::string_view body);

// Makes, changes, reads, lists and deletes a handful of ConfigMaps, which others do at the same time.
class RegisterClient {
 public:
  // The first ones of all clients delete an object each: two that delete the same one could both be right.
  RegisterClient(int index, const Doors& doors, std::uint64_t seed);
  void Run(const std::atomic<bool>& stop);

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Listing>& listings() const { return listings_; }
  // Answers that no client should get.
  const Complaints& complaints() const { return complaints_; }

 private:
  static constexpr int kNames = 6;
  void Step();
  std::string AnyName();
  void Read(const std::string& name);
  void List();
  void Write(process::Call call, Operation operation);
  Operation Begin(Operation::Kind kind, std::string name) const;
  void Keep(Operation operation);

  const int index_;
  Asker asker_;
  const Moment began_ = std::chrono::steady_clock::now();
  int values_ = 0;
  std::string known_;  // the version that was read last, of this object
  std::string known_name_;
  std::vector<Operation> operations_;
  std::vector<Listing> listings_;
  Complaints complaints_;
};

// Lists the ConfigMaps once and then only watches, at one server after the other, each time from where it was.
class WatchClient {
 public:
  WatchClient(int index, const Doors& doors, std::uint64_t seed);
  // Until it has been shown everything up to a revision that is not 0, or does not get there in time.
  void Run(const std::atomic<std::int64_t>& until, std::chrono::seconds patience);

  // A new one where the history had been thrown away.
  const std::vector<Watched>& chains() const { return chains_; }
  const std::vector<Listing>& listings() const { return listings_; }
  const Complaints& complaints() const { return complaints_; }
  std::size_t events() const { return events_; }
  std::size_t connections() const { return connections_; }

 private:
  void Begin();
  void Watch();
  void OnLine(std::string_view line);

  Asker asker_;
  std::int64_t at_ = 0;  // 0: must list
  std::size_t events_ = 0;
  std::size_t connections_ = 0;
  std::vector<Watched> chains_;
  std::vector<Listing> listings_;
  Complaints complaints_;
};

}  // namespace dray::parts
