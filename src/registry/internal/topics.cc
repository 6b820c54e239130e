// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/topics.h"

#include "api/json.h"
#include "api/pod.h"
#include "registry/objects.h"

namespace dray::registry::internal {
namespace {

std::string NodeOf(const store::Entry& entry) {
  if (entry.attachment != nullptr) {
    const auto* pod = Objects::ObjectOf(entry).As<api::Pod>();
    return pod == nullptr ? std::string() : pod->spec.node_name;
  }
  // From before a restart. Who watches is told of what cannot be read; here it is about nothing.
  thread_local api::JsonDecoder decoder;
  const auto pod = decoder.Decode<api::Pod>(*entry.value);
  return pod.ok() ? pod->spec.node_name : std::string();
}

}  // namespace

void SetTopics(store::Store& store) {
  store.SetTopics(PrefixOf(api::HubKind(api::TypeInfoOf<api::Pod>())), NodeOf);
}

std::string TopicOf(const Selection& selection) {
  if (selection.kind->hub != &api::TypeInfoOf<api::Pod>()) return {};
  return std::string(selection.fields.RequiredValue("spec.nodeName").value_or(""));
}

}  // namespace dray::registry::internal
