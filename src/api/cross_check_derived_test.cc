// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of derived attributes and the constraints that compare them: held against the plain way to
// ask, and counted for claims as large as somebody can write them.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/cross_check.h"
#include "api/resource_claim.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::api {
namespace {

// One alternative of a request, as constraints call it.
struct Plain {
  std::string request;
  std::string subrequest;
  std::vector<std::string> derived;
  std::string path;
};

std::vector<Plain> PlainOf(const ResourceClaim& claim) {
  std::vector<Plain> all;
  const auto names = [](const auto& attributes) {
    std::vector<std::string> names;
    for (const auto& attribute : attributes) names.push_back(attribute.name);
    return names;
  };
  for (std::size_t i = 0; i < claim.spec.devices.requests.size(); ++i) {
    const DeviceRequest& request = claim.spec.devices.requests[i];
    const std::string path = fmt::format("spec.devices.requests[{}]", i);
    if (request.exactly) {
      all.push_back(
          {request.name, "", names(request.exactly->derived_attributes), path + ".exactly"});
    }
    for (std::size_t j = 0; j < request.first_available.size(); ++j) {
      const DeviceSubRequest& sub = request.first_available[j];
      all.push_back({request.name, request.name + "/" + sub.name, names(sub.derived_attributes),
                     fmt::format("{}.firstAvailable[{}]", path, j)});
    }
  }
  return all;
}

bool PlainCovers(const DeviceConstraint& constraint, const Plain& plain) {
  if (constraint.requests.empty()) return true;
  return std::ranges::any_of(constraint.requests, [&](const std::string& name) {
    return name == plain.request || (!plain.subrequest.empty() && name == plain.subrequest);
  });
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What is to be found, asking each constraint about each alternative.
std::vector<std::string> Expected(const ResourceClaim& claim) {
  std::vector<std::string> lines;
  const std::vector<Plain> alternatives = PlainOf(claim);
  const auto& constraints = claim.spec.devices.constraints;
  for (const Plain& plain : alternatives) {
    for (std::size_t i = 0; i < plain.derived.size(); ++i) {
      const bool used = std::ranges::any_of(constraints, [&](const DeviceConstraint& constraint) {
        return PlainCovers(constraint, plain) &&
               (constraint.match_attribute == plain.derived[i] ||
                constraint.distinct_attribute == plain.derived[i]);
      });
      if (used) continue;
      lines.push_back(fmt::format(
          "{}.derivedAttributes[{}].name: no constraint that covers request \"{}\" uses the "
          "derived attribute \"{}\"",
          plain.path, i, plain.request, plain.derived[i]));
    }
  }
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const auto use = [&](std::string_view field, const std::optional<std::string>& attribute) {
      if (!attribute) return;
      const Plain* from_device = nullptr;
      bool derived = false;
      for (const Plain& plain : alternatives) {
        if (!PlainCovers(constraints[i], plain)) continue;
        if (Has(plain.derived, *attribute)) {
          derived = true;
        } else if (from_device == nullptr) {
          from_device = &plain;
        }
      }
      // Without devices nobody knows what they have; only a bare name must be derived by somebody.
      if (from_device == nullptr || derived) return;
      lines.push_back(fmt::format(
          "spec.devices.constraints[{}].{}: \"{}\" has no domain, and no request that the "
          "constraint covers derives an attribute of that name",
          i, field, *attribute));
    };
    use("matchAttribute", constraints[i].match_attribute);
    use("distinctAttribute", constraints[i].distinct_attribute);
  }
  return lines;
}

std::vector<std::string> Found(const ResourceClaim& claim) {
  const std::vector<Object> objects = {Object::Of(claim)};
  std::vector<std::string> lines;
  for (const CrossFinding& finding : CrossCheck(objects)) {
    lines.push_back(fmt::format("{}: {}", finding.path.ToString(), finding.message));
  }
  return lines;
}

TEST(CrossCheckDerived, FindsWhatAskingEachConstraintAboutEachRequestFinds) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return random() % n; };
  const auto derive = [&](auto& attributes) {
    for (std::uint32_t i = below(4); i > 0; --i) {
      attributes.push_back({.name = fmt::format("a{}", below(4)), .expression = "device.driver"});
    }
  };
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    ResourceClaim claim;
    claim.metadata.name = "c";
    for (std::uint32_t i = below(5); i > 0; --i) {
      DeviceRequest& request = claim.spec.devices.requests.emplace_back();
      request.name = fmt::format("r{}", below(4));  // sometimes twice
      if (below(2) == 0) {
        derive(request.exactly.emplace().derived_attributes);
        continue;
      }
      for (std::uint32_t j = 0; j < 1 + below(3); ++j) {
        DeviceSubRequest& sub = request.first_available.emplace_back();
        sub.name = fmt::format("s{}", j);
        derive(sub.derived_attributes);
      }
    }
    for (std::uint32_t i = below(5); i > 0; --i) {
      DeviceConstraint& constraint = claim.spec.devices.constraints.emplace_back();
      for (std::uint32_t j = below(3); j > 0; --j) {
        const std::string name = fmt::format("r{}", below(4));
        constraint.requests.push_back(below(2) == 0 ? name : name + fmt::format("/s{}", below(3)));
      }
      if (below(4) != 0) constraint.match_attribute = fmt::format("a{}", below(5));
      if (below(4) == 0) constraint.distinct_attribute = fmt::format("a{}", below(5));
    }
    const std::vector<std::string> expected = Expected(claim);
    ASSERT_EQ(Found(claim), expected) << "round " << round;
    found += expected.empty() ? 0 : 1;
  }
  EXPECT_GT(found, 1000);
}

// Kubernetes allows 32 requests and constraints; a file may have any number, and validation tells of them
// after the same time.
TEST(CrossCheckDerived, LooksAtEverythingOnce) {
  enum class Kind { kAll, kEach, kMissing, kUnused, kSame };
  const auto steps = [](Kind kind, int size) {
    ResourceClaim claim;
    claim.metadata.name = "c";
    for (int i = 0; i < size; ++i) {
      DeviceRequest& request = claim.spec.devices.requests.emplace_back();
      request.name = fmt::format("r{}", i);
      const std::string name = kind == Kind::kSame ? "same" : fmt::format("attribute-{}", i);
      request.exactly.emplace().derived_attributes.push_back(
          {.name = name, .expression = "device.driver"});
      if (kind == Kind::kUnused) continue;
      DeviceConstraint& constraint = claim.spec.devices.constraints.emplace_back();
      constraint.match_attribute = kind == Kind::kMissing ? fmt::format("missing-{}", i) : name;
      if (kind == Kind::kEach) constraint.requests = {request.name};
    }
    const std::vector<Object> objects = {Object::Of(claim)};
    std::uint64_t looked = 0;
    CrossCheck(objects, &looked);
    return looked;
  };
  for (const Kind kind : {Kind::kAll, Kind::kEach, Kind::kUnused, Kind::kSame}) {
    const std::uint64_t small = steps(kind, 1000);
    EXPECT_GE(small, 1000u);
    EXPECT_LE(steps(kind, 4000), 4 * small + 10) << static_cast<int>(kind);
  }
  // What was probably meant is looked for among all names, for the first of them.
  EXPECT_LT(steps(Kind::kMissing, 8000), 600'000u);
}

}  // namespace
}  // namespace dray::api
