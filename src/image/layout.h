// SPDX-License-Identifier: Apache-2.0
//
// Writing images: a folder in OCI's layout each, below a folder of images that an agent is given
// (--images). From a folder with a root file system, from one static program, or from somebody's
// layout or archive.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "image/documents.h"
#include "image/limits.h"

namespace dray::image {

struct BuildOptions {
  std::string images;  // the folder of images
  std::string name;    // as people write it: demo, demo:1
  // One of the two.
  std::string rootfs;  // a folder: everything that is in it
  std::string
      binary;  // a static program: becomes /bin/<its name>, and the entrypoint if none is said
  // Symbolic links beside what was taken: path in the image, target.
  std::vector<std::pair<std::string, std::string>> links;
  ImageConfig config;
};

struct WrittenImage {
  std::string name;    // in full
  std::string id;      // digest of the configuration
  std::string digest;  // of the manifest
  std::string folder;  // the layout
};

// The same input gives the same digests. An image of that name is replaced, and nobody sees a part.
StatusOr<WrittenImage> BuildImage(const BuildOptions& options);

// All images of a layout or an archive; `name`, if it is not empty, instead of their own (of one image
// only). Every layer is unpacked once to see that it can be.
StatusOr<std::vector<WrittenImage>> ImportImages(const std::string& source,
                                                 const std::string& images,
                                                 const std::string& name = "",
                                                 const Limits& limits = {});

}  // namespace dray::image
