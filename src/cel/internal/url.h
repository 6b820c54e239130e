// SPDX-License-Identifier: Apache-2.0
//
// URLs as Go's net/url reads them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dray::cel {

struct ParsedUrl {
  std::string scheme;
  std::string host;  // with port
  std::string user_info;
  bool has_user_info = false;
  std::string escaped_path;
  std::string raw_query;
  std::string fragment;
  bool force_query = false;
  std::string error;  // `parse "x": invalid URI for request`

  std::string ToString() const;
};

// url.ParseRequestURI; with `fragments`, url.Parse.
ParsedUrl ParseUrl(std::string_view text, bool fragments);

std::string_view UrlHostname(std::string_view host);
std::string_view UrlPort(std::string_view host);
// url.URL.Query: what cannot be decoded is left out.
std::vector<std::pair<std::string, std::string>> UrlQuery(std::string_view raw_query);

}  // namespace dray::cel
