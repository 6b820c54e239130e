// SPDX-License-Identifier: Apache-2.0
#include "client/internal/credentials.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "client/internal/text_file.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

// Tokens in files are replaced well before they end.
constexpr std::chrono::seconds kTokenKept{60};
// What a program said is not shown in the last seconds of its time: a request takes some.
constexpr std::chrono::seconds kBeforeItEnds{10};

std::string Bearer(std::string_view token) {
  return token.empty() ? std::string() : fmt::format("Authorization: Bearer {}\r\n", token);
}

}  // namespace

StatusOr<std::unique_ptr<Credentials>> Credentials::Create(const ServerAccess& access) {
  for (const std::string* text : {&access.token, &access.username, &access.password}) {
    if (IsPrintable(*text)) continue;
    return base::InvalidArgument("token: must not have control characters in it");
  }
  std::unique_ptr<Credentials> made(new Credentials(access));
  const base::MutexLock lock(made->mutex_);
  made->header_ = Bearer(access.token);
  if (access.token.empty() && !access.username.empty()) {
    made->header_ =
        fmt::format("Authorization: Basic {}\r\n",
                    absl::Base64Escape(fmt::format("{}:{}", access.username, access.password)));
  }
  if (access.url.starts_with("https://")) {
    DRAY_ASSIGN_OR_RETURN(SslContextPtr context, MakeSslContext(access));
    made->tls_ = std::shared_ptr<SSL_CTX>(context.release(), SslContextFree());
  }
  return made;
}

// Whoever is told who he is by the file need not ask.
bool Credentials::ByProgram() const {
  return !access_.exec.command.empty() && access_.token.empty() && access_.token_file.empty() &&
         access_.username.empty();
}

StatusOr<Credentials::Shown> Credentials::Show() {
  const base::MutexLock lock(mutex_);
  if (!access_.token_file.empty()) DRAY_RETURN_IF_ERROR(ReadToken());
  if (ByProgram()) DRAY_RETURN_IF_ERROR(AskProgram());
  return Shown{header_, tls_, version_};
}

Status Credentials::ReadToken() {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (read_at_ && now - *read_at_ < kTokenKept) return {};
  DRAY_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(access_.token_file));
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (begin == std::string::npos) {
    return base::InvalidArgument(fmt::format("{}: must hold a token", access_.token_file));
  }
  const std::string token = text.substr(begin, end - begin + 1);
  if (!IsPrintable(token)) {
    return base::InvalidArgument(
        fmt::format("{}: must hold one token, on one line", access_.token_file));
  }
  header_ = Bearer(token);
  read_at_ = now;
  return {};
}

Status Credentials::AskProgram() {
  const bool holds = told_ && (!told_->expires || clock_.Now() + kBeforeItEnds < *told_->expires);
  if (holds) return {};
  DRAY_ASSIGN_OR_RETURN(ExecCredential credential, AskPlugin(access_.exec));
  const bool other =
      !told_ || told_->certificate != credential.certificate || told_->key != credential.key;
  if (tls_ != nullptr && other && !(credential.certificate.empty() && !told_)) {
    ServerAccess access = access_;
    if (!credential.certificate.empty()) {
      access.certificate = credential.certificate;
      access.key = credential.key;
    }
    DRAY_ASSIGN_OR_RETURN(SslContextPtr context, MakeSslContext(access));
    tls_ = std::shared_ptr<SSL_CTX>(context.release(), SslContextFree());
    ++version_;
  }
  header_ = Bearer(credential.token);
  told_ = std::move(credential);
  return {};
}

bool Credentials::Refused(const Shown& shown) {
  const base::MutexLock lock(mutex_);
  // Somebody else has asked again meanwhile.
  if (shown.header != header_ || shown.version != version_) return true;
  if (ByProgram() && told_) {
    told_.reset();
    return true;
  }
  if (!access_.token_file.empty() && read_at_) {
    read_at_.reset();
    return true;
  }
  return false;
}

}  // namespace dray::client::internal
