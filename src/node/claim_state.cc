// SPDX-License-Identifier: Apache-2.0
#include "node/claim_state.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/field_table.h"
#include "api/json.h"
#include "api/map.h"
#include "files/crc32.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

// What the wire looks like; read only, since what is written differs in its nulls from what a field
// table writes.
struct Nothing {};
struct DeviceRow {
  std::string pool;
  std::string device;
  std::optional<std::string> share_id;
  std::vector<std::string> requests;
  std::vector<std::string> cdi_ids;
};
struct DriverRow {
  std::vector<DeviceRow> devices;
  std::vector<std::string> skips;
};
struct ClaimRow {
  std::string uid;
  std::string name;
  std::string namespace_;
  api::Map<Nothing> pods;
  api::Map<DriverRow> drivers;
};
struct Checkpoint {
  std::vector<ClaimRow> claims;
};
struct ChangesRow {
  std::vector<ClaimRow> now;
  std::vector<std::string> gone;
};
struct Envelope {
  std::optional<std::string> data;
  std::optional<std::int64_t> checksum;
};

const api::StructInfo& InfoOf(const Nothing*) {
  static const api::StructInfo info = api::Struct<Nothing>("Nothing", {});
  return info;
}
const api::StructInfo& InfoOf(const DeviceRow*) {
  static const api::StructInfo info =
      api::Struct<DeviceRow>("Device", {api::Field<&DeviceRow::pool>("PoolName"),
                                        api::Field<&DeviceRow::device>("DeviceName"),
                                        api::Field<&DeviceRow::share_id>("ShareID"),
                                        api::Field<&DeviceRow::requests>("RequestNames"),
                                        api::Field<&DeviceRow::cdi_ids>("CDIDeviceIDs")});
  return info;
}
const api::StructInfo& InfoOf(const DriverRow*) {
  static const api::StructInfo info =
      api::Struct<DriverRow>("DriverState", {api::Field<&DriverRow::devices>("Devices"),
                                             api::Field<&DriverRow::skips>("skipNodeOperations")});
  return info;
}
const api::StructInfo& InfoOf(const ClaimRow*) {
  static const api::StructInfo info = api::Struct<ClaimRow>(
      "ClaimInfoState",
      {api::Field<&ClaimRow::uid>("ClaimUID"), api::Field<&ClaimRow::name>("ClaimName"),
       api::Field<&ClaimRow::namespace_>("Namespace"), api::Field<&ClaimRow::pods>("PodUIDs"),
       api::Field<&ClaimRow::drivers>("DriverState")});
  return info;
}
const api::StructInfo& InfoOf(const Checkpoint*) {
  static const api::StructInfo info = api::Struct<Checkpoint>(
      "DRACheckpoint", {api::Field<&Checkpoint::claims>("ClaimInfoStateList")});
  return info;
}
const api::StructInfo& InfoOf(const ChangesRow*) {
  static const api::StructInfo info = api::Struct<ChangesRow>(
      "ClaimChanges", {api::Field<&ChangesRow::now>("Now"), api::Field<&ChangesRow::gone>("Gone")});
  return info;
}
const api::StructInfo& InfoOf(const Envelope*) {
  static const api::StructInfo info = api::Struct<Envelope>(
      "Checkpoint",
      {api::Field<&Envelope::data>("Data"), api::Field<&Envelope::checksum>("Checksum")});
  return info;
}

// As Go's encoding/json writes a string: what HTML gives a meaning is escaped, too.
void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '<':
      case '>':
      case '&':
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else if (text.substr(i, 3) == "\xe2\x80\xa8" || text.substr(i, 3) == "\xe2\x80\xa9") {
          out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
          i += 2;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void AppendList(std::string& out, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    out += "null";
    return;
  }
  char before = '[';
  for (const std::string& text : texts) {
    out += std::exchange(before, ',');
    AppendQuoted(out, text);
  }
  out += ']';
}

void AppendDriver(std::string& out, const DriverState& driver) {
  out += R"({"Devices":)";
  if (driver.devices.empty()) out += "null";
  char before = '[';
  for (const DeviceState& device : driver.devices) {
    out += std::exchange(before, ',');
    out += R"({"PoolName":)";
    AppendQuoted(out, device.pool);
    out += R"(,"DeviceName":)";
    AppendQuoted(out, device.device);
    out += R"(,"ShareID":)";
    device.share_id ? AppendQuoted(out, *device.share_id) : void(out += "null");
    out += R"(,"RequestNames":)";
    AppendList(out, device.requests);
    out += R"(,"CDIDeviceIDs":)";
    AppendList(out, device.cdi_ids);
    out += '}';
  }
  if (!driver.devices.empty()) out += ']';
  if (!driver.skips.empty()) {
    out += R"(,"skipNodeOperations":)";
    AppendList(out, driver.skips);
  }
  out += '}';
}

void AppendClaim(std::string& out, const ClaimState& claim) {
  out += R"({"ClaimUID":)";
  AppendQuoted(out, claim.uid);
  out += R"(,"ClaimName":)";
  AppendQuoted(out, claim.name);
  out += R"(,"Namespace":)";
  AppendQuoted(out, claim.namespace_);
  out += R"(,"PodUIDs":{)";
  for (const std::string& pod : claim.pods) {
    if (pod != *claim.pods.begin()) out += ',';
    AppendQuoted(out, pod);
    out += ":{}";
  }
  out += R"(},"DriverState":{)";
  bool first = true;
  for (const auto& [name, driver] : claim.drivers) {
    if (!std::exchange(first, false)) out += ',';
    AppendQuoted(out, name);
    out += ':';
    AppendDriver(out, driver);
  }
  out += "}}";
}

Status Corrupt(std::string_view why) {
  return base::MakeStatus(StatusCode::kDataLoss, fmt::format("checkpoint is corrupted: {}", why));
}

ClaimState StateOf(ClaimRow row) {
  ClaimState claim;
  claim.uid = std::move(row.uid);
  claim.name = std::move(row.name);
  claim.namespace_ = std::move(row.namespace_);
  for (const auto& [pod, nothing] : row.pods) claim.pods.emplace(pod.view());
  for (auto& [name, driver] : row.drivers) {
    DriverState& state = claim.drivers[std::string(name.view())];
    state.skips = std::move(driver.skips);
    for (DeviceRow& device : driver.devices) {
      state.devices.push_back({std::move(device.pool), std::move(device.device),
                               std::move(device.share_id), std::move(device.requests),
                               std::move(device.cdi_ids)});
    }
  }
  return claim;
}

}  // namespace

bool DriverState::Skips(std::string_view operation) const {
  return std::ranges::any_of(skips, [&](const std::string& skipped) {
    return skipped == operation || skipped == kSkipAll;
  });
}

std::string EncodeClaimStates(std::vector<ClaimState> claims, bool fresh) {
  std::ranges::sort(claims, {}, &ClaimState::uid);
  std::string data =
      R"({"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":)";
  if (fresh && claims.empty()) {
    data += "null";
  } else {
    data += '[';
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (i > 0) data += ',';
      AppendClaim(data, claims[i]);
    }
    data += ']';
  }
  data += '}';
  std::string out = R"({"Data":)";
  AppendQuoted(out, data);
  out += fmt::format(R"(,"Checksum":{}}})", files::Crc32(data));
  return out;
}

StatusOr<std::vector<ClaimState>> DecodeClaimStates(std::string_view bytes) {
  api::JsonDecoder decoder;
  const auto envelope = decoder.Decode<Envelope>(bytes);
  if (!envelope.ok()) return Corrupt(base::Message(envelope.status()));
  if (!envelope->data) return Corrupt("it has no Data");
  const std::int64_t checksum = files::Crc32(*envelope->data);
  if (envelope->checksum != checksum) {
    return Corrupt(fmt::format("its checksum is {}, that of its data {}",
                               envelope->checksum ? fmt::to_string(*envelope->checksum) : "missing",
                               checksum));
  }
  auto checkpoint = decoder.Decode<Checkpoint>(*envelope->data);
  if (!checkpoint.ok()) return Corrupt(base::Message(checkpoint.status()));
  std::vector<ClaimState> claims;
  for (ClaimRow& row : checkpoint->claims) claims.push_back(StateOf(std::move(row)));
  return claims;
}

std::string EncodeClaimChanges(const ClaimChanges& changes) {
  std::string out = R"({"Now":[)";
  for (std::size_t i = 0; i < changes.now.size(); ++i) {
    if (i > 0) out += ',';
    AppendClaim(out, changes.now[i]);
  }
  out += R"(],"Gone":)";
  AppendList(out, changes.gone);
  out += '}';
  return out;
}

StatusOr<ClaimChanges> DecodeClaimChanges(std::string_view bytes) {
  api::JsonDecoder decoder;
  auto row = decoder.Decode<ChangesRow>(bytes);
  if (!row.ok()) return Corrupt(base::Message(row.status()));
  ClaimChanges changes;
  for (ClaimRow& claim : row->now) changes.now.push_back(StateOf(std::move(claim)));
  changes.gone = std::move(row->gone);
  return changes;
}

}  // namespace dray::node
