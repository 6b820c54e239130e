// SPDX-License-Identifier: Apache-2.0
//
// What must be true of everything that has ever been stored, revision by revision, and of what clients
// were shown of it. Truth is what another client's watch of etcd says, which knows nothing of dray.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parts/history.h"

namespace dray::parts {

// A key as dray calls it ("/registry/core/pods/a/b") and its new value.
struct StoredChange {
  std::string key;
  std::string value;
  bool deleted = false;
};
// All that happened at one revision: several transactions may share one.
struct StoredRevision {
  std::int64_t revision = 0;
  std::vector<StoredChange> changes;
};

using Complaints = std::vector<std::string>;

// Is told of every revision, in order. One thread.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual void On(const StoredRevision& revision) = 0;
  const Complaints& complaints() const { return complaints_; }

 protected:
  void Complain(std::string text);

 private:
  Complaints complaints_;
};

// What each ConfigMap of a namespace was: its value is data.v.
class RegisterTruth final : public Judge {
 public:
  explicit RegisterTruth(std::string_view space);
  void On(const StoredRevision& revision) override;
  const Truth& truth() const { return truth_; }

 private:
  const std::string prefix_;
  Truth truth_;
};

// No device has two claims after any revision, and an allocation never moves to other devices without
// having been given back.
class DeviceJudge final : public Judge {
 public:
  void On(const StoredRevision& revision) override;
  std::size_t given() const { return given_; }

 private:
  using Devices = std::set<std::string>;
  std::map<std::string, Devices> by_claim_;       // key to what it has
  std::map<std::string, std::string> by_device_;  // who has it
  std::map<std::string, std::string> uids_;
  std::size_t given_ = 0;
};

// A pod gets one node, once.
class BindingJudge final : public Judge {
 public:
  void On(const StoredRevision& revision) override;
  std::size_t bound() const { return bound_; }

 private:
  struct Bound {
    std::string uid;
    std::string node;
  };
  std::map<std::string, Bound> pods_;
  std::size_t bound_ = 0;
};

// What a namespace uses grows at no revision beyond what its quotas allow.
class QuotaJudge final : public Judge {
 public:
  void On(const StoredRevision& revision) override;
  // How often one was used up exactly: else nothing was tested.
  std::size_t times_full() const { return times_full_; }

 private:
  using Amounts = std::map<std::string, std::int64_t>;
  struct Space {
    std::map<std::string, Amounts> quotas;   // name to hard
    std::map<std::string, Amounts> objects;  // key to what it counts for
    Amounts used;
  };
  void OnQuota(Space& space, const std::string& name, const StoredChange& change);
  void OnObject(Space& space, const StoredChange& change);

  std::map<std::string, Space> spaces_;
  std::size_t times_full_ = 0;
};

// A watch as its client went through with it: from a list on, across servers and connections, at each of
// which it went on at the last revision that it had been shown.
struct Shown {
  std::string type;  // ADDED, MODIFIED, DELETED
  std::string name;
  std::int64_t revision = 0;
  std::string value;  // of what is not deleted
};
struct Watched {
  std::string client;
  std::int64_t from = 0;  // of the list, after which it began
  std::vector<Shown> events;
  std::int64_t complete = 0;            // it was told that there is nothing else up to here
  std::set<std::int64_t> resumed = {};  // where it went on
};
// Every change once, in order, as what it was.
Complaints CheckWatched(const Watched& watched, const Truth& truth);

// An answer to a list.
struct Listing {
  std::string client;
  std::int64_t revision = 0;
  std::map<std::string, std::pair<std::int64_t, std::string>> items;  // revision and value
};
// It is what there was at its revision: of all objects together, not one by one.
Complaints CheckListing(const Listing& listing, const Truth& truth);

}  // namespace dray::parts
