// SPDX-License-Identifier: Apache-2.0
//
// A stream that is another one and does something besides: it watches, counts, remembers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/http.h"

namespace dray::apiserver {

// Hands on everything, both ways; who derives from it overrides what it looks at. What a wrapper
// forgot to hand on would be lost without a word: what a client says, for one.
class ForwardingStream : public StreamSource {
 public:
  explicit ForwardingStream(std::unique_ptr<StreamSource> inner) : inner_(std::move(inner)) {}

  void Start(std::function<void()> wake) override { inner_->Start(std::move(wake)); }
  State Pull(std::vector<Bytes>& out) override { return inner_->Pull(out); }
  bool Finite() const override { return inner_->Finite(); }
  std::size_t Receive(std::string_view bytes) override { return inner_->Receive(bytes); }

 private:
  const std::unique_ptr<StreamSource> inner_;
};

}  // namespace dray::apiserver
