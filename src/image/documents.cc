// SPDX-License-Identifier: Apache-2.0
#include "image/documents.h"

namespace dray::image {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

namespace {
constexpr api::FieldOptions kAlways = {.presence = Presence::kAlways};
}  // namespace

const StructInfo& InfoOf(const Platform*) {
  using T = Platform;
  static const StructInfo info = Struct<T>("Platform", {
                                                           Field<&T::architecture>("architecture"),
                                                           Field<&T::os>("os"),
                                                       });
  return info;
}

const StructInfo& InfoOf(const Descriptor*) {
  using T = Descriptor;
  static const StructInfo info = Struct<T>("Descriptor", {
                                                             Field<&T::media_type>("mediaType"),
                                                             Field<&T::digest>("digest", kAlways),
                                                             Field<&T::size>("size", kAlways),
                                                             Field<&T::annotations>("annotations"),
                                                             Field<&T::platform>("platform"),
                                                         });
  return info;
}

const StructInfo& InfoOf(const Index*) {
  using T = Index;
  static const StructInfo info = Struct<T>("Index", {
                                                        Field<&T::schema_version>("schemaVersion"),
                                                        Field<&T::media_type>("mediaType"),
                                                        Field<&T::manifests>("manifests", kAlways),
                                                    });
  return info;
}

const StructInfo& InfoOf(const Manifest*) {
  using T = Manifest;
  static const StructInfo info =
      Struct<T>("Manifest", {
                                Field<&T::schema_version>("schemaVersion"),
                                Field<&T::media_type>("mediaType"),
                                Field<&T::config>("config", kAlways),
                                Field<&T::layers>("layers", kAlways),
                            });
  return info;
}

const StructInfo& InfoOf(const ImageConfig*) {
  using T = ImageConfig;
  static const StructInfo info = Struct<T>("ImageConfig", {
                                                              Field<&T::user>("User"),
                                                              Field<&T::env>("Env"),
                                                              Field<&T::entrypoint>("Entrypoint"),
                                                              Field<&T::cmd>("Cmd"),
                                                              Field<&T::working_dir>("WorkingDir"),
                                                              Field<&T::labels>("Labels"),
                                                              Field<&T::stop_signal>("StopSignal"),
                                                          });
  return info;
}

const StructInfo& InfoOf(const RootFs*) {
  using T = RootFs;
  static const StructInfo info = Struct<T>("RootFs", {
                                                         Field<&T::type>("type"),
                                                         Field<&T::diff_ids>("diff_ids", kAlways),
                                                     });
  return info;
}

const StructInfo& InfoOf(const ImageDocument*) {
  using T = ImageDocument;
  static const StructInfo info = Struct<T>("Image", {
                                                        Field<&T::architecture>("architecture"),
                                                        Field<&T::os>("os"),
                                                        Field<&T::config>("config"),
                                                        Field<&T::rootfs>("rootfs", kAlways),
                                                    });
  return info;
}

const StructInfo& InfoOf(const DockerImage*) {
  using T = DockerImage;
  static const StructInfo info = Struct<T>("DockerImage", {
                                                              Field<&T::config>("Config"),
                                                              Field<&T::repo_tags>("RepoTags"),
                                                              Field<&T::layers>("Layers"),
                                                          });
  return info;
}

}  // namespace dray::image
