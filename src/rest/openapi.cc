// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/meta.h"
#include "fmt/format.h"
#include "rest/descriptions.h"
#include "rest/discovery.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

using api::Shape;

constexpr std::string_view kPrefix = "io.k8s.dray.";

DocumentNode Typed(std::string_view type, std::string_view format = {}) {
  DocumentNode node = MapNode();
  SetIn(node, "type", StringNode(type));
  if (!format.empty()) SetIn(node, "format", StringNode(format));
  return node;
}

DocumentNode Strings(std::initializer_list<std::string_view> texts) {
  DocumentNode list = ListNode();
  for (const std::string_view text : texts) list.items.push_back(StringNode(text));
  return list;
}

DocumentNode KindNode(const api::KindInfo& kind) {
  DocumentNode node = MapNode();
  SetIn(node, "group", StringNode(kind.group));
  SetIn(node, "version", StringNode(kind.version));
  SetIn(node, "kind", StringNode(kind.kind));
  return node;
}

// The schemas of one document; each struct once, by name.
class Schemas {
 public:
  explicit Schemas(std::string_view ref_prefix) : ref_prefix_(ref_prefix) {}

  // The schema of a kind, with what only whole objects have.
  void AddKind(const ServedKind& row) {
    const api::KindInfo& kind = *row.kind;
    if (row.schema_v3 != nullptr) return AddDefined(row);
    const std::string name = NameOf(kind.type->fields(), kind.version);
    DocumentNode& schema = SchemaOf(name, kind.type->fields());
    DocumentNode& properties = *FindIn(schema, "properties");
    for (const std::string_view field : {"apiVersion", "kind"}) {
      DocumentNode property = Typed("string");
      SetIn(property, "description", StringNode(DescriptionOf(fmt::format("Object.{}", field))));
      SetIn(properties, field, std::move(property));
    }
    DocumentNode kinds = ListNode();
    if (const DocumentNode* present = FindIn(schema, "x-kubernetes-group-version-kind"))
      kinds = *present;
    kinds.items.push_back(KindNode(kind));
    SetIn(schema, "x-kubernetes-group-version-kind", std::move(kinds));
  }

  // Of a kind that was defined: what its definition says. Metadata is everybody's.
  void AddDefined(const ServedKind& row) {
    const api::KindInfo& kind = *row.kind;
    DocumentNode schema = IsVersion2() ? *row.schema_v2 : *row.schema_v3;
    DocumentNode* properties = FindIn(schema, "properties");
    if (properties == nullptr) properties = &SetIn(schema, "properties", MapNode());
    for (const std::string_view field : {"apiVersion", "kind"}) {
      DocumentNode property = Typed("string");
      SetIn(property, "description", StringNode(DescriptionOf(fmt::format("Object.{}", field))));
      SetIn(*properties, field, std::move(property));
    }
    DocumentNode metadata = TypeNode(api::TypeInfoOf<api::ObjectMeta>());
    if (!IsVersion2()) {
      DocumentNode all = ListNode();
      all.items.push_back(std::move(metadata));
      metadata = MapNode();
      SetIn(metadata, "allOf", std::move(all));
    }
    SetIn(*properties, "metadata", std::move(metadata));
    DocumentNode kinds = ListNode();
    kinds.items.push_back(KindNode(kind));
    SetIn(schema, "x-kubernetes-group-version-kind", std::move(kinds));
    // com.example.stable.v1.CronTab
    std::string name;
    std::string_view group = kind.group;
    while (!group.empty()) {
      const std::size_t dot = group.rfind('.');
      name += dot == group.npos ? group : group.substr(dot + 1);
      name += '.';
      group = dot == group.npos ? std::string_view() : group.substr(0, dot);
    }
    name += fmt::format("{}.{}", kind.version, kind.kind);
    taken_.insert(name);
    schemas_[name] = std::move(schema);
  }

  DocumentNode Ref(const std::string& name) const {
    DocumentNode node = MapNode();
    SetIn(node, "$ref", StringNode(ref_prefix_ + name));
    return node;
  }

  DocumentNode Take() {
    DocumentNode all = MapNode();
    for (auto& [name, schema] : schemas_) {
      all.members.push_back({.key = name, .key_position = {}, .value = std::move(schema)});
    }
    return all;
  }

 private:
  // Two structs of one name, such as a slice's Device in two versions, get two schemas.
  std::string NameOf(const api::StructInfo& info, std::string_view version) {
    if (const auto it = names_.find(&info); it != names_.end()) return it->second;
    std::string name = fmt::format("{}{}", kPrefix, info.name);
    if (!taken_.insert(name).second) name = fmt::format("{}{}.{}", kPrefix, version, info.name);
    while (schemas_.contains(name)) name += '_';
    taken_.insert(name);
    return names_.emplace(&info, name).first->second;
  }

  DocumentNode& SchemaOf(const std::string& name, const api::StructInfo& info) {
    if (const auto it = schemas_.find(name); it != schemas_.end()) return it->second;
    schemas_[name] = Typed("object");  // a struct that contains itself finds this one
    DocumentNode schema = Typed("object");
    SetIn(schema, "description", StringNode(DescriptionOf(info)));
    if (info.atomic) SetIn(schema, "x-kubernetes-map-type", StringNode("atomic"));
    DocumentNode properties = MapNode();
    for (const api::FieldInfo& field : info.fields) {
      SetIn(properties, field.name, Property(info, field));
    }
    SetIn(schema, "properties", std::move(properties));
    return schemas_[name] = std::move(schema);
  }

  DocumentNode Property(const api::StructInfo& info, const api::FieldInfo& field) {
    DocumentNode property = TypeNode(*field.type);
    const std::string_view text = DescriptionOf(info, field);
    // In version 3 nothing may stand beside a $ref but through allOf; what readers of version 2 make
    // of an allOf is anything at all.
    if (FindIn(property, "$ref") != nullptr && !IsVersion2()) {
      DocumentNode all = ListNode();
      all.items.push_back(std::move(property));
      property = MapNode();
      SetIn(property, "allOf", std::move(all));
    }
    SetIn(property, "description", StringNode(text));
    if (field.options.atomic) SetIn(property, "x-kubernetes-map-type", StringNode("atomic"));
    const api::TypeInfo* type = field.type;
    while (type->shape == Shape::kOptional) type = type->element;
    if (type->shape == Shape::kList) AddListRules(field, property);
    return property;
  }

  static void AddListRules(const api::FieldInfo& field, DocumentNode& property) {
    constexpr std::string_view kKinds[] = {"atomic", "set", "map"};
    SetIn(property, "x-kubernetes-list-type",
          StringNode(kKinds[static_cast<std::size_t>(field.options.list)]));
    std::string_view keys = field.options.keys;
    if (!keys.empty()) {
      DocumentNode list = ListNode();
      while (!keys.empty()) {
        const std::size_t end = std::min(keys.find(','), keys.size());
        list.items.push_back(StringNode(keys.substr(0, end)));
        keys.remove_prefix(std::min(end + 1, keys.size()));
      }
      SetIn(property, "x-kubernetes-list-map-keys", std::move(list));
    }
    if (!PatchMerges(field)) return;
    SetIn(property, "x-kubernetes-patch-strategy",
          StringNode(field.options.retain_keys ? "merge,retainKeys" : "merge"));
    if (!PatchKey(field).empty()) {
      SetIn(property, "x-kubernetes-patch-merge-key", StringNode(PatchKey(field)));
    }
  }

  DocumentNode TypeNode(const api::TypeInfo& type) {
    switch (type.shape) {
      case Shape::kBool:
        return Typed("boolean");
      case Shape::kInt32:
        return Typed("integer", "int32");
      case Shape::kInt64:
        return Typed("integer", "int64");
      case Shape::kDouble:
        return Typed("number", "double");
      case Shape::kString:
      case Shape::kText:
        return Typed("string");
      case Shape::kQuantity:
        return Named("Quantity", "");
      case Shape::kTime:
        return Named("Time", "date-time");
      case Shape::kMicroTime:
        return Named("MicroTime", "date-time");
      case Shape::kIntOrString:
        return Named("IntOrString", "int-or-string");
      case Shape::kRaw:
        return Typed("object");
      case Shape::kBytes:
        return Typed("string", "byte");
      case Shape::kStruct: {
        const api::StructInfo& info = type.fields();
        const std::string name = NameOf(info, "other");
        SchemaOf(name, info);
        return Ref(name);
      }
      case Shape::kList: {
        DocumentNode node = Typed("array");
        SetIn(node, "items", TypeNode(*type.element));
        return node;
      }
      case Shape::kMap: {
        DocumentNode node = Typed("object");
        SetIn(node, "additionalProperties", TypeNode(*type.element));
        return node;
      }
      case Shape::kOptional:
        return TypeNode(*type.element);
    }
    return MapNode();
  }

  // Scalars that have a name of their own, which `kubectl explain` shows.
  DocumentNode Named(std::string_view name, std::string_view format) {
    const std::string full = fmt::format("{}{}", kPrefix, name);
    if (!schemas_.contains(full)) {
      taken_.insert(full);
      DocumentNode schema = Typed("string", format);
      SetIn(schema, "description", StringNode(DescriptionOf(name)));
      schemas_[full] = std::move(schema);
    }
    return Ref(full);
  }

  bool IsVersion2() const { return ref_prefix_ == "#/definitions/"; }

  const std::string ref_prefix_;
  std::map<const api::StructInfo*, std::string> names_;
  std::set<std::string> taken_;
  std::map<std::string, DocumentNode> schemas_;
};

DocumentNode Parameter(std::string_view name, std::string_view where, bool v2,
                       std::string_view type = "string") {
  DocumentNode node = MapNode();
  SetIn(node, "name", StringNode(name));
  SetIn(node, "in", StringNode(where));
  SetIn(node, "description", StringNode(DescriptionOf(fmt::format("query.{}", name))));
  if (v2) {
    SetIn(node, "type", StringNode(type));
  } else {
    SetIn(node, "schema", Typed(type));
  }
  if (where == "path") SetIn(node, "required", BoolNode(true));
  return node;
}

DocumentNode Operation(std::string_view action, const api::KindInfo& kind, bool named, bool v2) {
  DocumentNode node = MapNode();
  const std::string_view scope = kind.namespaced ? "Namespaced" : "";
  std::string group = kind.group.empty() ? "core" : std::string(kind.group);
  std::erase(group, '.');
  SetIn(node, "operationId",
        StringNode(fmt::format("{}{}{}{}{}{}", action, group, kind.version, scope, kind.kind,
                               named ? "" : "Collection")));
  SetIn(node, "x-kubernetes-action", StringNode(action));
  SetIn(node, "x-kubernetes-group-version-kind", KindNode(kind));
  DocumentNode parameters = ListNode();
  const auto add = [&](std::string_view name, std::string_view type = "string") {
    parameters.items.push_back(Parameter(name, "query", v2, type));
  };
  const bool writes = action == "post" || action == "put" || action == "patch";
  if (writes || action == "delete") add("dryRun");
  if (writes) {
    add("fieldManager");
    add("fieldValidation");
  }
  if (action == "patch") add("force", "boolean");
  if (action == "list") {
    for (const std::string_view name : {"labelSelector", "fieldSelector", "resourceVersion",
                                        "resourceVersionMatch", "continue"}) {
      add(name);
    }
    add("limit", "integer");
    add("watch", "boolean");
    add("timeoutSeconds", "integer");
    add("allowWatchBookmarks", "boolean");
    add("sendInitialEvents", "boolean");
  }
  if (!parameters.items.empty()) SetIn(node, "parameters", std::move(parameters));
  DocumentNode responses = MapNode();
  DocumentNode fine = MapNode();
  SetIn(fine, "description", StringNode("OK"));
  SetIn(responses, action == "post" ? "201" : "200", std::move(fine));
  SetIn(node, "responses", std::move(responses));
  return node;
}

void AddPaths(const ServedKind& row, bool v2, DocumentNode& paths) {
  const api::KindInfo& kind = *row.kind;
  const std::string root = kind.group.empty()
                               ? fmt::format("/api/{}", kind.version)
                               : fmt::format("/apis/{}/{}", kind.group, kind.version);
  const std::string base = kind.namespaced
                               ? fmt::format("{}/namespaces/{{namespace}}/{}", root, kind.plural)
                               : fmt::format("{}/{}", root, kind.plural);
  const auto placed = [&](bool named) {
    DocumentNode path = MapNode();
    DocumentNode parameters = ListNode();
    if (named) parameters.items.push_back(Parameter("name", "path", v2));
    if (kind.namespaced) parameters.items.push_back(Parameter("namespace", "path", v2));
    if (!parameters.items.empty()) SetIn(path, "parameters", std::move(parameters));
    return path;
  };
  DocumentNode all = placed(false);
  SetIn(all, "get", Operation("list", kind, false, v2));
  SetIn(all, "post", Operation("post", kind, true, v2));
  SetIn(all, "delete", Operation("deletecollection", kind, false, v2));
  SetIn(paths, base, std::move(all));
  DocumentNode one = placed(true);
  for (const std::string_view action : {"get", "put", "patch", "delete"}) {
    SetIn(one, action, Operation(action, kind, true, v2));
  }
  SetIn(paths, base + "/{name}", std::move(one));
  for (const Subresource& part : row.resource.subresources) {
    DocumentNode node = placed(true);
    const std::string_view action = part.name == "status"    ? "patch"
                                    : part.verbs == "create" ? "post"
                                                             : "put";
    SetIn(node, action, Operation(action, kind, true, v2));
    SetIn(paths, fmt::format("{}/{{name}}/{}", base, part.name), std::move(node));
  }
}

DocumentNode Info() {
  DocumentNode info = MapNode();
  SetIn(info, "title", StringNode("dray"));
  SetIn(info, "version", StringNode("v1.38.0"));
  return info;
}

// A document changes its address when it changes, so that clients may keep it.
std::string HashOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016X}", hash);
}

}  // namespace

std::optional<std::string> OpenApiV3Json(std::string_view group, std::string_view version,
                                         const ServedKinds& kinds) {
  Schemas schemas("#/components/schemas/");
  DocumentNode paths = MapNode();
  bool served = false;
  for (const ServedKind& row : kinds.all()) {
    if (row.kind->group != group || row.kind->version != version) continue;
    served = true;
    schemas.AddKind(row);
    AddPaths(row, false, paths);
  }
  if (!served) return std::nullopt;
  DocumentNode document = MapNode();
  SetIn(document, "openapi", StringNode("3.0.0"));
  SetIn(document, "info", Info());
  SetIn(document, "paths", std::move(paths));
  DocumentNode components = MapNode();
  SetIn(components, "schemas", schemas.Take());
  SetIn(document, "components", std::move(components));
  return ToJson(document);
}

std::string OpenApiV3RootJson(const ServedKinds& kinds) {
  DocumentNode paths = MapNode();
  const auto add = [&](std::string_view group, const std::string& path) {
    for (const std::string_view version : ServedVersions(group, kinds)) {
      const auto document = OpenApiV3Json(group, version, kinds);
      if (!document) continue;  // nothing in it has a schema
      DocumentNode entry = MapNode();
      const std::string here = fmt::format("{}/{}", path, version);
      SetIn(entry, "serverRelativeURL",
            StringNode(fmt::format("/openapi/v3/{}?hash={}", here, HashOf(*document))));
      SetIn(paths, here, std::move(entry));
    }
  };
  add("", "api");
  for (const std::string_view group : ServedGroups(kinds)) {
    add(group, fmt::format("apis/{}", group));
  }
  DocumentNode root = MapNode();
  SetIn(root, "paths", std::move(paths));
  return ToJson(root);
}

DocumentNode OpenApiV2Document(const ServedKinds& kinds) {
  Schemas schemas("#/definitions/");
  DocumentNode paths = MapNode();
  for (const ServedKind& row : kinds.all()) {
    schemas.AddKind(row);
    AddPaths(row, true, paths);
  }
  DocumentNode document = MapNode();
  SetIn(document, "swagger", StringNode("2.0"));
  SetIn(document, "info", Info());
  SetIn(document, "paths", std::move(paths));
  SetIn(document, "definitions", schemas.Take());
  SetIn(document, "consumes", Strings({"application/json", "application/yaml"}));
  SetIn(document, "produces", Strings({"application/json", "application/yaml"}));
  return document;
}

std::string OpenApiV2Json(const ServedKinds& kinds) { return ToJson(OpenApiV2Document(kinds)); }

}  // namespace dray::rest
