// SPDX-License-Identifier: Apache-2.0
//
// A claim's life as a time line.
#include <optional>
#include <string>
#include <string_view>

#include "fleet/internal/claim_parts.h"
#include "fmt/format.h"

namespace dray::fleet::internal {
namespace {

class TimeLine {
 public:
  TimeLine(JsonOut& out, const api::ResourceClaim& claim, const ClaimNews& news)
      : out_(out), claim_(claim), news_(news) {}

  void Write() {
    out_.List("steps");
    Step("created", "done", claim_.metadata.creation_timestamp, "metadata");
    const auto* allocator = WriterOf("allocation");
    if (claim_.status.allocation.has_value()) {
      const auto& given = claim_.status.allocation->allocation_timestamp;
      const auto time = given ? given : allocator == nullptr ? std::nullopt : allocator->time;
      Step("allocated", "done", time,
           given  ? "allocationTimestamp"
           : time ? "managedFields"
                  : "",
           allocator == nullptr ? "" : "by " + allocator->manager);
    } else {
      Step("allocated", "open");
    }
    if (!claim_.status.reserved_for.empty()) {
      const auto* writer = WriterOf("reservedFor");
      const auto& users = claim_.status.reserved_for;
      Step("reserved", "done", writer == nullptr ? std::nullopt : writer->time,
           writer == nullptr ? "" : "managedFields",
           users.size() == 1
               ? fmt::format("for {} {}",
                             users.front().resource == "pods" ? "pod" : users.front().resource,
                             users.front().name)
               : fmt::format("for {} users", users.size()));
    } else {
      Step("reserved", "open");
    }
    if (news_.prepared) {
      Step("prepared", "done", news_.prepared, "events");
    } else if (const auto ready = Ready()) {
      Step("prepared", "done", *ready, "condition", "its devices are ready");
    } else {
      Step("prepared", claim_.status.reserved_for.empty() ? "open" : "unknown");
    }
    if (!claim_.status.allocation.has_value() && news_.released) {
      Step("released", "done", news_.released, "seen");
    } else {
      Step("released", "open");
    }
    out_.EndList();
  }

 private:
  // Who last wrote a field of the status, and when.
  const api::ManagedFieldsEntry* WriterOf(std::string_view field) const {
    const std::string key = fmt::format("\"f:{}\"", field);
    for (const api::ManagedFieldsEntry& entry : claim_.metadata.managed_fields) {
      if (entry.fields_v1.text.find(key) != std::string::npos) return &entry;
    }
    return nullptr;
  }

  void Step(std::string_view step, std::string_view state,
            const std::optional<base::Time>& time = {}, std::string_view from = "",
            std::string_view detail = "") {
    out_.BeginMap().Text("step", step).Text("state", state);
    if (time) out_.Text("time", time->ToRfc3339());
    out_.TextIf("from", from).TextIf("detail", detail).EndMap();
  }

  // When the last of its devices was ready, if all drivers say so.
  std::optional<base::Time> Ready() const {
    if (!claim_.status.allocation.has_value()) return std::nullopt;
    std::optional<base::Time> last;
    for (const auto& result : claim_.status.allocation->devices.results) {
      bool ready = false;
      for (const api::AllocatedDeviceStatus& status : claim_.status.devices) {
        if (status.driver != result.driver || status.pool != result.pool ||
            status.device != result.device) {
          continue;
        }
        for (const api::Condition& condition : status.conditions) {
          if (condition.type != "Ready" || condition.status != "True") continue;
          ready = true;
          if (condition.last_transition_time &&
              (!last || *last < *condition.last_transition_time)) {
            last = condition.last_transition_time;
          }
        }
      }
      if (!ready) return std::nullopt;
    }
    return last;
  }

  JsonOut& out_;
  const api::ResourceClaim& claim_;
  const ClaimNews& news_;
};

}  // namespace

void WriteSteps(JsonOut& out, const api::ResourceClaim& claim, const ClaimNews& news) {
  TimeLine(out, claim, news).Write();
}

}  // namespace dray::fleet::internal
