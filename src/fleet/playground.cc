// SPDX-License-Identifier: Apache-2.0
#include "fleet/playground.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "api/document.h"
#include "cel/source.h"
#include "fleet/internal/values.h"
#include "fleet/json.h"

namespace dray::fleet {
namespace {

constexpr std::size_t kExamples = 8;
constexpr std::size_t kMostValues = 100;
constexpr std::size_t kMostKinds = 10'000;  // of values and of failures that are told apart

void SetBit(std::vector<std::uint8_t>& bits, Id id) {
  bits[id / 8] = static_cast<std::uint8_t>(bits[id / 8] | (1U << (id % 8)));
}

std::string Base64(const std::vector<std::uint8_t>& bits) {
  std::string text;
  absl::Base64Escape(absl::string_view(reinterpret_cast<const char*>(bits.data()), bits.size()),
                     &text);
  return text;
}

}  // namespace

Playground::Playground(std::string expression, bool derived)
    : expression_(std::move(expression)),
      purpose_(derived ? cel::Purpose::kDerivedAttribute : cel::Purpose::kSelector),
      review_(cel::ReviewExpression(expression_, purpose_)) {
  if (review_.program == nullptr) return;
  const cel::Reads& reads = review_.program->reads();
  by_shape_ = !reads.whole_device && !reads.name && !reads.all_attributes && !reads.all_capacities;
  for (const auto& name : reads.attributes) own_.push_back(name.domain + "/" + name.id);
}

bool Playground::Step(const Fleet& fleet, std::size_t evaluations) {
  if (review_.program == nullptr) return false;
  // Shapes have other numbers then, and attributes may have left them.
  if (revision_ != fleet.revision()) shapes_.clear();
  revision_ = fleet.revision();
  const auto& devices = fleet.devices();
  match_.resize((devices.size() + 7) / 8);
  error_.resize((devices.size() + 7) / 8);
  for (; next_ < devices.size(); ++next_) {
    const Device& device = devices[next_];
    const api::Device* published = fleet.PublishedOf(device);
    if (published == nullptr) continue;
    bool shared = by_shape_;
    if (shared && !own_.empty()) {
      for (const auto& entry : device.slice->attributes(device.slice->devices()[device.row])) {
        if (!fleet.IsOwn(device, entry.name)) continue;
        const std::string name =
            internal::Qualified(fleet.strings().At(fleet.pools()[device.pool].driver),
                                fleet.dictionary().View(entry.name));
        shared = shared && std::ranges::find(own_, name) == own_.end();
      }
    }
    if (shared) {
      if (const auto known = shapes_.find(device.shape); known != shapes_.end()) {
        Take(next_, known->second);
        continue;
      }
    }
    if (evaluations-- == 0) return true;
    cel::DeviceTrial trial =
        cel::TryOn(*review_.program, purpose_,
                   fleet.strings().At(fleet.pools()[device.pool].driver), *published);
    Take(next_, trial);
    if (shared) shapes_.emplace(device.shape, std::move(trial));
  }
  return false;
}

void Playground::Take(Id id, const cel::DeviceTrial& trial) {
  cost_ = std::max(cost_, trial.cost);
  if (trial.error) {
    ++errors_;
    SetBit(error_, id);
    const auto known = failures_.find(*trial.error);
    if (known == failures_.end() && failures_.size() >= kMostKinds) return;
    Failure& failure = known == failures_.end() ? failures_[*trial.error] : known->second;
    failure.hint = trial.hint;
    ++failure.devices;
    if (failure.examples.size() < kExamples) failure.examples.push_back(id);
    return;
  }
  const bool match = trial.match || trial.attribute.has_value();
  ++(match ? matches_ : no_matches_);
  if (match) SetBit(match_, id);
  if (!trial.attribute) return;
  const std::string text = internal::AttributeText(*trial.attribute);
  const auto known = values_.find(text);
  if (known == values_.end() && values_.size() >= kMostKinds) return;
  Value& value = known == values_.end() ? values_[text] : known->second;
  if (value.type.empty()) {
    const std::string json = internal::AttributeJson(*trial.attribute);
    value.type = json.substr(1, json.find('"', 1) - 1);
  }
  ++value.devices;
  if (value.examples.size() < kExamples) value.examples.push_back(id);
}

std::string Playground::Json(const Fleet& fleet) const {
  JsonOut out;
  out.BeginMap().Count("rev", fleet.revision()).Text("expression", expression_);
  if (review_.program != nullptr) {
    out.Text("type", review_.type).Count("estimatedCost", review_.cost);
    out.Count("costLimit", review_.limit).Count("cost", cost_).List("reads");
    for (const std::string& name : cel::ReadNames(review_.program->reads())) out.String(name);
    out.EndList();
  }
  const cel::Source source(expression_);
  out.List("issues");
  for (const auto& [error, advice] : review_.remarks) {
    const cel::Location at = source.LocationAt(advice.offset);
    const bool placed = at.line > 0;
    out.BeginMap().Text("severity", error ? "error" : "warning");
    out.Count("line", placed ? at.line : 0).Count("column", placed ? at.column + 1 : 0);
    out.Text("message", advice.message).Text("hint", advice.hint).EndMap();
  }
  out.EndList();
  if (review_.program == nullptr) {
    out.TextIf("error", review_.error).EndMap();
    return out.Take();
  }
  out.Map("counts").Count("match", matches_).Count("noMatch", no_matches_);
  out.Count("error", errors_).EndMap();
  out.Text("match", Base64(match_)).Text("error", Base64(error_));

  const auto most_first = [](const auto& map) {
    std::vector<typename std::remove_cvref_t<decltype(map)>::const_pointer> list;
    for (const auto& entry : map) list.push_back(&entry);
    std::ranges::stable_sort(list, std::greater(), [](const auto* e) { return e->second.devices; });
    if (list.size() > kMostValues) list.resize(kMostValues);
    return list;
  };
  const auto examples = [&](const std::vector<Id>& ids) {
    out.List("examples");
    for (const Id id : ids) out.Number(id);
    out.EndList();
  };
  out.List("errors");
  for (const auto* failure : most_first(failures_)) {
    out.BeginMap().Text("message", failure->first).Text("hint", failure->second.hint);
    out.Count("devices", failure->second.devices);
    examples(failure->second.examples);
    out.EndMap();
  }
  out.EndList();
  if (purpose_ == cel::Purpose::kDerivedAttribute) {
    out.List("values");
    for (const auto* value : most_first(values_)) {
      out.BeginMap().Text("value", value->first).Text("type", value->second.type);
      out.Count("devices", value->second.devices);
      examples(value->second.examples);
      out.EndMap();
    }
    out.EndList();
  }
  out.EndMap();
  return out.Take();
}

}  // namespace dray::fleet
