// SPDX-License-Identifier: Apache-2.0
#include "node/sources.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "api/field_table.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

struct KeptJson {
  api::Map<std::string> data;
  api::Map<std::string> binary_data;
  std::optional<bool> immutable;
};
struct BoundReference {
  std::string kind = "Pod";
  std::string api_version = "v1";
  std::string name;
  std::string uid;
};
struct TokenSpec {
  std::vector<std::string> audiences;
  std::int64_t expiration_seconds = 0;
  BoundReference bound;
};
struct TokenStatus {
  std::string token;
  std::optional<base::Time> expiration;
};
struct TokenJson {
  std::string api_version;
  std::string kind;
  TokenSpec spec;
  TokenStatus status;
};

const api::StructInfo& InfoOf(const KeptJson*) {
  static const api::StructInfo info =
      api::Struct<KeptJson>("ConfigMap", {api::Field<&KeptJson::data>("data"),
                                          api::Field<&KeptJson::binary_data>("binaryData"),
                                          api::Field<&KeptJson::immutable>("immutable")});
  return info;
}
const api::StructInfo& InfoOf(const BoundReference*) {
  static const api::StructInfo info = api::Struct<BoundReference>(
      "BoundObjectReference",
      {api::Field<&BoundReference::kind>("kind"),
       api::Field<&BoundReference::api_version>("apiVersion"),
       api::Field<&BoundReference::name>("name"), api::Field<&BoundReference::uid>("uid")});
  return info;
}
const api::StructInfo& InfoOf(const TokenSpec*) {
  static const api::StructInfo info = api::Struct<TokenSpec>(
      "TokenRequestSpec", {api::Field<&TokenSpec::audiences>("audiences"),
                           api::Field<&TokenSpec::expiration_seconds>("expirationSeconds"),
                           api::Field<&TokenSpec::bound>("boundObjectRef")});
  return info;
}
const api::StructInfo& InfoOf(const TokenStatus*) {
  static const api::StructInfo info = api::Struct<TokenStatus>(
      "TokenRequestStatus", {api::Field<&TokenStatus::token>("token"),
                             api::Field<&TokenStatus::expiration>("expirationTimestamp")});
  return info;
}
const api::StructInfo& InfoOf(const TokenJson*) {
  static const api::StructInfo info = api::Struct<TokenJson>(
      "TokenRequest",
      {api::Field<&TokenJson::api_version>("apiVersion"), api::Field<&TokenJson::kind>("kind"),
       api::Field<&TokenJson::spec>("spec"), api::Field<&TokenJson::status>("status")});
  return info;
}

Status AddDecoded(const api::Map<std::string>& from, std::map<std::string, std::string>& to) {
  for (const auto& [key, value] : from) {
    std::string bytes;
    if (!absl::Base64Unescape(value, &bytes)) {
      return base::MakeStatus(StatusCode::kDataLoss,
                              fmt::format("the value of key \"{}\" is not base64", key.view()));
    }
    to[std::string(key.view())] = std::move(bytes);
  }
  return {};
}

// Names of objects and namespaces have no character that would have to be encoded, and what came
// from a pod's spec was checked to be one.
class HttpSources final : public Sources {
 public:
  explicit HttpSources(client::HttpClient& http) : http_(http) {}

  StatusOr<std::optional<Kept>> ConfigMap(const std::string& namespace_,
                                          const std::string& name) override {
    return Read(namespace_, "configmaps", name, /*encoded=*/false);
  }
  StatusOr<std::optional<Kept>> Secret(const std::string& namespace_,
                                       const std::string& name) override {
    return Read(namespace_, "secrets", name, /*encoded=*/true);
  }

  StatusOr<Token> MakeToken(const TokenWish& wish) override {
    TokenJson request{.api_version = "authentication.k8s.io/v1", .kind = "TokenRequest"};
    if (!wish.audience.empty()) request.spec.audiences = {wish.audience};
    request.spec.expiration_seconds = wish.lasts.count();
    request.spec.bound.name = wish.pod;
    request.spec.bound.uid = wish.pod_uid;
    DRAY_ASSIGN_OR_RETURN(
        const client::HttpResponse answer,
        http_.Send({.method = "POST",
                    .target = fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token",
                                          wish.namespace_, wish.account),
                    .body = api::EncodeJson(request)}));
    if (answer.status >= 300) return client::FailureOf(answer);
    api::JsonDecoder decoder;
    DRAY_ASSIGN_OR_RETURN(TokenJson made, decoder.Decode<TokenJson>(answer.body));
    if (made.status.token.empty() || !made.status.expiration) {
      return base::MakeStatus(StatusCode::kDataLoss,
                              "the API server answered a request for a token without one");
    }
    return Token{.text = std::move(made.status.token), .expires = *made.status.expiration};
  }

 private:
  StatusOr<std::optional<Kept>> Read(const std::string& namespace_, std::string_view resource,
                                     const std::string& name, bool encoded) {
    DRAY_ASSIGN_OR_RETURN(const client::HttpResponse answer,
                          http_.Send({.target = fmt::format("/api/v1/namespaces/{}/{}/{}",
                                                            namespace_, resource, name)}));
    if (answer.status == 404) return std::nullopt;
    if (answer.status >= 300) return client::FailureOf(answer);
    api::JsonDecoder decoder;
    DRAY_ASSIGN_OR_RETURN(const KeptJson read, decoder.Decode<KeptJson>(answer.body));
    Kept kept;
    kept.immutable = read.immutable.value_or(false);
    if (encoded) {
      DRAY_RETURN_IF_ERROR(AddDecoded(read.data, kept.data));
    } else {
      for (const auto& [key, value] : read.data) kept.data[std::string(key.view())] = value;
      DRAY_RETURN_IF_ERROR(AddDecoded(read.binary_data, kept.data));
    }
    return kept;
  }

  client::HttpClient& http_;
};

}  // namespace

std::unique_ptr<Sources> MakeSources(client::HttpClient& http) {
  return std::make_unique<HttpSources>(http);
}

}  // namespace dray::node
