// SPDX-License-Identifier: Apache-2.0
#include "kubectl.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apiserver/credentials.h"
#include "base/check.h"
#include "fmt/format.h"
#include "store/any_store_for_test.h"

namespace dray::e2e {
namespace {

Output Run(const std::string& command) {
  Output output;
  FILE* pipe = popen(command.c_str(), "r");
  DRAY_CHECK(pipe != nullptr, "popen");
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.text.append(buffer.data(), n);
  }
  output.code = WEXITSTATUS(pclose(pipe));
  return output;
}

}  // namespace

std::string Cluster::WhyNot() {
  return Run("kubectl version --client 2>&1").code == 0 ? "" : "kubectl is not installed";
}

Cluster::Cluster() : store_(store::MakeAnyStore()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "dray-kubectl-XXXXXX").string();
  DRAY_CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  folder_ = pattern;
  registry::RegistryOptions options;
  options.rules.expressions = &expressions_;
  options.authorizer = &roles_;
  options.policies = &policies_;
  registry_ = std::make_unique<registry::Registry>(*store_, clock_, random_, std::move(options));
  following_policies_ = policies_.Follow(registry_->objects());
  handler_ = std::make_unique<registry::RestHandler>(*registry_, roles_);
  authenticator_ = *apiserver::Authenticator::Create("admin-token,admin,1,\"system:masters\"\n");
  const apiserver::CredentialsOptions credentials{
      .folder = folder_,
      .clients = {{"admin", "admin", {"system:masters"}}, {"viewer", "eve", {"dray:viewers"}}}};
  const auto made = apiserver::EnsureCredentials(credentials, clock_.Now());
  DRAY_CHECK(made.ok(), made.status().ToString());
  apiserver::ServerOptions serving;
  serving.tls = apiserver::TlsOptions{made->server, made->authority};
  auto server = apiserver::Server::Start(serving, *handler_, authenticator_);
  DRAY_CHECK(server.ok(), server.status().ToString());
  server_ = *std::move(server);
  DRAY_CHECK(apiserver::WriteKubeconfigs(credentials, server_->url()).ok(), "kubeconfigs");
  Kubectl("create -f -", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}})");
}

Cluster::~Cluster() {
  server_ = nullptr;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Output Cluster::Kubectl(std::string_view arguments, std::string_view input, std::string_view user) {
  const std::string file = folder_ + "/input";
  std::ofstream(file) << input;
  return Run(
      fmt::format("HOME={0} timeout 60 kubectl --cache-dir={0}/cache "
                  "--kubeconfig={0}/{1}.kubeconfig {2} < {3} 2>&1",
                  folder_, user, arguments, file));
}

void Cluster::Overwrite(std::string_view key, std::string_view bytes) {
  store::Transaction transaction;
  transaction.Put(std::string(key), std::string(bytes));
  DRAY_CHECK(store_->CommitAndWait(std::move(transaction)).ok(), "the store must take it");
}

}  // namespace dray::e2e
