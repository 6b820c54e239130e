// SPDX-License-Identifier: Apache-2.0
//
// URLs.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/integer.h"
#include "base/percent.h"
#include "cel/functions.h"
#include "cel/internal/url.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Percent-decoding; the reason when it is wrong.
std::optional<std::string> Unescape(std::string_view text, bool plus, std::string* error) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || base::HexDigit(text[i + 1]) < 0 ||
          base::HexDigit(text[i + 2]) < 0) {
        *error = fmt::format("invalid URL escape {}", QuoteGo(text.substr(i, 3)));
        return std::nullopt;
      }
      out += static_cast<char>(base::HexDigit(text[i + 1]) * 16 + base::HexDigit(text[i + 2]));
      i += 2;
    } else if (text[i] == '+' && plus) {
      out += ' ';
    } else {
      out += text[i];
    }
  }
  return out;
}

constexpr std::string_view kPlainInPath = "-_.~$&+/:=@";

bool ShouldEscapeInPath(char c) {
  if (IsLetter(c) || IsDigit(c)) return false;
  return kPlainInPath.find(c) == kPlainInPath.npos;
}

// Whether a path may stay as it was written.
bool IsValidEncoding(std::string_view text) {
  for (const char c : text) {
    if (std::string_view("!$&'()*+,;=:@[]%").find(c) != std::string_view::npos) continue;
    if (ShouldEscapeInPath(c)) return false;
  }
  return true;
}

std::string EscapePath(std::string_view path) { return base::PercentEncoded(path, kPlainInPath); }

bool IsValidPort(std::string_view port) {
  if (port.empty()) return true;
  return port[0] == ':' && std::ranges::all_of(port.substr(1), IsDigit);
}

// The scheme before ':', or empty; an error when the text starts with a colon.
std::string_view SchemeOf(std::string_view text, std::string* error) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (IsLetter(c)) continue;
    if (IsDigit(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) return {};
      continue;
    }
    if (c == ':') {
      if (i == 0) {
        *error = "missing protocol scheme";
        return {};
      }
      return text.substr(0, i);
    }
    return {};
  }
  return {};
}

std::string ParseHost(std::string_view host, std::string* error) {
  if (host.starts_with('[')) {
    const std::size_t end = host.rfind(']');
    if (end == std::string_view::npos) {
      *error = "missing ']' in host";
      return {};
    }
    const std::string_view port = host.substr(end + 1);
    if (!IsValidPort(port)) {
      *error = fmt::format("invalid port {} after host", QuoteGo(port));
      return {};
    }
    return std::string(host);
  }
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    // The first colon counts when there are several, as in recent releases of Go.
    const std::size_t last = host.rfind(':');
    const std::string_view port = host.substr(colon == last ? last : colon);
    if (!IsValidPort(port)) {
      *error = fmt::format("invalid port {} after host", QuoteGo(port));
      return {};
    }
  }
  for (const char c : host) {
    if (c == ' ' || c == '<' || c == '>' || c == '"' || c == '\\' || c == '^' || c == '`' ||
        c == '{' || c == '|' || c == '}') {
      *error = fmt::format("invalid character {} in host name", QuoteGo(std::string_view(&c, 1)));
      return {};
    }
  }
  const auto decoded = Unescape(host, false, error);
  return decoded.value_or(std::string());
}

bool IsValidUserInfo(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return IsLetter(c) || IsDigit(c) ||
           std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
  });
}

}  // namespace

ParsedUrl ParseUrl(std::string_view text, bool fragments) {
  ParsedUrl out;
  const auto fail = [&](std::string_view reason) {
    out.error = fmt::format("parse {}: {}", QuoteGo(text), reason);
    return out;
  };
  std::string_view rest = text;
  std::string reason;
  if (fragments) {
    if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos) {
      out.fragment = rest.substr(hash + 1);
      rest = rest.substr(0, hash);
    }
  }
  for (const char c : rest) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return fail("net/url: invalid control character in URL");
    }
  }
  if (rest.empty() && !fragments) return fail("empty url");
  if (rest == "*") {
    out.escaped_path = "*";
    return out;
  }
  const std::string_view scheme = SchemeOf(rest, &reason);
  if (!reason.empty()) return fail(reason);
  if (!scheme.empty()) {
    for (const char c : scheme) {
      out.scheme += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    rest.remove_prefix(scheme.size() + 1);
  }
  if (rest.ends_with('?') && rest.find('?') == rest.size() - 1) {
    out.force_query = true;
    rest.remove_suffix(1);
  } else if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    out.raw_query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!out.scheme.empty()) {
      // Opaque: mailto:someone.
      out.escaped_path.clear();
      out.fragment.clear();
      out.host.clear();
      out.error.clear();
      return out;
    }
    if (!fragments) return fail("invalid URI for request");
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (segment.find(':') != std::string_view::npos) {
      return fail("first path segment in URL cannot contain colon");
    }
  }
  if ((!out.scheme.empty() || (!fragments && !rest.starts_with("///"))) && rest.starts_with("//")) {
    std::string_view authority = rest.substr(2);
    const std::size_t slash = authority.find('/');
    rest = slash == std::string_view::npos ? std::string_view() : authority.substr(slash);
    authority = authority.substr(0, slash);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      const std::string_view user = authority.substr(0, at);
      if (!IsValidUserInfo(user)) return fail("net/url: invalid userinfo");
      out.user_info = user;
      out.has_user_info = true;
      authority = authority.substr(at + 1);
    }
    out.host = ParseHost(authority, &reason);
    if (!reason.empty()) return fail(reason);
  }
  const auto path = Unescape(rest, false, &reason);
  if (!path) return fail(reason);
  out.escaped_path = IsValidEncoding(rest) ? std::string(rest) : EscapePath(*path);
  return out;
}

std::string ParsedUrl::ToString() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (!scheme.empty() || !host.empty() || has_user_info) {
    if (!host.empty() || has_user_info || !escaped_path.empty()) out += "//";
    if (has_user_info) out += user_info + "@";
    out += host;
  }
  out += escaped_path;
  if (force_query || !raw_query.empty()) out += "?" + raw_query;
  if (!fragment.empty()) out += "#" + fragment;
  return out;
}

std::string_view UrlHostname(std::string_view host) {
  const std::string_view port = UrlPort(host);
  const std::size_t colon = host.rfind(':');
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  if (colon != std::string_view::npos && (!port.empty() || colon == host.size() - 1)) {
    return host.substr(0, colon);
  }
  return host;
}

std::string_view UrlPort(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || !IsValidPort(host.substr(colon))) return {};
  if (host.find(']', colon) != std::string_view::npos) return {};
  return host.substr(colon + 1);
}

std::vector<std::pair<std::string, std::string>> UrlQuery(std::string_view raw_query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!raw_query.empty()) {
    const std::size_t end = raw_query.find('&');
    const std::string_view pair = raw_query.substr(0, end);
    raw_query = end == std::string_view::npos ? std::string_view() : raw_query.substr(end + 1);
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    std::string ignored;
    const auto key = Unescape(pair.substr(0, equals), true, &ignored);
    const auto value =
        Unescape(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1),
                 true, &ignored);
    if (key && value) out.emplace_back(*key, *value);
  }
  return out;
}

namespace {

Value MakeUrl(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  ParsedUrl url = ParseUrl(text, false);
  if (url.error.empty()) url = ParseUrl(text, true);
  if (!url.error.empty()) {
    return MakeError(arena, "URL parse error during conversion from string: " + url.error);
  }
  return Value::Pointer(Kind::kUrl, arena.New<Url>(Url{
                                        .printed = arena.Copy(url.ToString()),
                                        .scheme = arena.Copy(url.scheme),
                                        .host = arena.Copy(url.host),
                                        .escaped_path = arena.Copy(url.escaped_path),
                                        .raw_query = arena.Copy(url.raw_query),
                                    }));
}

Value IsUrl(Arena&, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  return Value::Bool(ParseUrl(args[0].as_text(), false).error.empty());
}

Value GetScheme(Arena&, Args args) {
  return args[0].is(Kind::kUrl) ? Value::String(args[0].as<Url>().scheme) : UnmatchedCall();
}
Value GetHost(Arena&, Args args) {
  return args[0].is(Kind::kUrl) ? Value::String(args[0].as<Url>().host) : UnmatchedCall();
}
Value GetHostname(Arena&, Args args) {
  return args[0].is(Kind::kUrl) ? Value::String(UrlHostname(args[0].as<Url>().host))
                                : UnmatchedCall();
}
Value GetPort(Arena&, Args args) {
  return args[0].is(Kind::kUrl) ? Value::String(UrlPort(args[0].as<Url>().host)) : UnmatchedCall();
}
Value GetEscapedPath(Arena&, Args args) {
  return args[0].is(Kind::kUrl) ? Value::String(args[0].as<Url>().escaped_path) : UnmatchedCall();
}

Value GetQuery(Arena& arena, Args args) {
  if (!args[0].is(Kind::kUrl)) return UnmatchedCall();
  const auto pairs = UrlQuery(args[0].as<Url>().raw_query);
  auto* map = arena.New<GrowingMap>();
  for (const auto& [key, value] : pairs) {
    Value seen;
    if (map->Find(Value::String(key), &seen)) continue;
    std::vector<Value> values;
    for (const auto& [other, text] : pairs) {
      if (other == key) values.push_back(MakeString(arena, text));
    }
    map->Insert(arena, MakeString(arena, key), MakeList(arena, values));
  }
  return Value::Pointer(Kind::kMap, static_cast<const Map*>(map));
}

}  // namespace

Library library::Urls() {
  using enum CostRule;
  using enum OfConstants;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"url", "string_to_url (string) -> kubernetes.URL", MakeUrl, kTenth, estimate::CopyArgument,
       kMakeOnce},
      {"isURL", "is_url_string (string) -> bool", IsUrl, kOne, estimate::Unit},
      {"getEscapedPath", "url_get_escaped_path kubernetes.URL.() -> string", GetEscapedPath, kOne,
       estimate::Unit},
      {"getHost", "url_get_host kubernetes.URL.() -> string", GetHost, kOne, estimate::Unit},
      {"getHostname", "url_get_hostname kubernetes.URL.() -> string", GetHostname, kOne,
       estimate::Unit},
      {"getPort", "url_get_port kubernetes.URL.() -> string", GetPort, kOne, estimate::Unit},
      {"getQuery", "url_get_query kubernetes.URL.() -> map(string, list(string))", GetQuery, kOne,
       estimate::Unit},
      {"getScheme", "url_get_scheme kubernetes.URL.() -> string", GetScheme, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
