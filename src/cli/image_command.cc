// SPDX-License-Identifier: Apache-2.0
//
// `dray image`: images for nodes that have no registry.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "image/layout.h"
#include "image/store.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Manages a folder of container images for nodes without a registry (dray node --images DIR).
The folder holds OCI layouts, archives of OCI layouts, and archives written by `docker save`.

  build   make an image from one static program (--binary) or from a folder (--rootfs)
  import  add the images of an archive or OCI layout
  list    list the images of the folder

Examples:
  dray image build --name demo --binary ./demo         the program becomes the entrypoint
  dray image build --name busybox --binary /bin/busybox --link /bin/sh=busybox --cmd sh
  dray image import saved.tar                          an archive written by docker save
  dray image list

Exit code: 0 done, 1 an image in the list cannot be used, 2 it could not be done.)";

class ImageCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddChoices(*app.add_option("what", what_, "build, import or list")
                    ->type_name("build|import|list")
                    ->required(),
               {"build", "import", "list"});
    app.add_option("source", source_, "import: the archive or layout")->type_name("PATH");
    app.add_option("--images", images_,
                   "Folder of images (default: images in the data folder of dray up)")
        ->type_name("DIR");
    app.add_option("--name", name_, "Name of the image, such as demo or demo:1")->type_name("NAME");
    app.add_option("--binary", build_.binary, "build: a static program; it becomes /bin/<its name>")
        ->type_name("FILE");
    app.add_option("--rootfs", build_.rootfs, "build: a folder with the whole root filesystem")
        ->type_name("DIR");
    app.add_option("--link", links_, "build: a symbolic link, as PATH=TARGET; may be repeated")
        ->type_name("PATH=TARGET")
        ->allow_extra_args(false);
    app.add_option("--entrypoint", build_.config.entrypoint,
                   "build: entrypoint, one word each; may be repeated")
        ->type_name("WORD")
        ->allow_extra_args(false);
    app.add_option("--cmd", build_.config.cmd,
                   "build: default arguments, one word each; may be repeated")
        ->type_name("WORD")
        ->allow_extra_args(false);
    app.add_option("--env", build_.config.env,
                   "build: an environment variable, as NAME=VALUE; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option("--user", build_.config.user, "build: user to run as")
        ->type_name("USER[:GROUP]");
    AddDataFolder(app, data_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (images_.empty()) images_ = DataFolder(io.env, data_) + "/images";
    if (what_ != "import" && !source_.empty()) {
      return UsageError(io, fmt::format("unexpected argument \"{}\"", source_),
                        "'dray image --help' shows its flags");
    }
    if (what_ == "build") return Build(io);
    return what_ == "import" ? Import(io) : List(io);
  }

 private:
  int Build(Io& io) {
    if (name_.empty()) return UsageError(io, "an image needs a name", "--name demo");
    build_.images = images_;
    build_.name = name_;
    for (const std::string& link : links_) {
      const std::size_t equals = link.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == link.size()) {
        return UsageError(io, fmt::format("--link \"{}\" must have the form PATH=TARGET", link),
                          "--link /bin/sh=busybox");
      }
      build_.links.emplace_back(link.substr(0, equals), link.substr(equals + 1));
    }
    const auto written = image::BuildImage(build_);
    if (!written.ok()) return UsageError(io, base::Message(written.status()));
    Tell(io, *written);
    return kExitOk;
  }

  int Import(Io& io) {
    if (source_.empty()) {
      return UsageError(io, "import needs an archive or a layout", "dray image import saved.tar");
    }
    const auto written = image::ImportImages(source_, images_, name_);
    if (!written.ok()) return UsageError(io, base::Message(written.status()));
    for (const image::WrittenImage& one : *written) Tell(io, one);
    return kExitOk;
  }

  int List(Io& io) {
    // Archives are looked into in a folder of their own, which goes away.
    const auto listed = image::ListImages(images_);
    if (!listed.ok()) return UsageError(io, base::Message(listed.status()));
    int code = kExitOk;
    for (const image::ListedImage& one : *listed) {
      if (one.fault.empty()) {
        io.out << one.name << "  " << one.id.substr(0, 19) << "  " << one.path << '\n';
      } else {
        io.err << one.path << " cannot be used: " << one.fault << '\n';
        code = 1;
      }
    }
    if (listed->empty()) io.err << "no images found in " << images_ << '\n';
    return code;
  }

  static void Tell(Io& io, const image::WrittenImage& written) {
    io.out << written.name << "  " << written.id.substr(0, 19) << "  " << written.folder << '\n';
  }

  std::string what_;
  std::string source_;
  std::string images_;
  std::string name_;
  std::string data_;
  std::vector<std::string> links_;
  image::BuildOptions build_;
};

}  // namespace

std::unique_ptr<Command> MakeImageCommand() { return std::make_unique<ImageCommand>(); }

}  // namespace dray::cli::internal
