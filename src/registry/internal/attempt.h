// SPDX-License-Identifier: Apache-2.0
//
// One try of a write: what is to be committed, and what is answered then.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "registry/registry.h"
#include "store/store.h"

namespace dray::registry {

// Without operations there is nothing to write, and the result is the answer.
struct Registry::Attempt {
  api::Object result;
  store::Transaction transaction = {};
  std::optional<std::size_t> index;  // of the operation whose entry is the answer; else `result`
  bool puts = false;                 // that operation stores the result
  bool deletes = false;

  // Its text is made by Seal: who only asks what would happen does not need one.
  void PutResult(std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    puts = true;
    transaction.operations.push_back({.kind = store::Operation::Kind::kPut,
                                      .key = KeyOf(result),
                                      .value = nullptr,
                                      .expected = expected,
                                      .attach = nullptr});
  }
  void Delete(api::Object last, std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    deletes = true;
    Objects::Delete(transaction, std::move(last), expected);
  }

  // What is to be committed. A result that is stored is part of it, and nobody else's: it gets its
  // revision without being copied.
  store::Transaction Seal() && {
    if (puts) Objects::Fill(transaction.operations[*index], std::move(result));
    return std::move(transaction);
  }
};

}  // namespace dray::registry
