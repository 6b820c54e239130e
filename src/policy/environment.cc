// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "cel/kubernetes_env.h"

namespace dray::policy {
namespace {

using cel::EnvironmentBuilder;
using cel::ObjectType;
using cel::Type;
using cel::TypeKind;
using cel::TypePool;
using cel::Variable;

Type AddObject(EnvironmentBuilder& builder, std::string_view name, std::vector<Variable> fields) {
  const Type type = builder.pool().Object(name);
  builder.AddObject(ObjectType{.type = type, .fields = std::move(fields)});
  return type;
}

Type AddRequest(EnvironmentBuilder& builder) {
  TypePool& pool = builder.pool();
  const Type text = Type::String();
  const Type kind = AddObject(builder, "kubernetes.GroupVersionKind",
                              {{"group", text}, {"version", text}, {"kind", text}});
  const Type resource = AddObject(builder, "kubernetes.GroupVersionResource",
                                  {{"group", text}, {"version", text}, {"resource", text}});
  const Type user = AddObject(builder, "kubernetes.UserInfo",
                              {{"username", text},
                               {"uid", text},
                               {"groups", pool.List(text)},
                               {"extra", pool.Map(text, pool.List(text))}});
  return AddObject(builder, "kubernetes.AdmissionRequest",
                   {{"kind", kind},
                    {"resource", resource},
                    {"subResource", text},
                    {"requestKind", kind},
                    {"requestResource", resource},
                    {"requestSubResource", text},
                    {"name", text},
                    {"namespace", text},
                    {"operation", text},
                    {"userInfo", user},
                    {"dryRun", Type::Bool()},
                    {"options", Type::Dyn()}});
}

Type AddNamespace(EnvironmentBuilder& builder) {
  TypePool& pool = builder.pool();
  const Type text = Type::String();
  const Type texts = pool.List(text);
  const Type labels = pool.Map(text, text);
  const Type spec = AddObject(builder, "kubernetes.NamespaceSpec", {{"finalizers", texts}});
  const Type condition = AddObject(builder, "kubernetes.NamespaceCondition",
                                   {{"status", text},
                                    {"type", text},
                                    {"lastTransitionTime", Type::Timestamp()},
                                    {"message", text},
                                    {"reason", text}});
  const Type status = AddObject(builder, "kubernetes.NamespaceStatus",
                                {{"conditions", pool.List(condition)}, {"phase", text}});
  const Type metadata = AddObject(builder, "kubernetes.NamespaceMetadata",
                                  {{"name", text},
                                   {"generateName", text},
                                   {"namespace", text},
                                   {"labels", labels},
                                   {"annotations", labels},
                                   {"UID", text},
                                   {"creationTimestamp", Type::Timestamp()},
                                   {"deletionGracePeriodSeconds", Type::Int()},
                                   {"deletionTimestamp", Type::Timestamp()},
                                   {"generation", Type::Int()},
                                   {"resourceVersion", text},
                                   {"finalizers", texts}});
  return AddObject(builder, "kubernetes.Namespace",
                   {{"metadata", metadata}, {"spec", spec}, {"status", status}});
}

std::shared_ptr<const cel::Environment> Make(const EnvironmentOptions& options) {
  EnvironmentBuilder builder = EnvironmentBuilder::Extending(cel::KubernetesEnvironment());
  builder.AddVariable("object", Type::Dyn());
  builder.AddVariable("oldObject", Type::Dyn());
  builder.AddVariable("request", AddRequest(builder));
  builder.AddVariable("namespaceObject", AddNamespace(builder));
  if (options.params) builder.AddVariable("params", Type::Dyn());
  if (options.authorizer) {
    TypePool& pool = builder.pool();
    builder.AddVariable("authorizer", pool.Object("kubernetes.authorization.Authorizer"));
    builder.AddVariable("authorizer.requestResource",
                        pool.Object("kubernetes.authorization.ResourceCheck"));
  }
  return std::move(builder).Build();
}

// The type in another pool; what is neither a scalar nor made of such is dyn.
Type Copied(Type type, TypePool& pool) {
  constexpr std::uint32_t kMostParts = 100;  // parts that are shared count each time
  if (type.size() > kMostParts) return Type::Dyn();
  switch (type.kind()) {
    case TypeKind::kNull:
      return Type::Null();
    case TypeKind::kBool:
      return Type::Bool();
    case TypeKind::kInt:
      return Type::Int();
    case TypeKind::kUint:
      return Type::Uint();
    case TypeKind::kDouble:
      return Type::Double();
    case TypeKind::kString:
      return Type::String();
    case TypeKind::kBytes:
      return Type::Bytes();
    case TypeKind::kDuration:
      return Type::Duration();
    case TypeKind::kTimestamp:
      return Type::Timestamp();
    case TypeKind::kAny:
      return Type::Any();
    case TypeKind::kList:
      return pool.List(Copied(type.param(0), pool));
    case TypeKind::kMap:
      return pool.Map(Copied(type.param(0), pool), Copied(type.param(1), pool));
    default:
      return Type::Dyn();
  }
}

}  // namespace

std::shared_ptr<const cel::Environment> PolicyEnvironment(const EnvironmentOptions& options) {
  static base::Mutex mutex;
  static auto* const made ABSL_PT_GUARDED_BY(mutex) =
      new std::array<std::shared_ptr<const cel::Environment>, 4>();
  const std::size_t index = (options.params ? 1u : 0u) | (options.authorizer ? 2u : 0u);
  const base::MutexLock lock(mutex);
  auto& environment = (*made)[index];
  if (environment == nullptr) environment = Make(options);
  return environment;
}

std::shared_ptr<const cel::Environment> WithVariables(
    const std::shared_ptr<const cel::Environment>& base,
    const std::vector<cel::Variable>& variables) {
  EnvironmentBuilder builder = EnvironmentBuilder::Extending(base);
  std::vector<Variable> fields;
  for (const Variable& variable : variables) {
    fields.push_back({variable.name, Copied(variable.type, builder.pool())});
  }
  builder.AddVariable("variables", AddObject(builder, "kubernetes.variables", std::move(fields)));
  return std::move(builder).Build();
}

}  // namespace dray::policy
