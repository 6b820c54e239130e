// SPDX-License-Identifier: Apache-2.0
//
// How etcd is reached, beside its address: certificates and a user, by kube-apiserver's names.
#pragma once

#include <string>

#include "cli/environment.h"
#include "store/etcd/etcd_store.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

struct EtcdFlags {
  std::string authorities;  // files
  std::string certificate;
  std::string key;
  std::string user;
  std::string password_file;
  std::string prefix;
};
void AddEtcdFlags(CLI::App& app, EtcdFlags& flags);
bool AnyEtcdFlag(const EtcdFlags& flags);

// Puts them into options that have an address already. False: it has been told what is wrong.
bool ReadEtcdFlags(Io& io, const EtcdFlags& flags, store::EtcdOptions& options);

}  // namespace dray::cli::internal
