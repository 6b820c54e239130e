// SPDX-License-Identifier: Apache-2.0
#include "policy/inputs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cel/document_values.h"
#include "cel/values.h"
#include "policy/rights.h"

namespace dray::policy {
namespace {

using cel::Arena;
using cel::GrowingMap;
using cel::Kind;
using cel::Value;

// Builds a map of texts and more. What is empty is not there, as JSON leaves it out.
class Fields {
 public:
  explicit Fields(Arena& arena) : arena_(arena), map_(*arena.New<GrowingMap>()) {}
  Fields& Put(std::string_view key, Value value) {
    map_.Insert(arena_, Value::String(key), value);
    return *this;
  }
  Fields& Text(std::string_view key, std::string_view text) {
    return Put(key, MakeString(arena_, text));
  }
  Fields& TextIfAny(std::string_view key, std::string_view text) {
    return text.empty() ? *this : Text(key, text);
  }
  Value Done() const { return Value::Pointer(Kind::kMap, static_cast<const cel::Map*>(&map_)); }

 private:
  Arena& arena_;
  GrowingMap& map_;
};

Value Texts(Arena& arena, const std::vector<std::string>& texts) {
  std::vector<Value> values;
  values.reserve(texts.size());
  for (const std::string& text : texts) values.push_back(MakeString(arena, text));
  return MakeList(arena, values);
}

Value NameValue(Arena& arena, const Name& name, std::string_view field) {
  return Fields(arena)
      .Text("group", name.group)
      .Text("version", name.version)
      .Text(field, name.name)
      .Done();
}
Value KindValue(Arena& arena, const Version& version) {
  return NameValue(arena, version.kind, "kind");
}
Value ResourceValue(Arena& arena, const Version& version) {
  return NameValue(arena, version.resource, "resource");
}

Value UserValue(Arena& arena, const api::UserInfo& user) {
  Fields fields(arena);
  fields.TextIfAny("username", user.name).TextIfAny("uid", user.uid);
  if (!user.groups.empty()) fields.Put("groups", Texts(arena, user.groups));
  if (!user.extra.empty()) {
    Fields extra(arena);
    for (const auto& [key, values] : user.extra) {
      extra.Put(MakeString(arena, key).as_text(), Texts(arena, values));
    }
    fields.Put("extra", extra.Done());
  }
  return fields.Done();
}

std::string_view OptionsKind(std::string_view operation) {
  if (operation == kCreate) return "CreateOptions";
  if (operation == kUpdate) return "UpdateOptions";
  return operation == kDelete ? "DeleteOptions" : std::string_view();
}

void Drop(api::DocumentNode& node, std::string_view key) {
  std::erase_if(node.members, [&](const api::Member& member) { return member.key == key; });
}

}  // namespace

std::unique_ptr<api::DocumentNode> DocumentOf(const api::Object& object,
                                              const api::KindInfo& version) {
  std::vector<api::Diagnostic> diagnostics;
  return std::make_unique<api::DocumentNode>(api::ParseJson(object.ToJson(version), diagnostics));
}

Value Inputs::Document(api::DocumentNode node) {
  documents_.push_back(std::make_unique<api::DocumentNode>(std::move(node)));
  return ValueOf(arena_, *documents_.back());
}

Value Inputs::Show(const api::Object* object, const api::KindInfo* info, Shown& shown) {
  if (object == nullptr) return Value::Null();
  if (info == nullptr) info = &object->kind();
  const auto [it, made] = shown.try_emplace(info);
  if (made) {
    documents_.push_back(DocumentOf(*object, *info));
    it->second = ValueOf(arena_, *documents_.back());
  }
  return it->second;
}

Value Inputs::Object(const Version& version) {
  if (request_.document == nullptr) return Show(request_.object, version.info, objects_);
  if (!sent_) sent_ = ValueOf(arena_, *request_.document);
  return *sent_;
}

Value Inputs::OldObject(const Version& version) {
  if (request_.document == nullptr) return Show(request_.old_object, version.info, old_objects_);
  if (!old_sent_) {
    old_sent_ =
        request_.old_document == nullptr ? Value::Null() : ValueOf(arena_, *request_.old_document);
  }
  return *old_sent_;
}

Value Inputs::RequestAs(const Version& version) {
  Fields fields(arena_);
  fields.Put("kind", KindValue(arena_, version))
      .Put("resource", ResourceValue(arena_, version))
      .TextIfAny("subResource", request_.subresource)
      .Put("requestKind", KindValue(arena_, request_.version))
      .Put("requestResource", ResourceValue(arena_, request_.version))
      .TextIfAny("requestSubResource", request_.subresource)
      .TextIfAny("name", request_.name)
      .TextIfAny("namespace", request_.namespace_)
      .Text("operation", request_.operation)
      .Put("userInfo", UserValue(arena_, *request_.user))
      .Put("dryRun", Value::Bool(request_.dry_run));
  if (request_.options != nullptr) {
    fields.Put("options", ValueOf(arena_, *request_.options));
  } else if (const std::string_view kind = OptionsKind(request_.operation); !kind.empty()) {
    fields.Put("options",
               Fields(arena_).Text("kind", kind).Text("apiVersion", "meta.k8s.io/v1").Done());
  }
  return fields.Done();
}

Value Inputs::NamespaceObject() {
  if (namespace_) return *namespace_;
  namespace_ = Value::Null();
  if (space_ != nullptr) {
    api::DocumentNode node = std::move(*DocumentOf(*space_, space_->kind()));
    for (api::Member& member : node.members) {
      if (member.key != "metadata") continue;
      Drop(member.value, "managedFields");
      Drop(member.value, "ownerReferences");
    }
    namespace_ = Document(std::move(node));
  }
  return *namespace_;
}

Value Inputs::Authorizer() {
  if (!asker_) asker_ = AuthorizerFor(arena_, authorizer_, *request_.user);
  return *asker_;
}

Value Inputs::RequestResource() {
  if (!resource_) resource_ = RequestResourceFor(arena_, authorizer_, request_);
  return *resource_;
}

}  // namespace dray::policy
