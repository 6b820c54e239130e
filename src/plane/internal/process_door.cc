// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/process_door.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "api/document.h"
#include "apiserver/certificates.h"
#include "fmt/format.h"
#include "registry/route.h"
#include "rest/api_error.h"
#include "threads/system_host.h"

namespace dray::plane::internal {
namespace {

constexpr std::chrono::hours kSelfSigned{24 * 365 * 10};
constexpr std::chrono::milliseconds kPatience{1'000};

// For who is not given one, as kube-scheduler makes it: others can talk to it in private, and have
// no way to tell it from somebody else.
StatusOr<apiserver::KeyPair> SelfSigned(const std::string& process, const std::string& address,
                                        base::Time now) {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  std::vector<std::string> hosts = {"localhost", "127.0.0.1"};
  if (name[0] != '\0') hosts.emplace_back(name);
  if (address != "0.0.0.0" && address != "::" && address != "127.0.0.1") hosts.push_back(address);
  DRAY_ASSIGN_OR_RETURN(const apiserver::KeyPair authority,
                        apiserver::MakeAuthority(process + "-ca", now, kSelfSigned));
  DRAY_ASSIGN_OR_RETURN(apiserver::KeyPair pair,
                        apiserver::MakeCertificate(authority,
                                                   {.use = apiserver::CertificateSpec::Use::kServer,
                                                    .common_name = process,
                                                    .hosts = hosts,
                                                    .valid = kSelfSigned},
                                                   now));
  pair.certificate += authority.certificate;
  return pair;
}

// Whom an API server lets sign its clients, as it tells those who serve beside it. Empty: it does not.
StatusOr<std::string> ClusterAuthority(client::HttpClient& http) {
  DRAY_ASSIGN_OR_RETURN(const client::HttpResponse response,
                        http.Send({.target = "/api/v1/namespaces/kube-system/configmaps/"
                                             "extension-apiserver-authentication"}));
  if (response.status == 404) return std::string();
  if (response.status >= 300) return client::FailureOf(response);
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode map = api::ParseJson(response.body, diagnostics);
  const api::Member* data = map.Find("data");
  const api::Member* authority = data == nullptr ? nullptr : data->value.Find("client-ca-file");
  return authority == nullptr ? std::string() : authority->value.text;
}

apiserver::Response TextOf(int status, std::string text, std::string_view type) {
  apiserver::Response response;
  response.status = status;
  response.headers.Add("Content-Type", std::string(type));
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

apiserver::Response Refused(const Status& status) {
  const rest::ApiError error = rest::FromStatus(status);
  return TextOf(error.code, error.ToJson(), "application/json");
}

}  // namespace

ProcessDoor::ProcessDoor(const ServingOptions& options, ProcessPages pages,
                         client::HttpClient& authentication, client::HttpClient& authorization,
                         const base::Clock& clock, logs::Logger log)
    : always_allow_(options.always_allow),
      pages_(std::move(pages)),
      log_(log),
      reviews_(authentication, authorization, clock,
               {options.token_kept, options.allowed_kept, options.denied_kept}) {}

ProcessDoor::~ProcessDoor() {
  ending_ = true;
  end_->Ring();
  reloading_ = nullptr;
  if (server_ != nullptr) server_->Drain(kPatience);
  asking_.Stop();
  server_ = nullptr;
}

StatusOr<std::unique_ptr<ProcessDoor>> ProcessDoor::Start(
    const ServingOptions& options, ProcessPages pages, client::HttpClient& authentication,
    client::HttpClient& authorization, const base::Clock& clock, logs::Logger log) {
  std::unique_ptr<ProcessDoor> door(
      new ProcessDoor(options, std::move(pages), authentication, authorization, clock, log));
  DRAY_RETURN_IF_ERROR(door->Open(options, authentication, clock));
  return door;
}

Status ProcessDoor::Open(const ServingOptions& options, client::HttpClient& authentication,
                         const base::Clock& clock) {
  apiserver::ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.threads = 1;
  server.max_connections = 200;
  server.max_body_bytes = 64u << 10;
  server.http2 = options.http2;
  server.max_streams = options.max_streams;
  apiserver::TlsOptions& tls = server.tls.emplace();
  tls.foreign = true;
  tls.server = options.certificate;
  if (tls.server.certificate.empty()) {
    DRAY_ASSIGN_OR_RETURN(tls.server, SelfSigned(options.name, options.address, clock.Now()));
  }
  tls.client_authority = options.client_authority;
  if (tls.client_authority.empty() && !options.skip_lookup) {
    auto authority = ClusterAuthority(authentication);
    if (authority.ok()) {
      tls.client_authority = *std::move(authority);
    } else {
      // Tokens are enough for most; a role that may read it is extension-apiserver-authentication-
      // reader.
      log_.Info(0, "Client certificates are not accepted: the client CA cannot be read",
                {{"err", authority.status()}});
    }
  }
  DRAY_ASSIGN_OR_RETURN(server_, apiserver::Server::Start(server, *this, authenticator_));
  if (options.reload) {
    reloading_ = threads::TheSystemHost().Start(
        [this, reload = options.reload, every = options.reload_every, shown = options.certificate] {
          Reload(reload, every, shown);
        });
  }
  return {};
}

void ProcessDoor::Reload(const std::function<StatusOr<apiserver::KeyPair>()>& reload,
                         std::chrono::milliseconds every, apiserver::KeyPair shown) {
  std::string told;  // what went wrong last
  for (;;) {
    end_->Sleep(every);
    if (ending_) return;
    const auto read = reload();
    const bool same = read.ok() && read->certificate == shown.certificate && read->key == shown.key;
    Status status = read.status();
    if (read.ok() && !same) status = server_->UseCertificate(*read);
    if (read.ok() && !same && status.ok()) {
      shown = *read;
      log_.Info(0, "The certificate of the port was read again");
    }
    // A file may be read between two writes, or its key before it: once is enough to be told.
    std::string trouble(base::Message(status));
    if (!trouble.empty() && trouble != told) {
      log_.Warning("The certificate of the port cannot be read again: the one before stays",
                   {{"err", status}});
    }
    told = std::move(trouble);
  }
}

bool ProcessDoor::AnybodyMay(std::string_view path) const {
  return std::ranges::any_of(always_allow_, [&](std::string_view allowed) {
    if (!allowed.ends_with('*')) return path == allowed;
    allowed.remove_suffix(1);
    return path.starts_with(allowed);
  });
}

Status ProcessDoor::Admit(const apiserver::Request& request) {
  apiserver::User user = request.user;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view shown = request.headers.Find("Authorization");
  if (user.anonymous() && !shown.empty()) {
    if (!absl::StartsWithIgnoreCase(base::ToAbsl(shown), base::ToAbsl(kBearer))) {
      return rest::Unauthorized();
    }
    const absl::string_view token =
        absl::StripAsciiWhitespace(base::ToAbsl(shown.substr(kBearer.size())));
    auto found = reviews_.WhoHas(std::string(token));
    if (!found.ok()) {
      if (found.status().code() != StatusCode::kUnauthenticated) {
        log_.Warning("A token could not be reviewed", {{"err", found.status()}});
      }
      return rest::Unauthorized();
    }
    user = *std::move(found);
  }
  Status may = reviews_.May(user, absl::AsciiStrToLower(request.method), request.path);
  if (may.ok() || may.code() == StatusCode::kPermissionDenied) return may;
  log_.Warning("An access could not be reviewed", {{"path", request.path}, {"err", may}});
  return base::Internal("the API server could not be asked for authorization");
}

apiserver::Response ProcessDoor::Answer(const apiserver::Request& request) const {
  if (request.method != "GET") return Refused(rest::MethodNotAllowed());
  if (const auto health = pages_.health->Answer(request.path, registry::Query(request.query))) {
    return TextOf(health->code, health->text, "text/plain; charset=utf-8");
  }
  if (request.path == "/metrics") {
    return TextOf(200, pages_.metrics->Text(), metrics::kTextContentType);
  }
  if (request.path == "/configz") return TextOf(200, pages_.config, "application/json");
  return TextOf(404, "404 page not found\n", "text/plain; charset=utf-8");
}

void ProcessDoor::Handle(apiserver::Request request,
                         std::shared_ptr<apiserver::Responder> responder) {
  if (AnybodyMay(request.path)) return responder->Send(Answer(request));
  // The API server is waited for elsewhere: probes are answered meanwhile.
  asking_.Post([this, request = std::move(request), responder = std::move(responder)] {
    const Status admitted = Admit(request);
    responder->Send(admitted.ok() ? Answer(request) : Refused(admitted));
  });
}

}  // namespace dray::plane::internal
