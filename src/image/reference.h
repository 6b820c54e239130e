// SPDX-License-Identifier: Apache-2.0
//
// Names of images: busybox is docker.io/library/busybox:latest. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::image {

// A reference in full. Invariant: domain and path are not empty; tag or digest is there.
struct Reference {
  std::string domain;  // docker.io
  std::string path;    // library/busybox
  std::string tag;     // latest; empty if only the digest was given
  std::string digest;  // sha256:...; empty if none was given

  // With tag and digest, as far as they are there.
  std::string ToString() const;
  // Without both.
  std::string Name() const { return domain + "/" + path; }
  friend bool operator==(const Reference&, const Reference&) = default;
};

// As Docker and containerd read what people write; says what is wrong.
StatusOr<Reference> ParseReference(std::string_view text);

// sha256: and 64 hexadecimal digits in lower case.
bool IsDigest(std::string_view text);

}  // namespace dray::image
