// SPDX-License-Identifier: Apache-2.0
//
// Explanation: why claims cannot be allocated on a node, as a value. Per claim, request and
// alternative: how many devices were looked at and what each one dropped out for; and the smallest
// set of requests and constraints that cannot hold together. Made by Explain (explain.h), on
// demand.
//
// docs/explanations.md describes the texts, the JSON and every reason code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/constraint.h"
#include "allocator/reason.h"

namespace dray::allocator {

struct DeviceName {
  std::string driver;
  std::string pool;
  std::string device;
  // As short as is clear on this node: "gpu-0", "pool/gpu-0" or all three.
  std::string label;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

struct Holding {
  std::string claim;  // "namespace/name"
  std::int64_t devices = 0;
  std::vector<DeviceName> examples;
  // For those who know more than claims: how people call who has them ("pod a"), what else there
  // is to know of it ("claim c, for 3h, priority 100"), and whether it is only foreseen that they
  // get them. Empty: the claim's name.
  std::string who;
  std::string about;
  bool planned = false;
};

// Devices that dropped out for the same reason.
struct Drop {
  Reason reason = Reason::kInUse;
  std::int64_t devices = 0;
  std::vector<DeviceName> examples;  // the first in search order

  // As the reason says.
  std::optional<std::int64_t> selector;  // among the class's or the request's, from 0
  bool of_class = false;
  std::string expression;
  std::string message;
  std::string subject;
  std::optional<std::int64_t> constraint;  // of the claim, from 0
  std::string pool;                        // driver/pool
  std::string counter_set;
  // Amounts: of the device that came closest.
  std::string asked;
  std::string allowed;  // amounts that the request policy has
  std::string available;
  std::string short_by;
  std::vector<std::string> declared;  // groups; empty: none
  std::vector<std::string> placed;
  std::vector<Holding> holders;
};

// Usable devices that declare the same compatibility groups.
struct GroupReport {
  std::vector<std::string> groups;  // empty: none
  std::int64_t devices = 0;
};

// A request, or one entry of a prioritized list.
struct AlternativeReport {
  std::string name;  // "request" or "request/subrequest"
  std::string device_class;
  std::string error;  // not empty: it cannot be searched for at all, and nothing was counted
  bool all = false;   // mode All: `needed` are the devices that match
  bool admin_access = false;
  std::int64_t needed = 0;
  std::int64_t considered = 0;  // all devices on the node; usable + those of `drops`
  std::int64_t of_class = 0;    // of these, those that the class's selectors do not rule out
  std::int64_t usable = 0;
  std::vector<Drop> drops;
  // Only where they are part of the conflict (Explanation::groups_exclude).
  std::vector<GroupReport> groups;
};

struct RequestReport {
  std::string name;
  // As people know it where nobody wrote the request: "container c: example.com/gpu". Empty:
  // "request NAME".
  std::string who;
  bool prioritized = false;
  bool in_conflict = false;
  std::vector<AlternativeReport> alternatives;
};

// How many usable devices have a value, per alternative of ConstraintReport::covers.
struct ValueReport {
  std::string value;
  std::string type;  // string, int, bool, version, or list where lists are not compared as sets
  std::vector<std::int64_t> devices;
};

struct ConstraintReport {
  const ConstraintType* type = nullptr;
  std::string attribute;
  bool in_conflict = false;
  std::vector<std::string> covers;  // alternatives by name
  std::vector<ValueReport> values;  // in the order in which devices have them
  std::int64_t values_in_all = 0;   // `values` is cut short
};

struct ClaimReport {
  std::string name;  // "namespace/name"
  std::string who;   // as people know it where nobody wrote the claim; empty: "claim NAME"
  std::vector<RequestReport> requests;
  std::vector<ConstraintReport> constraints;
};

// A pool that cannot be used.
struct PoolReport {
  std::string driver;
  std::string pool;
  bool invalid = false;  // otherwise incomplete
  std::string why;
};

// A member of the conflict: a request or a constraint of a claim, by index.
struct ConflictMember {
  std::int64_t claim = 0;
  bool constraint = false;
  std::int64_t index = 0;
  friend bool operator==(const ConflictMember&, const ConflictMember&) = default;
};

// Something of which the conflict's requests together need more than there is.
struct Shortage {
  bool capacity = false;    // otherwise a counter
  std::string pool;         // of the counter: driver/pool
  std::string counter_set;  // empty: all sets of the pool that have such a counter
  std::string name;
  std::string needed;  // at least
  std::string left;
  std::string short_by;
};

// A plain value.
struct Explanation {
  Decision::Kind kind = Decision::Kind::kRefused;
  std::string node;
  // What went wrong, with kFault.
  std::string fault;
  bool only_this_node = false;
  std::int64_t steps = 0;

  std::string summary;  // one sentence
  std::vector<PoolReport> pools;
  std::vector<ClaimReport> claims;

  // Cannot hold together; without any one of them the rest can. Empty unless refused.
  std::vector<ConflictMember> conflict;
  // False: the effort ended before it was known of every member that it is needed.
  bool conflict_exact = true;
  // The devices that the conflict's requests need at least, and for how many there is room at most:
  // one on a device, or as many as its capacity can be shared by. No room is given where admin
  // access lets two requests have one device.
  std::int64_t needed_together = 0;
  std::optional<std::int64_t> room_together;
  // They would fit if compatibility groups did not matter among them.
  bool groups_exclude = false;
  // Some of the devices that they could have draw on counters.
  bool counters_drawn = false;
  // A conflict around one request for a number of devices: how many it could have had.
  std::optional<std::int64_t> at_most;
  std::vector<Shortage> shortages;
};

// One line that begins with "cannot allocate all claims", then a tree, each line ended. UTF-8.
std::string ToText(const Explanation& explanation);
// Compact JSON.
std::string ToJson(const Explanation& explanation);

}  // namespace dray::allocator
