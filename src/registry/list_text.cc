// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/list_text.h"

#include <utility>

#include "fmt/format.h"
#include "rest/table.h"

namespace dray::registry::internal {
namespace {

constexpr std::size_t kPullBytes = 64u << 10;

class ListStream final : public apiserver::StreamSource {
 public:
  ListStream(std::string beginning, ListText rest)
      : beginning_(std::move(beginning)), rest_(std::move(rest)) {}

  void Start(std::function<void()>) override {}
  bool Finite() const override { return true; }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    auto piece = std::make_shared<std::string>(std::exchange(beginning_, {}));
    bool more = true;
    if (piece->empty()) more = rest_.Append(*piece, kPullBytes);
    out.push_back(std::move(piece));
    return more ? State::kMore : State::kEnd;
  }

 private:
  std::string beginning_;
  ListText rest_;
};

}  // namespace

ListText::ListText(ListOf list) : list_(std::move(list)) {
  head_ =
      fmt::format(R"("apiVersion":"{}","kind":"{}",)", list_.kind->ApiVersion(), list_.kind->kind);
}

bool ListText::Append(std::string& out, std::size_t bytes) {
  const std::size_t begin = out.size();
  if (!std::exchange(begun_, true)) {
    const std::string_view kind = list_.metadata_only ? "PartialObjectMetadata" : list_.kind->kind;
    const std::string version = list_.metadata_only ? "meta.k8s.io/v1" : list_.kind->ApiVersion();
    out += fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[)", kind,
                       version, list_.metadata);
  }
  while (next_ < list_.items.size()) {
    if (out.size() - begin >= bytes) return true;
    if (next_ > 0) out += ',';
    // Whatever becomes of the object meanwhile, this list no longer needs it.
    AppendItem(*std::exchange(list_.items[next_++], nullptr), out);
  }
  out += "]}";
  return false;
}

void ListText::AppendItem(const StoredObject& stored, std::string& out) const {
  if (list_.metadata_only) {
    out += rest::PartialMetadataJson(stored.object());
    return;
  }
  std::string other;
  const bool hub = list_.kind == &api::HubKind(*list_.kind->hub);
  if (!hub) other = stored.object().ToJson(*list_.kind);
  const auto text = hub ? stored.Json() : nullptr;
  const std::string& json = hub ? *text : other;
  out += '{';
  out.append(json, head_.size() + 1);
}

std::unique_ptr<apiserver::StreamSource> MakeListStream(std::string beginning, ListText rest) {
  return std::make_unique<ListStream>(std::move(beginning), std::move(rest));
}

}  // namespace dray::registry::internal
