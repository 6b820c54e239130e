// SPDX-License-Identifier: Apache-2.0
//
// Where an API server is and who asks: kubeconfig files as kubectl reads them, or the service
// account of a pod.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dray::client {

// Somebody else in whose name is asked; nobody when `user` is empty. Single lines of text.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>, std::less<>> extra;
};

// A program that is asked who we are (client.authentication.k8s.io); none when `command` is empty.
struct ExecPlugin {
  std::string command;  // a path, or a name that is looked for in $PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside those of this process
  std::string api_version;
  std::string install_hint;  // for people, when there is no such program
  enum class Interactive : unsigned char { kNever, kIfAvailable, kAlways };
  Interactive interactive = Interactive::kIfAvailable;
  // What it is told of the cluster: a JSON object; empty: it does not ask for that.
  std::string cluster;
};

// What it takes to talk to a server. Certificates and keys are PEM texts: files have been read.
struct ServerAccess {
  std::string url;              // https://host:6443, with a path if the server is behind one
  std::string authority;        // who signs the server; empty: whom this machine trusts
  bool insecure = false;        // whoever answers is believed
  std::string tls_server_name;  // instead of the host's
  std::string certificate;      // of the client, with `key`
  std::string key;
  std::string token;
  std::string token_file;  // read again from time to time: such tokens are replaced
  std::string username;    // with `password`, for those who stand before a server
  std::string password;
  ExecPlugin exec;
  // By way of whom: http://, https:// or socks5://, perhaps with user:password@; empty: directly.
  std::string proxy;
  Impersonation as;
  std::string namespace_;  // the context's; empty: it names none
};

struct AccessOptions {
  std::string kubeconfig;  // --kubeconfig: this file and no other
  std::string context;     // --context; empty: the current one
  // KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are looked at; and
  // HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in capitals or not.
  std::map<std::string, std::string, std::less<>> variables;
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// The file that is named; else the files of $KUBECONFIG, merged, the first to say something
// counts; else ~/.kube/config; else the service account, inside of a cluster. Relative paths in a
// file are relative to it.
//
// kNotFound: there is nothing of all that. kInvalidArgument names file, field and value.
// kUnimplemented: a way to log in that Kubernetes has given up (auth-provider).
StatusOr<ServerAccess> LoadAccess(const AccessOptions& options);

// The same of the text of one kubeconfig, as if it were in `file`; an empty context is the current
// one.
StatusOr<ServerAccess> ReadAccess(std::string_view text, const std::string& file,
                                  const std::string& context);

}  // namespace dray::client
