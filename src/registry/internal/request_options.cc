// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/request_options.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::registry::internal {
namespace {

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

// One option, from all values that the query has for it.
Status Fill(const api::TypeInfo& type, std::string_view name,
            const std::vector<std::string>& values, void* option) {
  const std::string& first = values.front();
  switch (type.shape) {
    case api::Shape::kOptional:
      return Fill(*type.element, name, values, type.emplace(option));
    case api::Shape::kList:
      for (const std::string& value : values) {
        DRAY_RETURN_IF_ERROR(Fill(*type.element, name, {value}, type.append(option)));
      }
      return {};
    case api::Shape::kString:
      *static_cast<std::string*>(option) = first;
      return {};
    case api::Shape::kBool:
      *static_cast<bool*>(option) = IsYes(first);
      return {};
    case api::Shape::kInt64: {
      auto& number = *static_cast<std::int64_t*>(option);
      const char* end = first.data() + first.size();
      const char* begin = first.data() + (first.starts_with('+') ? 1 : 0);
      const auto [stop, error] = std::from_chars(begin, end, number);
      if (error == std::errc() && stop == end && !first.starts_with("+-")) return {};
      return rest::BadRequest(
          fmt::format("the query parameter {} is a number, not \"{}\"", name, first));
    }
    default:
      return {};  // a struct has no form in a query
  }
}

template <typename T>
StatusOr<T> FromQuery(const Query& query) {
  T options;
  for (const api::FieldInfo& field : api::TypeInfoOf<T>().fields().fields) {
    const api::TypeInfo* type = field.type;
    while (type->shape == api::Shape::kOptional) type = type->element;
    if (type->shape == api::Shape::kStruct || !query.Has(field.name)) continue;
    DRAY_RETURN_IF_ERROR(Fill(*field.type, field.name, query.All(field.name), field.At(&options)));
  }
  return options;
}

template <typename T>
bool HasOption(std::string_view name) {
  return api::TypeInfoOf<T>().fields().Find(name) >= 0;
}

// Deletions cannot be taken back: one with an option that nobody here knows is not carried out.
Status CheckNames(const Exchange& exchange) {
  constexpr std::string_view kOthers[] = {"pretty",          "timeout",       "uid",
                                          "resourceVersion", "includeObject", "fieldManager",
                                          "fieldValidation"};
  for (const std::string& name : exchange.query.Names()) {
    if (std::ranges::find(kOthers, name) != std::end(kOthers)) continue;
    if (HasOption<rest::DeleteOptions>(name)) continue;
    if (exchange.verb == "deletecollection" && HasOption<rest::ListOptions>(name)) continue;
    if (exchange.verb == "create" && HasOption<rest::WriteOptions>(name)) continue;  // an eviction
    return rest::BadRequest(
        fmt::format("a deletion has no query parameter \"{}\": nothing was deleted", name));
  }
  return {};
}

// In the query of a collection's deletion resourceVersion is also an option of the list; beside a
// body it is that alone.
StatusOr<rest::DeleteOptions> DeleteOptionsInQuery(const Exchange& exchange, bool has_body) {
  const Query& query = exchange.query;
  DRAY_ASSIGN_OR_RETURN(rest::DeleteOptions options, FromQuery<rest::DeleteOptions>(query));
  if (has_body && exchange.verb == "deletecollection") return options;
  rest::Preconditions preconditions;
  if (const auto uid = query.Get("uid"); !uid.empty()) preconditions.uid = uid;
  if (const auto revision = query.Get("resourceVersion"); !revision.empty()) {
    preconditions.resource_version = revision;
  }
  if (preconditions.uid || preconditions.resource_version) options.preconditions = preconditions;
  return options;
}

template <typename T>
void Prefer(const std::optional<T>& body, std::optional<T>& options) {
  if (body) options = body;
}

// What the body says counts before what the query says; a dry run is one wherever it is asked for.
rest::DeleteOptions Joined(rest::DeleteOptions query, const rest::DeleteOptions& body) {
  rest::DeleteOptions options = std::move(query);
  Prefer(body.grace_period_seconds, options.grace_period_seconds);
  Prefer(body.ignore_store_read_error, options.ignore_store_read_error);
  if (body.propagation_policy || body.orphan_dependents) {
    options.propagation_policy = body.propagation_policy;
    options.orphan_dependents = body.orphan_dependents;
  }
  if (body.preconditions) {
    if (!options.preconditions) options.preconditions.emplace();
    Prefer(body.preconditions->uid, options.preconditions->uid);
    Prefer(body.preconditions->resource_version, options.preconditions->resource_version);
  }
  options.dry_run.insert(options.dry_run.end(), body.dry_run.begin(), body.dry_run.end());
  return options;
}

Propagation PropagationOf(const rest::DeleteOptions& options) {
  if (options.orphan_dependents) {
    return *options.orphan_dependents ? Propagation::kOrphan : Propagation::kBackground;
  }
  if (!options.propagation_policy) return Propagation::kDefault;
  if (*options.propagation_policy == "Orphan") return Propagation::kOrphan;
  if (*options.propagation_policy == "Foreground") return Propagation::kForeground;
  return Propagation::kBackground;
}

// Fields may come from the client's name: "kubectl/v1.30 (linux/amd64)" is the manager "kubectl". A
// header may have any bytes. What is no text shows as Go shows it, what cannot be printed is left
// out, and only whole characters are taken.
std::string ManagerOf(const Exchange& exchange, const std::string& named) {
  if (!named.empty()) return named;
  std::string_view agent = exchange.request.headers.Find("User-Agent");
  agent = agent.substr(0, agent.find('/'));
  std::string manager;
  while (!agent.empty()) {
    const std::size_t size = base::CharacterSize(agent);
    const std::string_view character = size == 0 ? "\xef\xbf\xbd" : agent.substr(0, size);
    agent.remove_prefix(std::max<std::size_t>(size, 1));
    if (static_cast<unsigned char>(character[0]) < ' ' || character == "\x7f") continue;
    if (manager.size() + character.size() > rest::kMaxManagerLength) break;
    manager += character;
  }
  return manager;
}

WriteContext ContextOf(const Exchange& exchange, const std::string& manager, bool dry_run) {
  return {.user = exchange.user(),
          .verb = exchange.verb,
          .manager = ManagerOf(exchange, manager),
          .api_version = exchange.kind().ApiVersion(),
          .dry_run = dry_run,
          .finalizes = exchange.route.subresource == "finalize",
          .notes = exchange.notes};
}

Deletion Meant(const Exchange& exchange, const rest::DeleteOptions& options) {
  Deletion deletion{.context = ContextOf(exchange, "", !options.dry_run.empty())};
  if (options.preconditions) {
    deletion.options.uid = options.preconditions->uid;
    deletion.options.resource_version = options.preconditions->resource_version;
  }
  deletion.options.grace_seconds = options.grace_period_seconds;
  deletion.options.propagation = PropagationOf(options);
  deletion.options.unread = options.ignore_store_read_error.value_or(false);
  deletion.orphan_said_no = options.orphan_dependents == false;
  return deletion;
}

}  // namespace

bool IsYes(std::string_view text) { return text != "0" && !EqualsIgnoringCase(text, "false"); }

StatusOr<rest::GetOptions> GetOptionsOf(const Query& query) {
  return FromQuery<rest::GetOptions>(query);
}

StatusOr<rest::ListOptions> ListOptionsOf(const Query& query, bool watch) {
  DRAY_ASSIGN_OR_RETURN(rest::ListOptions options, FromQuery<rest::ListOptions>(query));
  options.watch = watch;
  rest::SetDefaults(options);
  DRAY_RETURN_IF_ERROR(rest::Check(options));
  return options;
}

StatusOr<Writing> WritingOf(const Exchange& exchange, rest::WriteVerb verb) {
  DRAY_ASSIGN_OR_RETURN(const auto options, FromQuery<rest::WriteOptions>(exchange.query));
  DRAY_RETURN_IF_ERROR(rest::Check(options, verb));
  return Writing{.context = ContextOf(exchange, options.field_manager, !options.dry_run.empty()),
                 .validation = rest::ValidationOf(options),
                 .force = options.force.value_or(false)};
}

StatusOr<Deletion> DeletionBy(const Exchange& exchange, const rest::DocumentNode* inner) {
  DRAY_RETURN_IF_ERROR(CheckNames(exchange));
  DRAY_ASSIGN_OR_RETURN(rest::DeleteOptions options,
                        DeleteOptionsInQuery(exchange, inner != nullptr));
  DRAY_RETURN_IF_ERROR(rest::Check(options));
  if (inner != nullptr) {
    DRAY_ASSIGN_OR_RETURN(const rest::DeleteOptions body, rest::ReadDeleteOptions(*inner));
    DRAY_RETURN_IF_ERROR(rest::Check(body));
    options = Joined(std::move(options), body);
    DRAY_RETURN_IF_ERROR(rest::Check(options));
  }
  if (exchange.verb == "deletecollection" && options.ignore_store_read_error == true) {
    return rest::Invalid("meta.k8s.io", "DeleteOptions", "",
                         {api::InvalidValue(base::FieldPath(rest::kIgnoreStoreReadError), "true",
                                            "is for one object, not for a collection")});
  }
  return Meant(exchange, options);
}

StatusOr<Deletion> DeletionOf(const Exchange& exchange) {
  if (exchange.request.body.empty()) return DeletionBy(exchange, nullptr);
  DRAY_ASSIGN_OR_RETURN(const rest::DocumentNode body,
                        SmallBody(exchange, api::TypeInfoOf<rest::DeleteOptions>()));
  return DeletionBy(exchange, &body);
}

}  // namespace dray::registry::internal
