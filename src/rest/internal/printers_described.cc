// SPDX-License-Identifier: Apache-2.0
//
// Tables of described kinds: the columns that their descriptions name, and the forms in which
// values are shown; and of the kinds whose tables are as simple.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "api/config_map.h"
#include "api/described_kinds.h"
#include "api/event.h"
#include "api/field_view.h"
#include "api/label_selector.h"
#include "api/meta.h"
#include "api/service_account.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

using api::FieldView;
using Strings = std::vector<std::string>;

// At most so many, and how many more there are.
std::string Some(const Strings& texts, std::size_t most) {
  if (texts.size() <= most) return Joined(texts);
  return fmt::format("{} + {} more...",
                     Joined({texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(most)}),
                     texts.size() - most);
}

Strings EachShown(const FieldView& list, std::string_view path = "") {
  Strings texts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string text = list.item(i).At(path).Shown();
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::string LabelsShown(const FieldView& map) {
  Strings texts;
  for (std::size_t i = 0; i < map.size(); ++i) {
    texts.push_back(fmt::format("{}={}", map.key(i), map.item(i).text()));
  }
  return Joined(texts);
}

std::string ExternalAddress(const FieldView& spec, const FieldView& object) {
  const std::string_view type = spec["type"].text();
  if (type == "ExternalName") return std::string(spec["externalName"].text());
  Strings addresses = EachShown(spec["externalIPs"]);
  if (type == "LoadBalancer") {
    const FieldView places = object.At("status.loadBalancer.ingress");
    for (const std::string_view part : {"ip", "hostname"}) {
      for (std::string& text : EachShown(places, part)) addresses.push_back(std::move(text));
    }
    if (addresses.empty()) return "<pending>";
  }
  return OrNone(Joined(addresses));
}

std::string ServicePorts(const FieldView& ports) {
  Strings texts;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const FieldView port = ports.item(i);
    const auto node_port = port["nodePort"].number().value_or(0);
    texts.push_back(fmt::format("{}{}/{}", port["port"].Shown(),
                                node_port == 0 ? "" : fmt::format(":{}", node_port),
                                port["protocol"].text()));
  }
  return Joined(texts);
}

std::string EndpointsShown(const FieldView& subsets) {
  Strings texts;
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    const Strings addresses = EachShown(subsets.item(i)["addresses"], "ip");
    const Strings ports = EachShown(subsets.item(i)["ports"], "port");
    for (const std::string& address : addresses) {
      if (ports.empty()) texts.push_back(address);
      for (const std::string& port : ports) texts.push_back(fmt::format("{}:{}", address, port));
    }
  }
  return Some(texts, 3);
}

std::string AccessModes(const FieldView& modes) {
  static const std::map<std::string_view, std::string_view> kShort = {{"ReadWriteOnce", "RWO"},
                                                                      {"ReadOnlyMany", "ROX"},
                                                                      {"ReadWriteMany", "RWX"},
                                                                      {"ReadWriteOncePod", "RWOP"}};
  Strings texts;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const auto it = kShort.find(modes.item(i).text());
    if (it != kShort.end()) texts.emplace_back(it->second);
  }
  return Joined(texts);
}

std::string ReferenceShown(const FieldView& view) {
  const auto* reference = view.As<api::ObjectReference>();
  if (reference == nullptr || !view.set()) return {};
  return fmt::format("{}/{}", reference->namespace_, reference->name);
}

std::string TypedReference(const FieldView& view) {
  if (!view.set()) return {};
  const std::string_view group = view["apiGroup"].text();
  return fmt::format("{}{}{}/{}", view["kind"].text(), group.empty() ? "" : ".", group,
                     view["name"].text());
}

// "cpu: 80%", as far as the wish says; what is measured is not known.
std::string MetricTargets(const FieldView& metrics) {
  Strings texts;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const FieldView metric = metrics.item(i);
    for (const std::string_view member :
         {"resource", "containerResource", "pods", "object", "external"}) {
      const FieldView source = metric[member];
      if (!source.set()) continue;
      const FieldView target = source["target"];
      const auto share = target["averageUtilization"].number();
      const std::string wanted = share                          ? fmt::format("{}%", *share)
                                 : target["averageValue"].set() ? target["averageValue"].Shown()
                                                                : target["value"].Shown();
      std::string name = source["name"].Shown();
      if (name.empty()) name = source["metric"]["name"].Shown();
      texts.push_back(fmt::format("{}: <unknown>/{}", name, wanted));
    }
  }
  return Some(texts, 2);
}

// The last condition that holds.
std::string ConditionShown(const FieldView& conditions) {
  std::string shown;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const auto* condition = conditions.item(i).As<api::Condition>();
    if (condition != nullptr && condition->status == "True") shown = condition->type;
  }
  return shown;
}

std::string AddressesShown(const FieldView& places) {
  Strings texts = EachShown(places, "ip");
  for (std::string& text : EachShown(places, "hostname")) texts.push_back(std::move(text));
  return Joined(texts);
}

// The addresses of all endpoints in a row.
std::string SliceEndpoints(const FieldView& endpoints) {
  Strings texts;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    for (std::string& text : EachShown(endpoints.item(i)["addresses"])) {
      texts.push_back(std::move(text));
    }
  }
  return Some(texts, 3);
}

// Of a binding: a name in a namespace, in that of each request, or labels.
std::string ParametersShown(const FieldView& ref) {
  const std::string_view name = ref["name"].text();
  if (!name.empty()) {
    const std::string_view space = ref["namespace"].text();
    return fmt::format("{}/{}", space.empty() ? "*" : space, name);
  }
  const auto* selector = ref["selector"].As<api::LabelSelector>();
  return selector == nullptr ? std::string() : SelectorShown(*selector);
}

using Shower = std::string (*)(const FieldView& value, const FieldView& object);

const std::map<std::string_view, Shower>& Showers() {
  static const std::map<std::string_view, Shower> showers = {
      {"", [](const FieldView& v, const FieldView&) { return v.Shown(); }},
      {"join", [](const FieldView& v, const FieldView&) { return Joined(EachShown(v)); }},
      {"labels", [](const FieldView& v, const FieldView&) { return LabelsShown(v); }},
      {"external-ip", ExternalAddress},
      {"service-ports", [](const FieldView& v, const FieldView&) { return ServicePorts(v); }},
      {"endpoints", [](const FieldView& v, const FieldView&) { return EndpointsShown(v); }},
      {"storage", [](const FieldView& v, const FieldView&) { return v["storage"].Shown(); }},
      {"access-modes", [](const FieldView& v, const FieldView&) { return AccessModes(v); }},
      {"reference", [](const FieldView& v, const FieldView&) { return ReferenceShown(v); }},
      {"typed-reference", [](const FieldView& v, const FieldView&) { return TypedReference(v); }},
      {"slice-ports",
       [](const FieldView& v, const FieldView&) { return Some(EachShown(v, "port"), 3); }},
      {"slice-endpoints", [](const FieldView& v, const FieldView&) { return SliceEndpoints(v); }},
      {"hosts", [](const FieldView& v, const FieldView&) { return Some(EachShown(v, "host"), 3); }},
      {"addresses", [](const FieldView& v, const FieldView&) { return AddressesShown(v); }},
      {"ingress-ports",
       [](const FieldView& v, const FieldView&) {
         return std::string(v.size() > 0 ? "80, 443" : "80");
       }},
      {"selector",
       [](const FieldView& v, const FieldView&) {
         const auto* selector = v.As<api::LabelSelector>();
         return selector == nullptr ? std::string() : SelectorShown(*selector);
       }},
      {"kind-and-name",
       [](const FieldView& v, const FieldView&) {
         return fmt::format("{}/{}", v["kind"].text(), v["name"].text());
       }},
      {"metric-targets", [](const FieldView& v, const FieldView&) { return MetricTargets(v); }},
      {"audiences",
       [](const FieldView& v, const FieldView&) { return Joined(EachShown(v, "audience")); }},
      {"api-version-and-kind",
       [](const FieldView& v, const FieldView&) {
         if (v.value() == nullptr) return std::string();
         return fmt::format("{}/{}", v["apiVersion"].text(), v["kind"].text());
       }},
      {"parameters", [](const FieldView& v, const FieldView&) { return ParametersShown(v); }},
      {"condition", [](const FieldView& v, const FieldView&) { return ConditionShown(v); }},
  };
  return showers;
}

bool IsNumber(const api::TableColumn& column) { return column.as == "count"; }

Cell CellOf(const api::TableColumn& column, const FieldView& object) {
  const FieldView value = object.At(column.path);
  if (IsNumber(column)) return static_cast<std::int64_t>(value.size());
  const std::string text = Showers().at(column.as)(value, object);
  return text.empty() ? std::string(column.none) : text;
}

// Words of a description have no blanks in them.
std::string_view WithBlanks(std::string_view name) {
  static std::deque<std::string> names;
  std::string& kept = names.emplace_back(name);
  std::ranges::replace(kept, '_', ' ');
  return kept;
}

}  // namespace

std::string SelectorShown(const api::LabelSelector& selector) {
  Strings texts;
  for (const auto& [key, value] : selector.match_labels) {
    texts.push_back(fmt::format("{}={}", std::string_view(key), value));
  }
  for (const api::LabelSelectorRequirement& row : selector.match_expressions) {
    if (row.operator_ == "Exists") {
      texts.push_back(row.key);
    } else if (row.operator_ == "DoesNotExist") {
      texts.push_back(fmt::format("!{}", row.key));
    } else {
      texts.push_back(fmt::format("{} {} ({})", row.key, row.operator_ == "In" ? "in" : "notin",
                                  Joined(row.values)));
    }
  }
  return Joined(texts);
}

Printer DescribedPrinter(const api::KindTraits& traits) {
  Printer printer{{kNameColumn}, nullptr};
  for (const bool wide : {false, true}) {
    for (const api::TableColumn& column : traits.columns) {
      if (column.wide != wide) continue;
      printer.columns.push_back({.name = WithBlanks(column.name),
                                 .type = IsNumber(column) ? "integer" : "string",
                                 .description = column.doc,
                                 .priority = wide ? 1 : 0});
    }
    if (!wide) printer.columns.push_back(kAgeColumn);
  }
  printer.cells = [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
    std::vector<Cell> cells = {object.metadata().name};
    const FieldView view = FieldView::Of(object);
    for (const bool wide : {false, true}) {
      for (const api::TableColumn& column : object.kind().traits->columns) {
        if (column.wide == wide) cells.push_back(CellOf(column, view));
      }
      if (!wide) cells.push_back(AgeOf(object, context));
    }
    return cells;
  };
  return printer;
}

Printer ConfigMapPrinter() {
  return {{kNameColumn,
           {.name = "Data", .type = "integer", .description = "How many settings it has."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ConfigMap& map = *object.As<api::ConfigMap>();
            return {map.metadata.name,
                    static_cast<std::int64_t>(map.data.size() + map.binary_data.size()),
                    AgeOf(object, context)};
          }};
}

Printer SecretPrinter() {
  return {{kNameColumn,
           {.name = "Type", .description = "What it is for."},
           {.name = "Data", .type = "integer", .description = "How many secrets it has."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Secret& secret = *object.As<api::Secret>();
            return {secret.metadata.name, secret.type,
                    static_cast<std::int64_t>(secret.data.size()), AgeOf(object, context)};
          }};
}

Printer ServiceAccountPrinter() {
  return {{kNameColumn,
           {.name = "Secrets", .type = "integer", .description = "How many secrets it has."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ServiceAccount& account = *object.As<api::ServiceAccount>();
            return {account.metadata.name, static_cast<std::int64_t>(account.secrets.size()),
                    AgeOf(object, context)};
          }};
}

}  // namespace dray::rest::internal
