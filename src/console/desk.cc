// SPDX-License-Identifier: Apache-2.0
#include "console/desk.h"

#include "rest/api_error.h"

namespace dray::console {

Answer Refusal(int code, std::string_view reason, std::string_view message) {
  rest::ApiError error;
  error.code = code;
  error.reason = reason;
  error.message = message;
  return {.code = code, .json = error.ToJson()};
}

}  // namespace dray::console
