// SPDX-License-Identifier: Apache-2.0
//
// An authority of our own and the certificates that it signs: what a server shows, and what clients
// prove who they are with. As in Kubernetes, a client's common name is the user and each of its
// organizations is a group. Keys are on the curve P-256.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace dray::apiserver {

// Both PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct CertificateSpec {
  // kClientAndServer: a node, which asks and is asked. kAuthority: one below the authority that signs
  // it, and able to sign like it.
  enum class Use : unsigned char { kServer, kClient, kClientAndServer, kAuthority };
  Use use = Use::kClient;
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> hosts;  // of a server: names and IP addresses
  std::chrono::seconds valid = std::chrono::hours(24 * 365);
};

// What a certificate says, whether or not anyone should believe it.
struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> hosts;  // sorted
  base::Time not_after;
  std::string fingerprint = {};  // SHA-256 of the whole, in hexadecimal
};

// Valid from a little before `now`, so that a client whose clock is slow believes it too.
StatusOr<KeyPair> MakeAuthority(std::string_view common_name, base::Time now,
                                std::chrono::seconds valid);
StatusOr<KeyPair> MakeCertificate(const KeyPair& authority, const CertificateSpec& spec,
                                  base::Time now);

// What somebody asks to be certified of. Its signature shows that they have the key.
struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses;  // as text
  bool other_names = false;            // names of other kinds: mail addresses, URIs, places
};
// kInvalidArgument for what is no PEM of a request, or not signed with its own key.
StatusOr<CertificateRequest> ReadRequest(std::string_view pem);
// A certificate of the request's key with the names that `spec` says, PEM.
StatusOr<std::string> SignRequest(const KeyPair& authority, std::string_view request,
                                  const CertificateSpec& spec, base::Time now);

StatusOr<CertificateInfo> ReadCertificate(std::string_view pem);
// OK if `certificate` was signed by `authority` and its key fits.
Status CheckKeyPair(const KeyPair& pair, std::string_view authority_certificate);
// OK if it can sign others: whoever has signed it, its key fits, and it is meant to.
Status CheckAuthority(const KeyPair& authority);

}  // namespace dray::apiserver
