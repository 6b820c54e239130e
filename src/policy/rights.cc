// SPDX-License-Identifier: Apache-2.0
#include "policy/rights.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/names.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::policy {
namespace {

using cel::Arena;
using cel::Host;
using cel::Kind;
using cel::Value;
using Args = std::span<const Value>;

// Has no fields, only functions.
class Answerer : public Host {
 public:
  bool Select(std::string_view, Value*) const final { return false; }

 protected:
  ~Answerer() = default;
};

template <typename T, typename... A>
Value Make(Arena& arena, A&&... args) {
  return Value::Pointer(Kind::kHost,
                        static_cast<const Host*>(arena.New<T>(std::forward<A>(args)...)));
}

bool IsBlank(std::string_view text) {
  return absl::StripAsciiWhitespace(base::ToAbsl(text)).empty();
}

// The only argument, if it is a text.
bool Text(Args args, std::string_view* text) {
  if (args.size() != 2 || !args[1].is(Kind::kString)) return false;
  *text = args[1].as_text();
  return true;
}

class Decision final : public Answerer {
 public:
  explicit Decision(api::AuthorizationDecision decision) : decision_(std::move(decision)) {}
  std::string_view type_name() const override { return "kubernetes.authorization.Decision"; }
  Value Call(std::string_view function, Arena& arena, Args) const override {
    const bool failed = !decision_.error.ok();
    if (function == "allowed") return Value::Bool(decision_.allowed);
    if (function == "reason") return MakeString(arena, decision_.reason);
    if (function == "errored") return Value::Bool(failed);
    if (function == "error") {
      return MakeString(arena, failed ? base::Message(decision_.error) : std::string_view());
    }
    return cel::UnmatchedCall();
  }

 private:
  const api::AuthorizationDecision decision_;
};

// Something that can be asked with a verb: a path, or a resource.
class Check final : public Answerer {
 public:
  Check(const api::Authorizer& authorizer, api::AuthorizationRequest request)
      : authorizer_(authorizer), request_(std::move(request)) {}
  std::string_view type_name() const override {
    return request_.IsResource() ? "kubernetes.authorization.ResourceCheck"
                                 : "kubernetes.authorization.PathCheck";
  }
  Value Call(std::string_view function, Arena& arena, Args args) const override {
    std::string_view text;
    if (!Text(args, &text)) return cel::UnmatchedCall();
    api::AuthorizationRequest next = request_;
    if (function == "check") {
      next.verb = text;
      return Make<Decision>(arena, authorizer_.Authorize(next));
    }
    if (!request_.IsResource()) return cel::UnmatchedCall();
    if (function == "subresource") {
      next.subresource = text;
    } else if (function == "namespace") {
      next.namespace_ = text;
    } else if (function == "name") {
      next.name = text;
    } else if (function == "fieldSelector") {
      next.field_selector = text;
    } else if (function != "labelSelector") {  // no rule of ours looks at labels
      return cel::UnmatchedCall();
    }
    return Make<Check>(arena, authorizer_, std::move(next));
  }

 private:
  const api::Authorizer& authorizer_;
  const api::AuthorizationRequest request_;
};

class GroupCheck final : public Answerer {
 public:
  GroupCheck(const api::Authorizer& authorizer, api::AuthorizationRequest request)
      : authorizer_(authorizer), request_(std::move(request)) {}
  std::string_view type_name() const override { return "kubernetes.authorization.GroupCheck"; }
  Value Call(std::string_view function, Arena& arena, Args args) const override {
    std::string_view text;
    if (function != "resource" || !Text(args, &text)) return cel::UnmatchedCall();
    if (IsBlank(text)) return MakeError(arena, "resource must not be empty");
    api::AuthorizationRequest next = request_;
    next.resource = text;
    return Make<Check>(arena, authorizer_, std::move(next));
  }

 private:
  const api::Authorizer& authorizer_;
  const api::AuthorizationRequest request_;
};

class Asker final : public Answerer {
 public:
  Asker(const api::Authorizer& authorizer, api::UserInfo user)
      : authorizer_(authorizer), user_(std::move(user)) {}
  std::string_view type_name() const override { return "kubernetes.authorization.Authorizer"; }
  Value Call(std::string_view function, Arena& arena, Args args) const override {
    if (function == "serviceAccount") return ServiceAccount(arena, args);
    std::string_view text;
    if (!Text(args, &text)) return cel::UnmatchedCall();
    if (function == "group") {
      return Make<GroupCheck>(
          arena, authorizer_,
          api::AuthorizationRequest{.user = user_, .verb = {}, .api_group = std::string(text)});
    }
    if (function != "path") return cel::UnmatchedCall();
    if (IsBlank(text)) return MakeError(arena, "path must not be empty");
    return Make<Check>(
        arena, authorizer_,
        api::AuthorizationRequest{.user = user_, .verb = {}, .path = std::string(text)});
  }

 private:
  Value ServiceAccount(Arena& arena, Args args) const {
    if (args.size() != 3 || !args[1].is(Kind::kString) || !args[2].is(Kind::kString)) {
      return cel::UnmatchedCall();
    }
    const std::string_view space = args[1].as_text();
    const std::string_view name = args[2].as_text();
    if (!base::IsDnsSubdomain(name)) return MakeError(arena, "Invalid service account name");
    if (!base::IsDnsLabel(space)) return MakeError(arena, "Invalid service account namespace");
    return Make<Asker>(
        arena, authorizer_,
        api::UserInfo{
            .name = fmt::format("system:serviceaccount:{}:{}", space, name),
            .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", space)}});
  }

  const api::Authorizer& authorizer_;
  const api::UserInfo user_;
};

}  // namespace

Value AuthorizerFor(Arena& arena, const api::Authorizer& authorizer, const api::UserInfo& user) {
  return Make<Asker>(arena, authorizer, user);
}

Value RequestResourceFor(Arena& arena, const api::Authorizer& authorizer, const Request& request) {
  return Make<Check>(arena, authorizer,
                     api::AuthorizationRequest{.user = *request.user,
                                               .verb = {},
                                               .api_group = request.version.resource.group,
                                               .resource = request.version.resource.name,
                                               .subresource = request.subresource,
                                               .namespace_ = request.namespace_,
                                               .name = request.name});
}

}  // namespace dray::policy
