// SPDX-License-Identifier: Apache-2.0
//
// Whose functions an environment has. Kubernetes' libraries are older than the language's newest
// and its own in places; an expression must give there what it gives in Kubernetes.
#pragma once

#include <cstdint>

namespace dray::cel {

enum class Dialect : std::uint8_t {
  kKubernetes,
  // What the language's conformance tests expect: string.format of version 4, lastIndexOf refuses
  // an offset past the end, ip() takes IPv4 in IPv6 when written in hex, selecting a field of
  // something without fields is an error also behind `?`.
  kLanguage,
};

}  // namespace dray::cel
