// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, as digests of images are written: sha256:<hex>.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::image {

// Of bytes that come in pieces. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void Add(std::string_view bytes);
  // "sha256:<hex>" of all that was added. Once.
  std::string Digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string DigestOf(std::string_view bytes);
StatusOr<std::string> DigestOfFile(const std::string& path);
// The part after "sha256:".
std::string_view HexOf(std::string_view digest);

}  // namespace dray::image
