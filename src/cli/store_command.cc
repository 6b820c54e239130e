// SPDX-License-Identifier: Apache-2.0
//
// `dray store copy`: from a file to etcd, and back.
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/etcd_flags.h"
#include "cli/internal/options.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "plane/etcd_trouble.h"
#include "store/etcd/copy.h"
#include "store/etcd/etcd_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Copies all objects from one store to an empty one, and compares them afterwards. Stop every
server that uses either store first, such as 'dray up'. Keys, certificates and kubeconfigs
are files in the data folder and are not copied.

Revisions in etcd continue after those of the file. The watch history is not copied: clients
notice this and list again by themselves.

Examples:
  dray store copy --from sqlite:/var/lib/dray/dray.db --to etcd://127.0.0.1:2379
  dray store copy --from etcd://a:2379,b:2379,c:2379/dray --to sqlite:dray.db

Exit code: 0 copied and verified, 1 the copy differs or is incomplete, 2 it could not begin.)";

constexpr std::string_view kSqlite = "sqlite:";

class StoreCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddChoices(*app.add_option("what", what_, "copy")->type_name("copy")->required(), {"copy"});
    app.add_option("--from", from_, "sqlite:FILE or etcd://HOST:PORT,…/PREFIX")
        ->type_name("STORE")
        ->required();
    app.add_option("--to", to_, "The store to copy to, which must be empty; written likewise")
        ->type_name("STORE")
        ->required();
    AddEtcdFlags(app, etcd_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const bool from_file = from_.starts_with(kSqlite);
    const bool to_file = to_.starts_with(kSqlite);
    const std::string file(from_file ? from_.substr(kSqlite.size())
                           : to_file ? to_.substr(kSqlite.size())
                                     : "");
    if (from_file == to_file) {
      return UsageError(io, "one of --from and --to must be sqlite:FILE and the other etcd://…",
                        "'dray store copy --help' shows examples");
    }
    auto address = store::ParseEtcdAddress(from_file ? to_ : from_);
    if (!address.ok()) {
      return UsageError(io, fmt::format("{}: {}", from_file ? "--to" : "--from",
                                        base::Message(address.status())));
    }
    store::EtcdOptions options{.address = *std::move(address)};
    options.alone = true;
    options.compaction_interval = {};
    options.warn = [&io](const std::string& text) { io.err << "warning: " << text << '\n'; };
    if (!ReadEtcdFlags(io, etcd_, options)) return kExitUsage;
    return from_file ? ToEtcd(io, file, options) : ToFile(io, options, file);
  }

 private:
  static int ToEtcd(Io& io, const std::string& file, const store::EtcdOptions& options) {
    if (!std::filesystem::exists(file)) {
      return UsageError(io, fmt::format("--from: file {} does not exist", file),
                        "'dray up' stores its objects in dray.db in its data folder");
    }
    const auto from = store::OpenSqliteStore({.path = file});
    if (!from.ok()) return UsageError(io, base::Message(from.status()));
    const auto copied = store::CopyToEtcd(
        **from, options, [&io](const std::string& text) { io.err << text << std::endl; });
    if (!copied.ok()) return Failed(io, plane::EtcdTrouble(copied.status(), options));
    io.out << fmt::format("{} objects, {} bytes copied and compared; etcd is at revision {}\n",
                          copied->keys, copied->bytes, copied->revision.value);
    return kExitOk;
  }

  static int ToFile(Io& io, const store::EtcdOptions& options, const std::string& file) {
    const auto from = store::OpenEtcdStore(options);
    if (!from.ok()) {
      return UsageError(io, base::Message(plane::EtcdTrouble(from.status(), options)));
    }
    Status status = store::WriteBackup(**from, file);
    if (!status.ok()) return Failed(io, status);
    const auto copy = store::OpenSqliteStore({.path = file});
    status = copy.ok() ? store::CompareStores(**from, **copy) : copy.status();
    if (!status.ok()) return Failed(io, status);
    const auto all = (*copy)->Range("");
    io.out << fmt::format("{} objects copied and compared; {} is at revision {}\n",
                          all.ok() ? all->entries.size() : 0, file, (*copy)->revision().value);
    return kExitOk;
  }

  static int Failed(Io& io, const Status& status) {
    if (status.code() == StatusCode::kFailedPrecondition) {
      return UsageError(io, base::Message(status));
    }
    io.err << fmt::format("error: {}\n", base::Message(status));
    return kExitFindings;
  }

  std::string what_;
  std::string from_;
  std::string to_;
  EtcdFlags etcd_;
};

}  // namespace

std::unique_ptr<Command> MakeStoreCommand() { return std::make_unique<StoreCommand>(); }

}  // namespace dray::cli::internal
