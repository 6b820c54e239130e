// SPDX-License-Identifier: Apache-2.0
//
// Work for schedulers and controllers: nodes with devices, namespaces with quotas that are too small for
// those who share them, and clients that make and delete pods there through all servers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "parts/clients.h"

namespace dray::parts {

inline constexpr int kNodes = 8;
inline constexpr int kDevicesPerNode = 4;
inline constexpr int kSpaces = 3;  // "load-0" and so on, with a quota each

// Makes what the work is done with. Empty, or what was answered instead.
std::string MakeWorld(const Doors& doors);

// Two or more share a namespace. One thread at a time.
class PodClient {
 public:
  PodClient(int index, const Doors& doors, std::uint64_t seed);
  void Run(const std::atomic<bool>& stop);
  // Deletes until what is left fits. False: it could not in time.
  bool Shrink(std::chrono::seconds patience);

  std::size_t made() const { return made_; }
  std::size_t refused() const { return refused_; }  // for the quota
  const Complaints& complaints() const { return complaints_; }

 private:
  static constexpr std::size_t kMost = 9;  // that one of them has at a time
  static constexpr std::size_t kLeft = 3;
  void Step();
  void Create(std::set<std::string>& own, std::string_view plural, const std::string& name,
              std::string body);
  // Whether it is known to be gone.
  bool Delete(std::set<std::string>& own, const std::string& path);
  bool Scale(int replicas);
  std::string Path(std::string_view plural) const;
  int Ask(const process::Call& call, std::initializer_list<int> usual);

  const int index_;
  const std::string space_;
  Asker asker_;
  int names_ = 0;
  std::set<std::string> pods_;      // paths of what may be there
  std::set<std::string> settings_;  // ConfigMaps, which a quota counts, too
  bool deployment_ = false;
  std::size_t made_ = 0;
  std::size_t refused_ = 0;
  Complaints complaints_;
};

}  // namespace dray::parts
