// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/cluster_identity.h"

#include <openssl/sha.h>

#include <string_view>

#include "absl/strings/escaping.h"
#include "fmt/format.h"

namespace dray::plane::internal {
namespace {

// Beside what the API shows: no client can read or write it.
constexpr std::string_view kKey = "/dray/identity";
constexpr int kTries = 5;

std::string DigestOf(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

std::string AuthorityLine(const ClusterIdentity& identity) {
  return fmt::format("authority SHA256={}\n", DigestOf(identity.authority));
}
std::string TokensLine(const ClusterIdentity& identity) {
  return fmt::format("token-key SHA256={}\n", DigestOf(identity.tokens));
}

Status Compare(std::string_view stored, const ClusterIdentity& ours) {
  const bool authority = stored.find(AuthorityLine(ours)) != stored.npos;
  const bool tokens = stored.find(TokensLine(ours)) != stored.npos;
  if (authority && tokens) return {};
  return base::FailedPrecondition(fmt::format(
      "the store belongs to servers with another {}: copy {} of one of them into the data folder "
      "of this one. To begin anew, stop all servers and delete the key {} below the store's prefix",
      !authority ? "authority" : "key for tokens",
      !authority ? "pki/ca.crt, pki/ca.key and pki/sa.key" : "pki/sa.key", kKey));
}

}  // namespace

Status CheckIdentity(store::Store& store, const ClusterIdentity& ours) {
  if (store.early() != nullptr) return {};
  const std::string key(kKey);
  for (int i = 0; i < kTries; ++i) {
    if (const store::EntryPtr entry = store.Find(key)) return Compare(*entry->value, ours);
    store::Transaction transaction;
    transaction.Put(key, AuthorityLine(ours) + TokensLine(ours), store::Revision{});
    DRAY_ASSIGN_OR_RETURN(const store::Outcome outcome,
                          store.CommitAndWait(std::move(transaction)));
    if (!outcome.conflict) return {};
  }
  return base::Unavailable("the store does not say which servers it belongs to");
}

}  // namespace dray::plane::internal
