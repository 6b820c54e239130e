// SPDX-License-Identifier: Apache-2.0
//
// Policy: what of which requests is written down, as a file of audit.k8s.io/v1 says. The first rule
// that fits a request decides; a request that none fits is not audited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::audit {

// How much of a request, from nothing to everything.
enum class Level : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };
inline constexpr std::size_t kLevels = 4;
std::string_view NameOf(Level level);

// When an event is written: a request can have several.
enum class Stage : std::uint8_t { kRequestReceived, kResponseStarted, kResponseComplete, kPanic };
inline constexpr std::size_t kStages = 4;
std::string_view NameOf(Stage stage);

// A set of stages.
class Stages {
 public:
  void Add(Stage stage) { bits_ |= Bit(stage); }
  bool Has(Stage stage) const { return (bits_ & Bit(stage)) != 0; }
  Stages operator|(Stages other) const {
    other.bits_ |= bits_;
    return other;
  }
  friend bool operator==(Stages, Stages) = default;

 private:
  static std::uint8_t Bit(Stage stage) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(stage));
  }
  std::uint8_t bits_ = 0;
};

// What a request is about, for rules and events. Borrowed.
struct Attributes {
  std::string_view verb;
  bool is_resource = false;
  // Of a resource:
  std::string_view group = {};
  std::string_view version = {};
  std::string_view resource = {};
  std::string_view subresource = {};
  std::string_view namespace_ = {};
  std::string_view name = {};
  // Of what is none:
  std::string_view path = {};
};

struct GroupResources {
  std::string group;
  // "pods", "pods/status", "pods/*", "*/scale", "*"; none: all of the group.
  std::vector<std::string> resources;
  std::vector<std::string> resource_names;  // none: any
  friend bool operator==(const GroupResources&, const GroupResources&) = default;
};

// What is empty fits everything.
struct Rule {
  Level level = Level::kNone;
  std::vector<std::string> users = {};  // "": nobody, who was not let in
  std::vector<std::string> user_groups = {};
  std::vector<std::string> verbs = {};
  std::vector<GroupResources> resources = {};
  std::vector<std::string> namespaces = {};  // "": what is in none
  std::vector<std::string> non_resource_urls = {};
  Stages omit_stages = {};
  std::optional<bool> omit_managed_fields = {};
  friend bool operator==(const Rule&, const Rule&) = default;
};

// What is to be written of a request.
struct Decision {
  Level level = Level::kNone;
  Stages omit_stages = {};
  bool omit_managed_fields = false;
};

struct Policy {
  std::vector<Rule> rules;
  Stages omit_stages = {};
  bool omit_managed_fields = false;
  friend bool operator==(const Policy&, const Policy&) = default;

  Decision For(std::string_view user, const std::vector<std::string>& groups,
               const Attributes& attributes) const;
};

// Writes, copies of everything, and who was not let in at level Metadata when they have been
// answered; other reads, leases and events not at all.
Policy DefaultPolicy();

// YAML or JSON. An error names the line, the field, its value and what would be right.
StatusOr<Policy> ReadPolicy(std::string_view text);
// That ReadPolicy reads as the same policy.
std::string ToJson(const Policy& policy);

}  // namespace dray::audit
