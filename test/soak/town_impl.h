// SPDX-License-Identifier: Apache-2.0
//
// What the parts of Town share. Not for others.
#pragma once

#include <utility>

#include "api/extended_resources.h"
#include "model/generator.h"
#include "soak/town.h"

namespace dray::soak {

model::GeneratorOptions WhatDriversPublish();

template <typename T>
bool Town::Create(T object) {
  return cluster_.Create(api::Object::Of(std::move(object))).ok();
}
template <typename T>
bool Town::Update(T object) {
  return cluster_.Update(api::Object::Of(std::move(object))).ok();
}
template <typename T>
bool Town::UpdateStatus(T object) {
  return cluster_.UpdateStatus(api::Object::Of(std::move(object))).ok();
}
template <typename T>
bool Town::Delete(const std::string& name, std::string_view space) {
  return cluster_.Delete(KindOf<T>(), space, name).ok();
}
template <typename T>
std::optional<T> Town::Any() {
  const std::vector<api::Object> all = Objects<T>();
  return all.empty() ? std::nullopt : std::optional<T>(*dice_.Pick(all).template As<T>());
}

}  // namespace dray::soak
