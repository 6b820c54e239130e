// SPDX-License-Identifier: Apache-2.0
#include "console/assets.h"

#include <algorithm>
#include <memory>
#include <string>

#include "console/door.h"

namespace dray::console {
namespace {

const Asset* Find(std::string_view name) {
  const auto assets = Assets();
  const auto it = std::ranges::find(assets, name, &Asset::name);
  return it == assets.end() ? nullptr : &*it;
}

// A file that is not there must not look like a page.
bool LooksLikeFile(std::string_view name) {
  for (const std::string_view end :
       {".js", ".css", ".svg", ".png", ".ico", ".map", ".json", ".txt", ".woff2", ".html"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

apiserver::Response ServePage(const apiserver::Request& request) {
  apiserver::Response response;
  if (request.path == "/" || request.path == kRoot) {
    response.status = 302;
    response.headers.Add("Location", "/console/");
    Door::AddHeaders(response, false);
    return response;
  }
  const std::string_view name = std::string_view(request.path).substr(kRoot.size() + 1);
  const Asset* asset = Find(name);
  // Names of claims may end like files; only what is at the top is one.
  if (asset == nullptr && name.find('/') == std::string_view::npos && LooksLikeFile(name)) {
    response = Failure(404, "NotFound", "the page has no such file");
    Door::AddHeaders(response, false);
    return response;
  }
  if (asset == nullptr) asset = Find("index.html");
  if (asset == nullptr) {
    response.status = 200;
    response.headers.Add("Content-Type", "text/plain; charset=utf-8");
    response.body = std::make_shared<const std::string>(
        "The console's page was not built into this binary: 'make console' builds it.\n");
    Door::AddHeaders(response, false);
    return response;
  }
  response.headers.Add("ETag", std::string(asset->etag));
  if (request.headers.Find("If-None-Match") == asset->etag) {
    response.status = 304;
  } else {
    response.headers.Add("Content-Type", std::string(asset->type));
    response.body = std::make_shared<const std::string>(asset->bytes);
  }
  Door::AddHeaders(response, false);
  return response;
}

}  // namespace dray::console
