// SPDX-License-Identifier: Apache-2.0
//
// The files that let a server and its clients trust each other, made on first start:
//
//   DIR/pki/ca.crt, ca.key               the authority
//   DIR/pki/apiserver.crt, .key          what the server shows
//   DIR/pki/NAME.crt, .key               one pair per client
//   DIR/NAME.kubeconfig                  what kubectl needs to be that client
//
// Files have mode 0600, folders 0700; each file is there whole or not at all. What is there is
// kept, but a certificate that soon ends, does not fit or lacks a host is made anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/certificates.h"
#include "base/status.h"
#include "base/time.h"

namespace dray::apiserver {

// Who the API server is when it asks a node; as in Kubernetes.
inline constexpr std::string_view kNodeClientUser = "kube-apiserver-kubelet-client";

struct ClientIdentity {
  std::string name;  // of the files: admin
  std::string user;  // kubernetes-admin
  std::vector<std::string> groups;
  std::string host = {};  // it is asked, too, under this name; empty: it only asks
};

struct CredentialsOptions {
  std::string folder;  // made if it is not there
  std::vector<ClientIdentity> clients;
  std::vector<std::string> hosts;  // beside localhost, 127.0.0.1, ::1 and this machine's name
};

struct Credentials {
  std::string authority;  // the certificate, PEM
  KeyPair signer;         // the authority with its key
  KeyPair server;
  KeyPair to_nodes;  // what nodes are shown when they are asked
};

// Idempotent. Errors name the file.
StatusOr<Credentials> EnsureCredentials(const CredentialsOptions& options, base::Time now);

// Writes DIR/NAME.kubeconfig of every client for a server at `url`; the paths, in order.
StatusOr<std::vector<std::string>> WriteKubeconfigs(const CredentialsOptions& options,
                                                    const std::string& url);

// Makes DIR/NAME.kubeconfig of one more client, with a certificate of the folder's authority, for
// the server of the other kubeconfigs; the path. Idempotent. kFailedPrecondition: no server has
// been started with that folder.
StatusOr<std::string> IssueKubeconfig(const std::string& folder, const ClientIdentity& client,
                                      base::Time now);

}  // namespace dray::apiserver
