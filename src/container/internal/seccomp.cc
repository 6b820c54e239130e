// SPDX-License-Identifier: Apache-2.0
#include "container/internal/seccomp.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "api/field_table.h"
#include "api/json.h"

namespace dray::container::internal {
namespace {

struct Argument {
  std::int64_t index = 0;
  std::int64_t value = 0;
  std::int64_t value_two = 0;
  std::string op;
};
struct Rule {
  std::vector<std::string> names;
  std::string action;
  std::optional<std::int64_t> errno_ret;
  std::vector<Argument> args;
};
struct Profile {
  std::string default_action;
  std::vector<Rule> syscalls;
};

const api::StructInfo& InfoOf(const Argument*) {
  static const api::StructInfo info = api::Struct<Argument>(
      "SeccompArg",
      {api::Field<&Argument::index>("index"), api::Field<&Argument::value>("value"),
       api::Field<&Argument::value_two>("valueTwo"), api::Field<&Argument::op>("op")});
  return info;
}
const api::StructInfo& InfoOf(const Rule*) {
  static const api::StructInfo info = api::Struct<Rule>(
      "SeccompRule", {api::Field<&Rule::names>("names"), api::Field<&Rule::action>("action"),
                      api::Field<&Rule::errno_ret>("errnoRet"), api::Field<&Rule::args>("args")});
  return info;
}
const api::StructInfo& InfoOf(const Profile*) {
  static const api::StructInfo info =
      api::Struct<Profile>("Seccomp", {api::Field<&Profile::default_action>("defaultAction"),
                                       api::Field<&Profile::syscalls>("syscalls")});
  return info;
}

struct Guarded {
  std::string_view name;
  std::array<std::string_view, 2> by;  // any of these gives it back; none: nothing does
};

// Sorted by what they reach.
constexpr Guarded kGuarded[] = {
    // the kernel itself
    {"create_module", {"CAP_SYS_MODULE"}},
    {"delete_module", {"CAP_SYS_MODULE"}},
    {"finit_module", {"CAP_SYS_MODULE"}},
    {"init_module", {"CAP_SYS_MODULE"}},
    {"query_module", {"CAP_SYS_MODULE"}},
    {"get_kernel_syms", {"CAP_SYS_MODULE"}},
    {"kexec_file_load", {"CAP_SYS_BOOT"}},
    {"kexec_load", {"CAP_SYS_BOOT"}},
    {"reboot", {"CAP_SYS_BOOT"}},
    {"bpf", {"CAP_SYS_ADMIN", "CAP_BPF"}},
    {"perf_event_open", {"CAP_SYS_ADMIN", "CAP_PERFMON"}},
    {"lookup_dcookie", {"CAP_SYS_ADMIN"}},
    {"syslog", {"CAP_SYS_ADMIN", "CAP_SYSLOG"}},
    {"ioperm", {"CAP_SYS_RAWIO"}},
    {"iopl", {"CAP_SYS_RAWIO"}},
    {"io_uring_enter", {}},
    {"io_uring_register", {}},
    {"io_uring_setup", {}},
    {"userfaultfd", {"CAP_SYS_PTRACE"}},
    {"nfsservctl", {}},
    {"sysfs", {}},
    {"_sysctl", {}},
    {"uselib", {}},
    {"ustat", {}},
    {"vm86", {}},
    {"vm86old", {}},
    // keys, which no namespace divides
    {"add_key", {}},
    {"keyctl", {}},
    {"request_key", {}},
    // the clock
    {"clock_settime", {"CAP_SYS_TIME"}},
    {"clock_settime64", {"CAP_SYS_TIME"}},
    {"settimeofday", {"CAP_SYS_TIME"}},
    {"stime", {"CAP_SYS_TIME"}},
    // files and mounts
    {"mount", {"CAP_SYS_ADMIN"}},
    {"umount", {"CAP_SYS_ADMIN"}},
    {"umount2", {"CAP_SYS_ADMIN"}},
    {"pivot_root", {"CAP_SYS_ADMIN"}},
    {"fsconfig", {"CAP_SYS_ADMIN"}},
    {"fsmount", {"CAP_SYS_ADMIN"}},
    {"fsopen", {"CAP_SYS_ADMIN"}},
    {"fspick", {"CAP_SYS_ADMIN"}},
    {"move_mount", {"CAP_SYS_ADMIN"}},
    {"open_tree", {"CAP_SYS_ADMIN"}},
    {"mount_setattr", {"CAP_SYS_ADMIN"}},
    {"open_by_handle_at", {"CAP_DAC_READ_SEARCH"}},
    {"quotactl", {"CAP_SYS_ADMIN"}},
    {"quotactl_fd", {"CAP_SYS_ADMIN"}},
    {"swapoff", {"CAP_SYS_ADMIN"}},
    {"swapon", {"CAP_SYS_ADMIN"}},
    {"acct", {"CAP_SYS_PACCT"}},
    {"fanotify_init", {"CAP_SYS_ADMIN"}},
    // namespaces
    {"setns", {"CAP_SYS_ADMIN"}},
    {"unshare", {"CAP_SYS_ADMIN"}},
    {"sethostname", {"CAP_SYS_ADMIN"}},
    {"setdomainname", {"CAP_SYS_ADMIN"}},
    // memory of other processes, and where it is
    {"kcmp", {"CAP_SYS_PTRACE"}},
    {"process_vm_readv", {"CAP_SYS_PTRACE"}},
    {"process_vm_writev", {"CAP_SYS_PTRACE"}},
    {"process_madvise", {"CAP_SYS_PTRACE"}},
    {"pidfd_getfd", {"CAP_SYS_PTRACE"}},
    {"get_mempolicy", {"CAP_SYS_NICE"}},
    {"mbind", {"CAP_SYS_NICE"}},
    {"set_mempolicy", {"CAP_SYS_NICE"}},
    {"set_mempolicy_home_node", {"CAP_SYS_NICE"}},
    {"move_pages", {"CAP_SYS_NICE"}},
    {"migrate_pages", {"CAP_SYS_NICE"}},
    {"vhangup", {"CAP_SYS_TTY_CONFIG"}},
};

constexpr std::int64_t kNotPermitted = 1;  // EPERM
constexpr std::int64_t kNoSuchCall = 38;   // ENOSYS: libraries then use an older one
constexpr std::string_view kRefuse = "SCMP_ACT_ERRNO";

bool Has(const std::vector<std::string>& capabilities, std::string_view name) {
  return !name.empty() && std::ranges::find(capabilities, name) != capabilities.end();
}

}  // namespace

std::string DefaultSeccomp(const std::vector<std::string>& capabilities) {
  Profile profile{.default_action = "SCMP_ACT_ALLOW", .syscalls = {}};
  Rule refused{.names = {}, .action = std::string(kRefuse), .errno_ret = kNotPermitted, .args = {}};
  for (const Guarded& call : kGuarded) {
    const bool given = std::ranges::any_of(
        call.by, [&](std::string_view capability) { return Has(capabilities, capability); });
    if (!given) refused.names.emplace_back(call.name);
  }
  profile.syscalls.push_back(std::move(refused));
  if (!Has(capabilities, "CAP_SYS_ADMIN")) {
    // Processes may be made, namespaces may not: one rule for each flag of clone that makes one.
    for (const std::int64_t flag :
         {0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000}) {
      profile.syscalls.push_back(
          {.names = {"clone"},
           .action = std::string(kRefuse),
           .errno_ret = kNotPermitted,
           .args = {{.index = 0, .value = flag, .value_two = flag, .op = "SCMP_CMP_MASKED_EQ"}}});
    }
    // Its flags are in memory, where no filter can look.
    profile.syscalls.push_back({.names = {"clone3"},
                                .action = std::string(kRefuse),
                                .errno_ret = kNoSuchCall,
                                .args = {}});
  }
  return api::EncodeJson(profile);
}

Status CheckSeccomp(std::string_view json) {
  api::JsonDecoder decoder;
  const auto read = decoder.Decode<Profile>(json);
  if (!read.ok()) return read.status();
  if (!read->default_action.starts_with("SCMP_ACT_")) {
    return base::InvalidArgument("defaultAction: expected one that begins with SCMP_ACT_");
  }
  return {};
}

}  // namespace dray::container::internal
