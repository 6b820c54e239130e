// SPDX-License-Identifier: Apache-2.0
#include "scheduler/observer.h"

namespace dray::scheduler {

std::string_view NameOf(Phase phase) {
  switch (phase) {
    case Phase::kPreFilter:
      return "PreFilter";
    case Phase::kFilter:
      return "Filter";
    case Phase::kPostFilter:
      return "PostFilter";
    case Phase::kPreScore:
      return "PreScore";
    case Phase::kScore:
      return "Score";
    case Phase::kReserve:
      return "Reserve";
    case Phase::kPreBind:
      return "PreBind";
    case Phase::kBind:
      return "Bind";
  }
  return "";
}

std::string_view NameOf(PluginStatus::Code code) {
  switch (code) {
    case PluginStatus::Code::kSuccess:
      return "Success";
    case PluginStatus::Code::kSkip:
      return "Skip";
    case PluginStatus::Code::kUnschedulable:
      return "Unschedulable";
    case PluginStatus::Code::kUnresolvable:
      return "UnschedulableAndUnresolvable";
    case PluginStatus::Code::kWait:
      return "Wait";
    case PluginStatus::Code::kError:
      return "Error";
  }
  return "";
}

}  // namespace dray::scheduler
