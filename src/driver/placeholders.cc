// SPDX-License-Identifier: Apache-2.0
#include "driver/placeholders.h"

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::string_view kCapacity = "capacity.";
constexpr std::array<std::string_view, 7> kNames = {
    "claim.uid", "claim.name", "claim.namespace", "request", "device", "pool", "share"};

using LookUp = std::function<StatusOr<std::string>(std::string_view name)>;

StatusOr<std::string> Replace(std::string_view text, const LookUp& look_up) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find('$');
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with("${")) {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos) {
        return base::InvalidArgument(fmt::format("\"{}\" has no closing brace", text));
      }
      DRAY_ASSIGN_OR_RETURN(const std::string value, look_up(text.substr(2, end - 2)));
      out += value;
      text.remove_prefix(end + 1);
    } else {
      out += '$';
      text.remove_prefix(1);
    }
  }
  return out;
}

Status ReplaceAll(api::DocumentNode& node, const LookUp& look_up) {
  if (node.kind == api::DocumentNode::Kind::kString) {
    DRAY_ASSIGN_OR_RETURN(node.text, Replace(node.text, look_up));
    node.written.reset();
  }
  for (api::DocumentNode& item : node.items) DRAY_RETURN_IF_ERROR(ReplaceAll(item, look_up));
  for (api::Member& member : node.members) {
    DRAY_RETURN_IF_ERROR(ReplaceAll(member.value, look_up));
  }
  return {};
}

// By way of the tree, so that every text is found, and none becomes more than a text.
StatusOr<cdi::ContainerEdits> WithReplaced(const cdi::ContainerEdits& edits,
                                           const LookUp& look_up) {
  std::vector<api::Diagnostic> diagnostics;
  api::DocumentNode tree = api::ParseJson(api::EncodeJson(edits), diagnostics);
  DRAY_RETURN_IF_ERROR(ReplaceAll(tree, look_up));
  cdi::ContainerEdits filled;
  api::DecodeNode(tree, api::TypeInfoOf<cdi::ContainerEdits>(), &filled, api::Severity::kError,
                  diagnostics);
  if (!diagnostics.empty()) return base::Internal(api::ToString(diagnostics[0]));
  return filled;
}

std::string ValueOf(std::string_view name, const ClaimView& claim, const AllocatedDevice& device) {
  if (name == "claim.uid") return claim.name.uid;
  if (name == "claim.name") return claim.name.name;
  if (name == "claim.namespace") return claim.name.namespace_;
  if (name == "request") return device.base_request;
  if (name == "device") return device.device;
  if (name == "pool") return device.pool;
  if (name == "share") return device.share_id.value_or("");
  if (!name.starts_with(kCapacity)) return "";
  const base::Quantity* amount = device.consumed_capacity.Find(name.substr(kCapacity.size()));
  return amount != nullptr ? amount->ToString() : "";
}

std::string Sanitized(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) c = '_';
  }
  return out;
}

}  // namespace

Status CheckPlaceholders(const cdi::ContainerEdits& edits) {
  return WithReplaced(edits,
                      [](std::string_view name) -> StatusOr<std::string> {
                        for (const std::string_view known : kNames) {
                          if (name == known) return std::string();
                        }
                        if (name.starts_with(kCapacity) && name.size() > kCapacity.size()) {
                          return std::string();
                        }
                        return base::InvalidArgument(
                            fmt::format("${{{}}} is unknown; available are ${{{}}} and "
                                        "${{capacity.NAME}}; write $$ for a dollar sign",
                                        name, fmt::join(kNames, "}, ${")));
                      })
      .status();
}

cdi::ContainerEdits Fill(const cdi::ContainerEdits& edits, const ClaimView& claim,
                         const AllocatedDevice& device) {
  return WithReplaced(edits,
                      [&](std::string_view name) -> StatusOr<std::string> {
                        return ValueOf(name, claim, device);
                      })
      .value_or(edits);
}

StatusOr<cdi::ContainerEdits> DefaultEdits(const ClaimView& claim, const AllocatedDevice& device) {
  // In the order in which they are met; of a name that comes again the later value holds.
  std::vector<std::pair<std::string, std::string>> variables;
  const auto set = [&](std::string name, std::string value) {
    for (auto& variable : variables) {
      if (variable.first == name) {
        variable.second = std::move(value);
        return;
      }
    }
    variables.emplace_back(std::move(name), std::move(value));
  };
  for (const DeviceConfig& config : device.configs) {
    std::vector<api::Diagnostic> diagnostics;
    const api::DocumentNode tree = api::ParseJson(config.parameters, diagnostics);
    bool good = diagnostics.empty() && tree.kind == api::DocumentNode::Kind::kMap;
    for (const api::Member& member : tree.members) {
      good = good && member.value.kind == api::DocumentNode::Kind::kString;
      if (good) {
        set(fmt::format("{}_{}", config.from_claim ? "user" : "admin", Sanitized(member.key)),
            member.value.text);
      }
    }
    if (!good) {
      return base::InvalidArgument(
          fmt::format("parameters of request \"{}\" must be an object of strings, not {}",
                      device.request, config.parameters));
    }
  }
  set(fmt::format("claim_{}_{}", Sanitized(claim.name.name), Sanitized(device.base_request)),
      "true");
  cdi::ContainerEdits edits;
  for (const auto& [name, value] : variables)
    edits.env.push_back(fmt::format("{}={}", name, value));
  return edits;
}

}  // namespace dray::driver
