// SPDX-License-Identifier: Apache-2.0
//
// One try of a write: what is to be committed, and what is answered then.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "base/valid_utf8.h"
#include "registry/registry.h"
#include "rest/api_error.h"
#include "store/store.h"

namespace dray::registry {

// Without operations there is nothing to write, and the result is the answer.
struct Registry::Attempt {
  api::Object result;
  store::Transaction transaction = {};
  std::optional<std::size_t> index;  // of the operation whose entry is the answer; else `result`
  bool deletes = false;

  void Put(api::Object object, std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    Objects::Put(transaction, std::move(object), expected);
  }
  void Delete(api::Object last, std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    deletes = true;
    Objects::Delete(transaction, std::move(last), expected);
  }
  // Nothing is written that could not be read again. Every door sees to that itself; whoever forgets
  // it is stopped here, before there is an object that nobody can do anything about.
  Status CheckText() const {
    for (const store::Operation& operation : transaction.operations) {
      if (operation.value == nullptr || base::IsUtf8(*operation.value)) continue;
      return rest::BadRequest("the object has text in it that is not UTF-8");
    }
    return {};
  }
};

}  // namespace dray::registry
