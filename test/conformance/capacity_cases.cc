// SPDX-License-Identifier: Apache-2.0
//
// The kind `capacity`: the arithmetic behind consumable capacity. "error" in these cases is an
// amount that cannot be held; dray does not take the device then (docs/decisions.md), but the
// arithmetic tells it apart from one that does not fit.
#include <stdexcept>

#include "api/json.h"
#include "conformance/case_files.h"
#include "conformance/engine.h"
#include "conformance/suite.h"
#include "fmt/format.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using base::Quantity;
using Verdict = std::optional<std::string>;  // what differs

// Null when it is missing or null.
const DocumentNode* Get(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member != nullptr && member->value.kind != DocumentNode::Kind::kNull ? &member->value
                                                                              : nullptr;
}

bool Flag(const DocumentNode& node, std::string_view key) {
  const DocumentNode* value = Get(node, key);
  return value != nullptr && value->boolean;
}

std::optional<Quantity> QuantityAt(const DocumentNode& node, std::string_view key) {
  const DocumentNode* value = Get(node, key);
  if (value == nullptr) return std::nullopt;
  auto quantity = Quantity::Parse(value->text);
  if (!quantity.ok()) throw std::runtime_error(std::string(base::Message(quantity.status())));
  return *std::move(quantity);
}

template <typename T>
api::Box<T> ObjectIn(const DocumentNode& node, std::string_view key) {
  const DocumentNode* value = Get(node, key);
  if (value == nullptr) return {};
  api::JsonDecoder decoder;
  auto decoded = decoder.Decode<T>(api::ToJson(*value));
  if (!decoded.ok()) throw std::runtime_error(std::string(base::Message(decoded.status())));
  return *std::move(decoded);
}

Verdict Compare(std::string_view what, const std::string& want, const std::string& got) {
  if (want == got) return std::nullopt;
  return fmt::format("{}: want {}, got {}", what, want, got);
}

std::string Show(const std::optional<Quantity>& amount) {
  return amount ? amount->DecimalKey() : "error";
}

std::optional<Quantity> Expected(const DocumentNode& expect, std::string_view key) {
  if (Flag(expect, "error")) return std::nullopt;
  return QuantityAt(expect, key);
}

struct Input {
  const Engine& engine;
  const DocumentNode& in;
  const DocumentNode& expect;
  bool fractional;
};

Verdict RunConsumed(const Input& c) {
  api::DeviceCapacity capacity;
  capacity.value = *QuantityAt(c.in, "value");
  capacity.request_policy = ObjectIn<api::CapacityRequestPolicy>(c.in, "requestPolicy");
  const std::optional<Quantity> request = QuantityAt(c.in, "request");
  const auto got = c.engine.consumed(request ? &*request : nullptr, capacity, c.fractional);
  return Compare("consumed", Show(Expected(c.expect, "consumed")), Show(got));
}

api::CapacityRequirements RequestsOf(const DocumentNode& in) {
  api::CapacityRequirements requests;
  if (const DocumentNode* list = Get(in, "requests")) {
    for (const api::Member& entry : list->members) {
      requests.requests[entry.key] = *QuantityAt(*list, entry.key);
    }
  }
  return requests;
}

api::Map<api::DeviceCapacity> CapacityOf(const DocumentNode& in) {
  api::Map<api::DeviceCapacity> capacity;
  if (const DocumentNode* list = Get(in, "capacity")) {
    for (const api::Member& entry : list->members) {
      capacity[entry.key] = *ObjectIn<api::DeviceCapacity>(*list, entry.key);
    }
  }
  return capacity;
}

model::Amounts AmountsAt(const DocumentNode& node, std::string_view key) {
  model::Amounts amounts;
  if (const DocumentNode* list = Get(node, key)) {
    for (const api::Member& entry : list->members) {
      amounts[entry.key] = *QuantityAt(*list, entry.key);
    }
  }
  return amounts;
}

std::string Show(const model::Amounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) text += fmt::format("{}={} ", name, Show(amount));
  return text;
}

Verdict RunConsumedOfRequest(const Input& c) {
  const auto requests = RequestsOf(c.in);
  const auto got = c.engine.fits(&requests, "driver.example", CapacityOf(c.in), {}, c.fractional);
  return Compare("consumed", Show(AmountsAt(c.expect, "consumed")), Show(got.consumed));
}

Verdict RunFits(const Input& c) {
  const auto requests = RequestsOf(c.in);
  const auto got = c.engine.fits(&requests, "driver.example", CapacityOf(c.in),
                                 AmountsAt(c.in, "alreadyConsumed"), c.fractional);
  const auto want = Flag(c.expect, "error")  ? model::Fit::kNotRepresentable
                    : Flag(c.expect, "fits") ? model::Fit::kFits
                                             : model::Fit::kDoesNotFit;
  if (got.fit == want) return std::nullopt;
  return fmt::format("fits: want {}, got {}", static_cast<int>(want), static_cast<int>(got.fit));
}

Verdict RunViolates(const Input& c) {
  const auto policy = ObjectIn<api::CapacityRequestPolicy>(c.in, "requestPolicy");
  const bool got = c.engine.violates(*QuantityAt(c.in, "amount"), policy.get(), c.fractional);
  return Compare("violates", Flag(c.expect, "violates") ? "yes" : "no", got ? "yes" : "no");
}

Verdict RunMilli(const Input& c) {
  const auto range = ObjectIn<api::CapacityRequestPolicyRange>(c.in, "validRange");
  const bool got = c.engine.counts_in_milli(*range, c.fractional);
  return Compare("milli", Flag(c.expect, "useMilli") ? "yes" : "no", got ? "yes" : "no");
}

Verdict RunMilliValue(const Input& c) {
  const auto got = model::ExactMilli(*QuantityAt(c.in, "quantity"));
  const std::string want = Flag(c.expect, "error") ? "error" : Get(c.expect, "milli")->text;
  return Compare("milli", want, got ? std::to_string(*got) : "error");
}

Verdict Run(const DocumentNode& recorded) {
  const Input input{*FindEngine(EngineChoice().name), *Get(recorded, "input"),
                    *Get(recorded, "expect"),
                    Flag(*Get(recorded, "input"), "fractionalCapacityRange")};
  const std::string kind = TextOf(recorded, "kind");
  if (kind == "consumed-capacity") return RunConsumed(input);
  if (kind == "consumed-capacity-of-request") return RunConsumedOfRequest(input);
  if (kind == "violates-policy") return RunViolates(input);
  if (kind == "fits") return RunFits(input);
  if (kind == "milli-arithmetic") return RunMilli(input);
  if (kind == "milli-value") return RunMilliValue(input);
  return fmt::format("unknown kind {}", kind);
}

}  // namespace

std::vector<Case> LoadCapacityCases(const std::filesystem::path& folder) {
  return CasesOf(folder, Run);
}

}  // namespace dray::conformance
