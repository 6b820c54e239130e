// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/cross_expressions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/device_class.h"
#include "api/extended_resources.h"
#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/edit_distance.h"
#include "base/string_map.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_results.h"
#include "cel/program.h"
#include "cli/internal/expressions.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::size_t kMostNamesInHint = 5;

// Programs by their text. Null: it does not compile, which is told elsewhere.
class Programs {
 public:
  const cel::Program* Of(std::string_view text) {
    const auto known = programs_.find(text);
    if (known != programs_.end()) return known->second.get();
    const cel::CompileResult compiled =
        cel::Compile(text, cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored()),
                     {.estimate_cost = false});
    std::shared_ptr<const cel::Program> program;
    if (compiled.ok()) {
      auto made = cel::Program::Compile(*compiled.checked);
      if (made.ok()) program = *std::move(made);
    }
    return programs_.emplace(std::string(text), std::move(program)).first->second.get();
  }

 private:
  base::StringMap<std::shared_ptr<const cel::Program>> programs_;
};

// Names of one sort (attributes or capacities) that devices have, with their domain.
class Names {
 public:
  void Add(std::string_view name, std::string_view driver) {
    const auto slash = name.rfind('/');
    const bool bare = slash == std::string_view::npos;
    std::string full = bare ? fmt::format("{}/{}", driver, name) : std::string(name);
    if (all_.contains(full)) return;
    by_domain_[std::string(bare ? driver : name.substr(0, slash))].insert(
        std::string(name.substr(bare ? 0 : slash + 1)));
    all_.insert(std::move(full));
  }
  bool Has(std::string_view domain, std::string_view id) const {
    return all_.contains(fmt::format("{}/{}", domain, id));
  }
  bool Knows(std::string_view domain) const { return by_domain_.contains(domain); }
  // Remembered: thousands may say the same, and each is compared with everything that there is.
  const std::string& Hint(std::string_view domain, std::string_view id) {
    const auto [known, added] = hints_.try_emplace(fmt::format("{}/{}", domain, id));
    if (added) known->second = FindHint(domain, id);
    return known->second;
  }

 private:
  std::string FindHint(std::string_view domain, std::string_view id) const {
    const auto found = by_domain_.find(domain);
    if (found == by_domain_.end()) return "the devices of that driver in the input have none";
    const std::vector<std::string_view> ids(found->second.begin(), found->second.end());
    if (const auto closest = base::ClosestMatch(id, ids)) {
      return fmt::format("did you mean \"{}/{}\"?", domain, *closest);
    }
    std::string list;
    for (std::size_t i = 0; i < std::min(ids.size(), kMostNamesInHint); ++i) {
      list += fmt::format("{}\"{}/{}\"", i == 0 ? "" : ", ", domain, ids[i]);
    }
    if (ids.size() > kMostNamesInHint) {
      list += fmt::format(" and {} more", ids.size() - kMostNamesInHint);
    }
    return fmt::format("the devices in the input have {}", list);
  }

  base::StringMap<std::string> hints_;  // by name
  base::StringSet all_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_domain_;
};

// A derived attribute of a claim, and who derives it.
struct Derived {
  std::string_view name;
  std::string_view request;
};

// By name, the first that has it.
using DerivedByName = base::StringMap<std::pair<std::size_t, Derived>>;

DerivedByName DerivedIn(const api::Object& object) {
  const api::ResourceClaimSpec* spec = nullptr;
  if (const auto* claim = object.As<api::ResourceClaim>()) spec = &claim->spec;
  if (const auto* tmpl = object.As<api::ResourceClaimTemplate>()) spec = &tmpl->spec.spec;
  DerivedByName derived;
  if (spec == nullptr) return derived;
  const auto add = [&](const auto& alternative, std::string_view request) {
    for (const api::DeviceDerivedAttribute& attribute : alternative.derived_attributes) {
      derived.try_emplace(attribute.name, derived.size(), Derived{attribute.name, request});
    }
  };
  for (const api::DeviceRequest& request : spec->devices.requests) {
    if (request.exactly) add(*request.exactly, request.name);
    for (const api::DeviceSubRequest& sub : request.first_available) add(sub, request.name);
  }
  return derived;
}

class ExpressionCheck {
 public:
  explicit ExpressionCheck(std::span<const api::Object> objects) : objects_(objects) {
    for (const api::Object& object : objects) {
      const auto* slice = object.As<api::ResourceSlice>();
      if (slice == nullptr || !slice->spec.devices || slice->spec.devices->empty()) continue;
      drivers_.insert(slice->spec.driver);
      for (const api::Device& device : *slice->spec.devices) {
        for (const auto& [name, value] : device.attributes)
          attributes_.Add(name, slice->spec.driver);
        for (const auto& [name, value] : device.capacity) capacities_.Add(name, slice->spec.driver);
      }
    }
  }

  std::vector<api::CrossFinding> Run() {
    if (drivers_.empty()) return {};
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const std::vector<ExpressionField> fields = ExpressionsOf(objects_[i]);
      if (fields.empty()) continue;
      const DerivedByName derived = DerivedIn(objects_[i]);
      for (const ExpressionField& field : fields) Look(i, field, derived);
    }
    CheckNodes();
    return std::move(findings_);
  }

 private:
  void Look(std::size_t object, const ExpressionField& field, const DerivedByName& derived) {
    const cel::Program* program = programs_.Of(field.text);
    if (program == nullptr) return;
    for (const cel::Reads::Name& read : program->reads().attributes) {
      if (attributes_.Has(read.domain, read.id)) continue;
      std::optional<Derived> meant;
      if (field.purpose == cel::Purpose::kSelector) meant = DerivedLike(read, derived);
      const bool known = drivers_.contains(read.domain) || attributes_.Knows(read.domain);
      if (!meant && !known) continue;
      Add(object, field, "UnknownAttribute", "attribute", read,
          meant ? fmt::format("request \"{}\" derives \"{}\", which can be used in constraints but "
                              "not in selectors (KEP-6080)",
                              meant->request, meant->name)
                : attributes_.Hint(read.domain, read.id));
    }
    for (const cel::Reads::Name& read : program->reads().capacities) {
      if (capacities_.Has(read.domain, read.id)) continue;
      if (!drivers_.contains(read.domain) && !capacities_.Knows(read.domain)) continue;
      Add(object, field, "UnknownCapacity", "capacity", read,
          capacities_.Hint(read.domain, read.id));
    }
  }

  static std::optional<Derived> DerivedLike(const cel::Reads::Name& read,
                                            const DerivedByName& derived) {
    const auto bare = derived.find(read.id);
    const auto full = derived.find(fmt::format("{}/{}", read.domain, read.id));
    if (bare == derived.end() && full == derived.end()) return std::nullopt;
    if (full == derived.end()) return bare->second.second;
    if (bare == derived.end() || full->second.first < bare->second.first) {
      return full->second.second;
    }
    return bare->second.second;
  }

  void Add(std::size_t object, const ExpressionField& field, std::string_view reason,
           std::string_view what, const cel::Reads::Name& read, std::string hint) {
    findings_.push_back({.object = object,
                         .path = field.path,
                         .severity = api::Severity::kWarning,
                         .reason = std::string(reason),
                         .message = fmt::format("no device in the input has the {} \"{}/{}\"", what,
                                                read.domain, read.id),
                         .hint = std::move(hint)});
  }

  // KEP-5004: a node has a resource by a device plugin or by DRA, not by both. Where it has both,
  // the device plugin's counts and the devices serve nobody who asks by that name.
  void CheckNodes() {
    api::ExtendedResourceIndex serves;
    base::StringMap<std::size_t> classes;
    std::multimap<std::string_view, const api::ResourceSlice*> by_node;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (const auto* device_class = objects_[i].As<api::DeviceClass>()) {
        serves.OnAdd(*device_class);
        classes.emplace(device_class->metadata.name, i);
      } else if (const auto* slice = objects_[i].As<api::ResourceSlice>();
                 slice != nullptr && slice->spec.node_name) {
        by_node.emplace(*slice->spec.node_name, slice);
      }
    }
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const auto* node = objects_[i].As<api::Node>();
      if (node == nullptr) continue;
      for (const auto& [key, amount] : node->status.allocatable) {
        const std::string_view name(key);
        const std::string* class_name = amount.IsZero() ? nullptr : serves.FindClass(name);
        if (class_name == nullptr) continue;
        const std::size_t served_by = classes.find(*class_name)->second;
        const auto* device_class = objects_[served_by].As<api::DeviceClass>();
        std::size_t devices = 0;
        const auto [first, last] = by_node.equal_range(node->metadata.name);
        for (auto it = first; it != last; ++it) devices += Selected(*device_class, *it->second);
        if (devices == 0) continue;
        findings_.push_back(
            {.object = i,
             .path = (base::FieldPath("status") / "allocatable").Key(name),
             .severity = api::Severity::kWarning,
             .reason = "DevicePluginAndDevices",
             .message = fmt::format("the node has \"{}\" from a device plugin, and also {} "
                                    "device{} of DeviceClass \"{}\", which serves the same name",
                                    name, devices, devices == 1 ? "" : "s", *class_name),
             .hint = "a node provides a resource in one of the two ways (KEP-5004): pods that "
                     "request it by name get the device plugin's, and the DRA devices can only be "
                     "used by claims",
             .related = served_by});
      }
    }
  }

  std::size_t Selected(const api::DeviceClass& device_class, const api::ResourceSlice& slice) {
    if (!slice.spec.devices) return 0;
    std::size_t count = 0;
    for (const api::Device& device : *slice.spec.devices) {
      bool all = true;
      for (const api::DeviceSelector& selector : device_class.spec.selectors) {
        const cel::Program* program =
            selector.cel ? programs_.Of(selector.cel->expression) : nullptr;
        if (program == nullptr) return 0;
        const auto matched = cel::Match(*program, slice.spec.driver, device);
        all = all && matched.ok() && matched->match;
      }
      count += all ? 1 : 0;
    }
    return count;
  }

  std::span<const api::Object> objects_;
  Programs programs_;
  base::StringSet drivers_;  // that have devices
  Names attributes_;
  Names capacities_;
  std::vector<api::CrossFinding> findings_;
};

}  // namespace

std::vector<api::CrossFinding> CrossCheckExpressions(std::span<const api::Object> objects) {
  return ExpressionCheck(objects).Run();
}

}  // namespace dray::cli::internal
