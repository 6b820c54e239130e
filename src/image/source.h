// SPDX-License-Identifier: Apache-2.0
//
// Where images come from: a folder in OCI's layout, or an archive of one, or what `docker save`
// writes. Everything small is checked here (digests, sizes, forms); layers are when they are unpacked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "image/documents.h"
#include "image/limits.h"
#include "image/reference.h"
#include "image/unpack.h"

namespace dray::image {

struct FoundImage {
  std::vector<Reference> names;
  std::string id;        // digest of the configuration
  std::string digest;    // of the manifest; empty if there is none (docker's archives)
  std::string manifest;  // JSON, as it is written
  std::string config;    // the same
  ImageDocument document;
  std::vector<LayerFile> layers;  // lowest first
};

// Holds what it had to unpack until it is destroyed.
class ImageSource {
 public:
  // `scratch` is a folder for what an archive holds.
  static StatusOr<std::unique_ptr<ImageSource>> Open(const std::string& path,
                                                     const std::string& scratch,
                                                     const Limits& limits = {});
  ~ImageSource();
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;

  // Images for this machine (linux and its architecture); those for others are passed over.
  const std::vector<FoundImage>& images() const { return images_; }

 private:
  ImageSource() = default;
  std::string unpacked_;  // empty: nothing to remove
  std::vector<FoundImage> images_;
};

// amd64, arm64: as images name the architecture of this machine.
std::string Architecture();

}  // namespace dray::image
