// SPDX-License-Identifier: Apache-2.0
#include "cel/kubernetes_env.h"

#include <utility>

#include "cel/library.h"

namespace dray::cel {
namespace {

std::shared_ptr<const Environment> Make() {
  EnvironmentBuilder builder;
  for (const Library& rows : {library::Arithmetic(),
                              library::Comparison(),
                              library::Logic(),
                              library::Conversions(),
                              library::Times(),
                              library::Strings(),
                              library::StringFormat(),
                              library::Matches(),
                              library::Lists(),
                              library::Sets(),
                              library::TwoVariables(),
                              library::Optionals(),
                              library::KubernetesLists(),
                              library::Regex(),
                              library::Urls(),
                              library::Network(),
                              library::NamedFormats(),
                              library::Quantity(),
                              library::Semver(),
                              library::Authorizer()}) {
    builder.AddLibrary(rows);
  }
  TypePool& pool = builder.pool();
  builder.AddTypeName(kOptionalTypeName, pool.Optional(Type::Dyn()));
  builder.AddTypeName("net.IP", pool.Opaque("net.IP"));
  builder.AddTypeName("net.CIDR", pool.Opaque("net.CIDR"));
  builder.SetParseOptions({.macros = MacroSet::Dra()});
  builder.SetValidators({.homogeneous_literals = true,
                         .constant_times = true,
                         .constant_regexes = true,
                         .constant_formats = true});
  return std::move(builder).Build();
}

}  // namespace

std::shared_ptr<const Environment> KubernetesEnvironment() {
  static const std::shared_ptr<const Environment> environment = Make();
  return environment;
}

}  // namespace dray::cel
