// SPDX-License-Identifier: Apache-2.0
#include "api/described_kinds.h"

#include <charconv>
#include <deque>
#include <string>
#include <utility>

#include "api/affinity.h"
#include "api/event.h"
#include "api/internal/descriptions.h"
#include "api/meta.h"
#include "api/node_selector.h"
#include "api/pod.h"
#include "api/record.h"
#include "api/volume.h"
#include "base/check.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// A type of a field: how to walk it, and how a record makes one.
struct FieldType {
  const TypeInfo* type = nullptr;
  SlotInfo slot = {};
};

template <typename T>
FieldType Of() {
  static const T zero{};
  return {.type = &TypeInfoOf<T>(),
          .slot = {.zero = &zero, .make = [](void* record, std::size_t index) -> void* {
                     return &static_cast<Record*>(record)->At<T>(index);
                   }}};
}

// The forms in which a type is used: by itself, T?, []T, map[T].
struct Forms {
  FieldType plain;
  FieldType optional;
  FieldType list;
  FieldType map;
};

template <typename T>
Forms FormsOf() {
  return {Of<T>(), Of<Box<T>>(), Of<std::vector<T>>(), Of<Map<T>>()};
}
template <typename T>
Forms ScalarForms() {
  return {Of<T>(), Of<std::optional<T>>(), {}, {}};
}

// What descriptions can name without describing it.
const base::StringMap<Forms>& KnownTypes() {
  static const base::StringMap<Forms> types = [] {
    base::StringMap<Forms> all;
    all["bool"] = ScalarForms<bool>();
    all["int32"] = ScalarForms<std::int32_t>();
    all["int64"] = ScalarForms<std::int64_t>();
    all["int32"].list = Of<std::vector<std::int32_t>>();
    all["int64"].list = Of<std::vector<std::int64_t>>();
    all["string"] = {Of<std::string>(), Of<std::optional<std::string>>(),
                     Of<std::vector<std::string>>(), Of<Map<std::string>>()};
    all["quantity"] = {Of<base::Quantity>(), Of<std::optional<base::Quantity>>(),
                       Of<std::vector<base::Quantity>>(), Of<Map<base::Quantity>>()};
    all["time"] = ScalarForms<base::Time>();
    all["microtime"] = ScalarForms<MicroTime>();
    all["intorstring"] = ScalarForms<IntOrString>();
    all["raw"] = FormsOf<RawJson>();
    all["bytes"] = {Of<Bytes>(), {}, {}, Of<Map<Bytes>>()};
    all["LabelSelector"] = FormsOf<LabelSelector>();
    all["NodeSelector"] = FormsOf<NodeSelector>();
    all["Condition"] = FormsOf<Condition>();
    all["ObjectReference"] = FormsOf<ObjectReference>();
    all["Toleration"] = FormsOf<Toleration>();
    all["PodTemplateSpec"] = FormsOf<PodTemplateSpec>();
    all["PersistentVolumeClaimSpec"] = FormsOf<PersistentVolumeClaimSpec>();
    return all;
  }();
  return types;
}

// The pieces of a text between separators; empty ones are left out.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

struct Line {
  std::vector<std::string_view> words;
  std::string_view doc;
  std::string_view whole;  // for complaints

  // The value of NAME=VALUE, if there is one.
  std::optional<std::string_view> Value(std::string_view name, std::size_t from) const {
    for (std::size_t i = from; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
        return word.substr(name.size() + 1);
      }
    }
    return std::nullopt;
  }
  bool Has(std::string_view name, std::size_t from) const {
    return std::find(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), name) !=
           words.end();
  }
};

std::vector<Line> LinesOf(std::string_view text) {
  std::vector<Line> lines;
  for (const std::string_view row : Split(text, '\n')) {
    const std::size_t colon = row.find(" : ");
    Line line{.words = Split(row.substr(0, colon), ' '), .doc = {}, .whole = row};
    if (colon != std::string_view::npos) line.doc = row.substr(colon + 3);
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::int64_t NumberOf(std::string_view digits, const Line& line) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  DRAY_CHECK(error == std::errc() && end == digits.data() + digits.size(), std::string(line.whole));
  return number;
}

ProtoNumber ProtoOf(const Line& line) {
  const auto parts = Split(line.words[0], '.');
  DRAY_CHECK(!parts.empty(), std::string(line.whole));
  ProtoNumber number{.number = static_cast<std::uint32_t>(NumberOf(parts[0], line))};
  if (parts.size() > 1) number.inner = static_cast<std::uint32_t>(NumberOf(parts[1], line));
  if (parts.size() > 2) {
    number.inner =
        ProtoNumber::Within(number.inner, static_cast<std::uint32_t>(NumberOf(parts[2], line)));
  }
  return number;
}

FieldRules RulesOf(const Line& line) {
  FieldRules rules{.required = line.Has("required", 3), .immutable = line.Has("immutable", 3)};
  if (const auto words = line.Value("one-of", 3)) rules.one_of = Split(*words, ',');
  rules.standard = line.Value("default", 3).value_or("");
  rules.form = line.Value("form", 3).value_or("");
  if (const auto min = line.Value("min", 3)) rules.min = NumberOf(*min, line);
  if (const auto max = line.Value("max", 3)) rules.max = NumberOf(*max, line);
  if (const auto most = line.Value("most", 3)) {
    rules.most = static_cast<std::size_t>(NumberOf(*most, line));
  }
  return rules;
}

FieldOptions OptionsOf(const Line& line) {
  FieldOptions options{.doc = line.doc, .proto = ProtoOf(line)};
  if (line.Has("always", 3)) options.presence = Presence::kAlways;
  if (line.Has("set", 3)) options.list = ListKind::kSet;
  if (const auto keys = line.Value("keys", 3)) {
    options.list = ListKind::kMap;
    options.keys = *keys;
  }
  options.patch_key = line.Value("merge", 3).value_or("");
  options.retain_keys = line.Has("retain", 3);
  options.atomic = line.Has("atomic", 3);
  return options;
}

TableColumn ColumnOf(const Line& line) {
  DRAY_CHECK(line.words.size() >= 3, std::string(line.whole));
  return {.name = line.words[1],
          .path = line.words[2],
          .as = line.Value("as", 3).value_or(""),
          .none = line.Value("none", 3).value_or(""),
          .wide = line.Has("wide", 3),
          .doc = line.doc};
}

// The tables of one text. Addresses stay what they are: tables point at each other.
class Description {
 public:
  explicit Description(std::string_view text) {
    const std::vector<Line> lines = LinesOf(text);
    for (const Line& line : lines) {
      if (line.words[0] == "struct") Declare(line.words.at(1), line);
      if (line.words[0] == "kind") Declare(line.words.at(2), line);
    }
    for (std::size_t i = 0; i < lines.size();) {
      const std::size_t begin = i++;
      while (i < lines.size() && !Begins(lines[i])) ++i;
      Define({lines.data() + begin, i - begin});
    }
  }

  std::span<const KindInfo> kinds() const { return kinds_; }

 private:
  struct Table {
    StructInfo info;
    TypeInfo plain;
    TypeInfo optional;
    TypeInfo list;
    TypeInfo map;
    Forms forms;
    std::deque<SlotInfo> slots;
    std::deque<FieldRules> rules;
  };

  static bool Begins(const Line& line) {
    return line.words[0] == "struct" || line.words[0] == "kind";
  }

  void Declare(std::string_view name, const Line& line) {
    DRAY_CHECK(by_name_.find(name) == by_name_.end(), std::string(line.whole));
    Table& table = tables_.emplace_back();
    by_name_.emplace(name, &table);
    table.info.name = name;
    table.info.doc = line.doc;
    table.info.atomic = line.Has("atomic", 2);
    table.info.unknown = [](const void* record) {
      return &static_cast<const Record*>(record)->unknown;
    };
    table.info.mutable_unknown = [](void* record) {
      return &static_cast<Record*>(record)->unknown;
    };
    table.forms = FormsOf<Record>();
    table.plain = *table.forms.plain.type;
    table.plain.described = &table.info;
    table.optional = *table.forms.optional.type;
    table.list = *table.forms.list.type;
    table.map = *table.forms.map.type;
    for (TypeInfo* around : {&table.optional, &table.list, &table.map}) {
      around->element = &table.plain;
    }
    table.forms.plain.type = &table.plain;
    table.forms.optional.type = &table.optional;
    table.forms.list.type = &table.list;
    table.forms.map.type = &table.map;
  }

  FieldType TypeOf(std::string_view text, const Line& line) const {
    const FieldType Forms::*form = &Forms::plain;
    if (text.ends_with('?')) {
      form = &Forms::optional;
      text.remove_suffix(1);
    } else if (text.starts_with("[]")) {
      form = &Forms::list;
      text.remove_prefix(2);
    } else if (text.starts_with("map[") && text.ends_with(']')) {
      form = &Forms::map;
      text = text.substr(4, text.size() - 5);
    }
    const auto own = by_name_.find(text);
    const auto known = KnownTypes().find(text);
    DRAY_CHECK(own != by_name_.end() || known != KnownTypes().end(), std::string(line.whole));
    const FieldType type = own != by_name_.end() ? own->second->forms.*form : known->second.*form;
    DRAY_CHECK(type.type != nullptr, std::string(line.whole));
    return type;
  }

  static void AddField(Table& table, std::string_view name, FieldType type, FieldOptions options) {
    SlotInfo& slot = table.slots.emplace_back(type.slot);
    slot.index = table.info.fields.size();
    table.info.fields.push_back({.name = name,
                                 .type = type.type,
                                 .options = options,
                                 .get = nullptr,
                                 .mut = nullptr,
                                 .slot = &slot});
  }

  void Define(std::span<const Line> lines) {
    const Line& head = lines[0];
    const bool kind = head.words[0] == "kind";
    Table& table = *by_name_.find(head.words[kind ? 2 : 1])->second;
    KindTraits traits;
    if (kind) {
      AddField(table, "metadata", Of<ObjectMeta>(),
               {.doc = "Name, labels and history of the object.", .proto = {1}});
    }
    for (const Line& line : lines.subspan(1)) {
      if (line.words[0] == "column") {
        traits.columns.push_back(ColumnOf(line));
        continue;
      }
      DRAY_CHECK(line.words.size() >= 3, std::string(line.whole));
      FieldOptions options = OptionsOf(line);
      options.rules = &table.rules.emplace_back(RulesOf(line));
      AddField(table, line.words[1], TypeOf(line.words[2], line), options);
    }
    internal::BuildSlots(table.info);
    if (kind) AddKind(head, table, std::move(traits));
  }

  void AddKind(const Line& line, Table& table, KindTraits traits) {
    DRAY_CHECK(line.words.size() >= 5, std::string(line.whole));
    traits.status = line.Has("status", 4);
    traits.generation = line.Has("generation", 4);
    traits.in_all = line.Has("all", 4);
    if (const auto names = line.Value("short", 4)) traits.short_names = Split(*names, ',');
    // A kind's metadata is read by everybody and at once: it is there from the beginning.
    table.plain.reset = [](void* record) {
      *static_cast<Record*>(record) = Record();
      static_cast<Record*>(record)->At<ObjectMeta>(0);
    };
    const std::string_view api_version = line.words[1];
    const std::size_t slash = api_version.find('/');
    const bool core = slash == std::string_view::npos;
    kinds_.push_back({
        .group = core ? std::string_view() : api_version.substr(0, slash),
        .version = core ? api_version : api_version.substr(slash + 1),
        .kind = line.words[2],
        .plural = line.words[3],
        .namespaced = line.Has("namespaced", 4),
        .type = &table.plain,
        .hub = &table.plain,
        .make =
            [] {
              Record record;
              record.At<ObjectMeta>(0);
              return base::SharedValue::Make<Record>(std::move(record));
            },
        .copy =
            [](const void* v) {
              return base::SharedValue::Make<Record>(*static_cast<const Record*>(v));
            },
        .equal =
            [](const void* a, const void* b) {
              return *static_cast<const Record*>(a) == *static_cast<const Record*>(b);
            },
        .metadata = [](void* v) { return &static_cast<Record*>(v)->At<ObjectMeta>(0); },
        .traits = &traits_.emplace_back(std::move(traits)),
    });
  }

  std::deque<Table> tables_;
  base::StringMap<Table*> by_name_;
  std::deque<KindTraits> traits_;
  std::vector<KindInfo> kinds_;
};

}  // namespace

std::span<const KindInfo> KindsDescribedBy(std::string_view text) {
  static std::deque<Description> descriptions;
  return descriptions.emplace_back(text).kinds();
}

std::span<const KindInfo> DescribedKinds() {
  static const std::vector<KindInfo> kinds = [] {
    std::vector<KindInfo> all;
    for (const std::string_view text : internal::AllDescriptions()) {
      for (const KindInfo& kind : KindsDescribedBy(text)) {
        all.push_back(kind);
        if (kind.kind == "HorizontalPodAutoscaler") all.push_back(internal::AutoscalerV1(kind));
      }
    }
    return all;
  }();
  return kinds;
}

}  // namespace dray::api
