// SPDX-License-Identifier: Apache-2.0
//
// A container's log as a body.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/http.h"
#include "container/log_reader.h"

namespace dray::streaming::internal {

// Asks whether the container still runs; the answer may come later, from any thread.
using AskRunning = std::function<void(std::function<void(bool)>)>;

// `still_running` null: what is there now is all. Otherwise it goes on until the container has ended
// and everything was read.
std::unique_ptr<apiserver::StreamSource> MakeLogStream(const std::string& path,
                                                       const container::LogOptions& options,
                                                       AskRunning still_running);

}  // namespace dray::streaming::internal
