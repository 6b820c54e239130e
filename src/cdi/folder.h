// SPDX-License-Identifier: Apache-2.0
//
// The folders that CDI files are in: the only place of this room that touches the disk.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cdi/registry.h"
#include "cdi/spec.h"
#include "files/files.h"

namespace dray::cdi {

// In ascending order of priority.
inline constexpr std::string_view kStaticFolder = "/etc/cdi";
inline constexpr std::string_view kDynamicFolder = "/var/run/cdi";
std::vector<std::string> DefaultFolders();

// Specs of more bytes than this are left out.
inline constexpr std::size_t kLongestSpec = 4u << 20;

// *.json and *.yaml.
bool IsSpecFileName(std::string_view name);

// All spec files directly in the folders; the later a folder comes, the higher its priority. Folders
// that are not there have none; what cannot be read is told by the registry that is made of them.
std::vector<SpecFile> ReadFolders(std::span<const std::string> folders);

// The registry of the folders as they are now.
Registry Load(std::span<const std::string> folders);

// Writes <folder>/<name> (.json) so that runtimes see all of it or nothing; the folder is made if
// need be. One file per claim with names that contain its UID, never used again: runtimes may
// remember what an older file said. `sync` kNo: for who writes it anew after a power cut.
Status SaveSpec(const std::string& folder, const std::string& name, const Spec& spec,
                files::Sync sync = files::Sync::kYes);
// Nothing there is fine.
Status RemoveSpec(const std::string& folder, const std::string& name);

}  // namespace dray::cdi
