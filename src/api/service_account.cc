// SPDX-License-Identifier: Apache-2.0
#include "api/service_account.h"

namespace dray::api {

const StructInfo& InfoOf(const ServiceAccount*) {
  using T = ServiceAccount;
  static const StructInfo info = Struct<T>(
      "ServiceAccount",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the account.", .proto = {1}}),
          Field<&T::secrets>("secrets", {.list = ListKind::kMap,
                                         .keys = "name",
                                         .doc = "Secrets that its pods may use.",
                                         .proto = {2}}),
          Field<&T::image_pull_secrets>(
              "imagePullSecrets",
              {.doc = "Secrets with which images of its pods are pulled.", .proto = {3}}),
          Field<&T::automount_service_account_token>(
              "automountServiceAccountToken",
              {.doc = "Whether its pods get a token; a pod may say otherwise.", .proto = {4}}),
      },
      {.doc = "Who the processes of a pod are when they talk to the API."});
  return info;
}

}  // namespace dray::api
