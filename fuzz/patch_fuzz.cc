// SPDX-License-Identifier: Apache-2.0
//
// The patch door: JSON patch, merge patch, strategic merge patch and apply on arbitrary bytes.
//
// The first byte chooses the kind of patch, the rest is the patch. It meets a pod with a bit of
// everything. No crash; a patch that fails changes nothing (JSON patch) or is an error; what apply
// makes reads back; applying the same configuration again changes nothing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/kinds.h"
#include "base/check.h"
#include "rest/decode.h"
#include "rest/field_set.h"
#include "rest/json_patch.h"
#include "rest/managed_fields.h"
#include "rest/strategic_merge.h"
#include "rest/tree.h"

namespace {

using dray::rest::DocumentNode;

const dray::api::KindInfo& PodKind() { return *dray::api::FindKind("v1", "Pod"); }

const dray::api::Object& Pod() {
  static const dray::api::Object pod = [] {
    dray::api::JsonDecoder decoder;
    return *DecodeObject(
        decoder,
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"},)"
        R"("finalizers":["x/y"],"managedFields":[{"manager":"m","operation":"Apply","apiVersion":)"
        R"("v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":)"
        R"({"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}}}]},"spec":{"containers":)"
        R"([{"name":"c","image":"i","ports":[{"containerPort":80,"protocol":"TCP"}]},{"name":"d"}],)"
        R"("volumes":[{"name":"v","emptyDir":{}}]},"status":{"hostIPs":[{"ip":"1.2.3.4"}]}})");
  }();
  return pod;
}

void CheckApply(const DocumentNode& config) {
  const dray::rest::ApplyOptions options{.owner = {.manager = "m", .api_version = "v1"},
                                         .force = true};
  const auto once = dray::rest::Apply(&Pod(), config, PodKind(), options);
  if (!once.ok()) return;
  for (const auto& entry : once->metadata().managed_fields) {
    DRAY_CHECK(dray::rest::FieldSet::Parse(entry.fields_v1.text).ok(), "fields read back");
  }
  const auto twice = dray::rest::Apply(&*once, config, PodKind(), options);
  DRAY_CHECK(twice.ok(), "what was applied can be applied again");
  DRAY_CHECK(SemanticEqual(*once, *twice), "applying again changes nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto patch = dray::rest::ReadTree(text, data[0] % 4 == 3);
  if (!patch.ok()) return 0;
  const DocumentNode before = *dray::rest::ReadTree(Pod().ToJson());
  DocumentNode document = before;
  switch (data[0] % 4) {
    case 0:
      if (!dray::rest::ApplyJsonPatch(*patch, document).ok()) {
        DRAY_CHECK(dray::rest::JsonEqual(document, before), "a failed patch changes nothing");
      }
      break;
    case 1:
      dray::rest::ApplyMergePatch(*patch, document);
      break;
    case 2:
      if (!dray::rest::ApplyStrategicMerge(*patch, *PodKind().type, document).ok()) return 0;
      break;
    default:
      CheckApply(*patch);
      return 0;
  }
  (void)dray::rest::DecodeTree(document, PodKind(), dray::rest::FieldValidation::kWarn);
  return 0;
}
