// SPDX-License-Identifier: Apache-2.0
#include "rest/decode.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/apply_tree.h"
#include "rest/internal/body_size.h"
#include "rest/protobuf.h"

namespace dray::rest {
namespace {

// How much of a body that cannot be read is shown.
constexpr std::size_t kShownBody = 200;
// Of a key, which may be as long as the body; none that is valid is longer.
constexpr std::size_t kMaxShownKey = 400;
// What a strict decoder tells of, as in Kubernetes.
constexpr std::size_t kMaxStrict = 100;

std::string_view GroupPackage(std::string_view group) {
  return group.empty() ? "core" : group.substr(0, group.find('.'));
}

Status CheckType(std::string_view api_version, std::string_view kind_name,
                 const api::KindInfo& kind) {
  const std::string expected = kind.ApiVersion();
  if (!kind_name.empty() && kind_name != kind.kind) {
    const std::string version = api_version.empty() ? expected : std::string(api_version);
    const api::KindInfo* other = api::FindKind(version, kind_name);
    const std::string_view short_version = std::string_view(version).substr(
        version.find('/') == version.npos ? 0 : version.find('/') + 1);
    const std::string why =
        other == nullptr
            ? fmt::format("no kind \"{}\" is registered for version \"{}\"", kind_name, version)
            : fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", other->version,
                          kind_name, GroupPackage(kind.group), kind.kind);
    return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind_name,
                                  short_version, kind.kind, why));
  }
  if (!api_version.empty() && api_version != expected) {
    return BadRequest(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    api_version, expected));
  }
  return {};
}

Status CannotHandle(const api::KindInfo& kind, std::string_view why) {
  return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind.kind,
                                kind.version, kind.kind, why));
}

Status Unreadable(const api::KindInfo& kind, std::string_view body, const Status& why) {
  return BadRequest(fmt::format(
      "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json "
      "parse error: {} ({})",
      kind.kind, base::Message(why), body.substr(0, kShownBody)));
}

// With dots before map keys, too, which is how decoders see them.
std::string PlainPath(const base::FieldPath& path) {
  std::string text;
  for (const base::FieldPath::Segment& segment : path.Segments()) {
    if (const auto* index = std::get_if<std::size_t>(&segment)) {
      text += fmt::format("[{}]", *index);
      continue;
    }
    if (!text.empty()) text += '.';
    const auto* field = std::get_if<base::FieldPath::Field>(&segment);
    text += base::Beginning(
        field != nullptr ? field->name : std::get<base::FieldPath::MapKey>(segment).key,
        kMaxShownKey);
  }
  return text;
}

// What a strict decoder minds, in Kubernetes's words; not of more than it tells.
std::vector<std::string> Strictness(const DocumentNode& tree,
                                    const std::vector<api::Diagnostic>& diagnostics) {
  std::vector<std::string> texts;
  for (const std::string& path : RepeatedKeys(tree)) texts.push_back(DuplicateField(path));
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (texts.size() >= kMaxStrict) break;
    if (diagnostic.reason != "UnknownField") continue;
    texts.push_back(fmt::format("unknown field \"{}\"", PlainPath(diagnostic.path)));
  }
  return texts;
}

// A whole JSON text that is a scalar has no tree; this one is allowed.
bool IsNullText(std::string_view body) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = body.find_first_not_of(kBlank);
  const std::size_t end = body.find_last_not_of(kBlank);
  return begin != body.npos && body.substr(begin, end - begin + 1) == "null";
}

StatusOr<DecodedBody> FromTree(DocumentNode tree, const api::KindInfo& kind,
                               FieldValidation validation) {
  const DocumentNode whole = tree;
  EraseIn(tree, "apiVersion");
  EraseIn(tree, "kind");
  DecodedBody decoded{api::Object::New(kind)};
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(tree, *kind.type, decoded.object.MutableData(), api::Severity::kWarning,
                  diagnostics);
  std::string faults;
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != api::Severity::kError) continue;
    faults += fmt::format("{}{}: {}", faults.empty() ? "" : ", ", diagnostic.path.ToString(),
                          diagnostic.message);
  }
  if (!faults.empty()) return CannotHandle(kind, faults);
  const std::vector<std::string> strict = Strictness(whole, diagnostics);
  if (strict.empty()) return decoded;
  if (validation == FieldValidation::kStrict) {
    return CannotHandle(kind, fmt::format("strict decoding error: {}", fmt::join(strict, ", ")));
  }
  if (validation == FieldValidation::kWarn) decoded.warnings = strict;
  // Objects keep unknown fields; a server does not.
  KeepLastOfEqualKeys(tree);
  DropUnknown(*kind.type, tree);
  decoded.object = api::Object::New(kind);
  diagnostics.clear();
  api::DecodeNode(tree, *kind.type, decoded.object.MutableData(), api::Severity::kWarning,
                  diagnostics);
  return decoded;
}

}  // namespace

std::string DuplicateField(std::string_view path) {
  return fmt::format("duplicate field \"{}\"", path);
}

Status CheckType(const DocumentNode& tree, const api::KindInfo& kind) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const DocumentNode* value = FindIn(tree, name);
    if (value == nullptr || IsString(*value) || IsNull(*value)) continue;
    return BadRequest(fmt::format("{} is a string, not a {}", name, JsonKindName(*value)));
  }
  return CheckType(TextIn(tree, "apiVersion"), TextIn(tree, "kind"), kind);
}

StatusOr<DecodedBody> DecodeBody(api::JsonDecoder& decoder, std::string_view body,
                                 BodyFormat format, const api::KindInfo& kind,
                                 FieldValidation validation) {
  if (format != BodyFormat::kProtobuf &&
      internal::HasTooManyValues(body, format == BodyFormat::kYaml)) {
    return TooLarge(fmt::format("the body has more than {} values", internal::kMaxBodyValues));
  }
  if (format == BodyFormat::kJson) {
    // The fast way takes what is plainly right: nothing unknown, nothing twice, and of a type that
    // it says.
    const auto type = decoder.PeekType(body);
    if (type.ok() && !type->kind.empty() && !type->api_version.empty()) {
      DRAY_RETURN_IF_ERROR(CheckType(type->api_version, type->kind, kind));
      DecodedBody decoded{api::Object::New(kind)};
      if (decoder.Decode(body, *kind.type, decoded.object.MutableData(), {.strict = true}).ok()) {
        return decoded;
      }
    }
  }
  if (format == BodyFormat::kProtobuf) {
    auto tree = ReadProtobuf(body, *kind.type, kind.group, kind.version);
    if (tree.status().code() == StatusCode::kResourceExhausted) {
      return TooLarge(base::Message(tree.status()));
    }
    if (!tree.ok()) return CannotHandle(kind, base::Message(tree.status()));
    DRAY_RETURN_IF_ERROR(CheckType(*tree, kind));
    return FromTree(*std::move(tree), kind, validation);
  }
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode tree;
  if (format == BodyFormat::kJson && IsNullText(body)) {
    tree.kind = DocumentNode::Kind::kNull;
  } else if (format == BodyFormat::kJson) {
    tree = api::ParseJson(body, diagnostics);
  } else {
    std::vector<DocumentNode> documents = api::ParseYaml(body, diagnostics);
    if (!documents.empty()) tree = std::move(documents.front());
  }
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == api::Severity::kError && diagnostic.reason != "DuplicateField") {
      return Unreadable(kind, body, base::InvalidArgument(ToString(diagnostic)));
    }
  }
  // As if nothing had been said: what is missing is for the object's rules to tell.
  if (IsNull(tree)) tree = MapNode();
  if (!IsMap(tree)) {
    return Unreadable(kind, body, base::InvalidArgument("an object was expected"));
  }
  DRAY_RETURN_IF_ERROR(CheckType(tree, kind));
  return FromTree(std::move(tree), kind, validation);
}

StatusOr<DecodedBody> DecodeTree(const DocumentNode& tree, const api::KindInfo& kind,
                                 FieldValidation validation) {
  if (!IsMap(tree)) return CannotHandle(kind, fmt::format("it is a {}", JsonKindName(tree)));
  return FromTree(tree, kind, validation);
}

}  // namespace dray::rest
