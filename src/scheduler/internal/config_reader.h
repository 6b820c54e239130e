// SPDX-License-Identifier: Apache-2.0
//
// The parts of reading a configuration, and what they find.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "base/field_path.h"
#include "scheduler/config.h"
#include "scheduler/internal/config_file.h"

namespace dray::scheduler::internal {

inline constexpr std::string_view kConfigApiVersion = "kubescheduler.config.k8s.io/v1";

// All that is wrong, and all that is worth telling.
struct Findings {
  std::vector<std::string> errors;
  std::vector<std::string> notes;

  void Error(const base::FieldPath& at, std::string_view text);
  void Note(const base::FieldPath& at, std::string_view text);
  void Unused(const base::FieldPath& at, std::string_view why);
};

// Reads a tree by its table; what does not fit its type is an error, what is not known a note.
void Decode(const api::DocumentNode& node, const base::FieldPath& at, const api::TypeInfo& type,
            void* value, Findings& findings);

// " (did you mean X?)", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& known);

// Which plugins are on, and how much they count.
void ReadPlugins(const FilePlugins& plugins, const base::FieldPath& at, Profile& profile,
                 Findings& findings);
// Every plugin that Kubernetes has.
std::vector<std::string_view> PluginNames();

// leaderElection and clientConnection.
void ReadProcess(const ConfigFile& file, LoadedConfig& loaded, Findings& findings);

void ReadPluginConfig(const std::vector<FilePluginConfig>& configs, const base::FieldPath& at,
                      Profile& profile, Findings& findings);

}  // namespace dray::scheduler::internal
