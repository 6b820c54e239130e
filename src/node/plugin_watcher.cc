// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_watcher.h"

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
// Folders in folders in folders: nobody needs more, and a watch is a resource of the machine.
constexpr std::size_t kMostFolders = 1024;
// Sockets that are known; a machine has a handful. What comes then is looked for when one has gone.
constexpr std::size_t kMostSockets = 4096;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) names.emplace_back(entry->d_name);
  closedir(dir);
  return names;
}

class InotifyWatcher final : public PluginWatcher {
 public:
  InotifyWatcher(std::string root, PluginSocketEvents events, logs::Logger log, bool inotify)
      : root_(std::move(root)), events_(std::move(events)), log_(log), may_watch_(inotify) {}

  ~InotifyWatcher() override {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    (void)!write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

  Status Start() {
    stop_ = files::Fd(eventfd(0, EFD_CLOEXEC));
    if (!stop_.valid()) return files::Failed("open", "an eventfd", errno);
    DRAY_RETURN_IF_ERROR(files::MakeFolder(root_));
    if (const Status watched = Watch(root_); !watched.ok()) {
      log_.Warning(
          "The plugin registry cannot be watched, looking once a second. Other programs of this "
          "user may have taken all inotify instances (sysctl fs.inotify.max_user_instances) or "
          "watches (fs.inotify.max_user_watches)",
          {{"folder", root_}, {"error", watched}});
    }
    thread_ = std::thread([this] { Serve(); });
    return {};
  }

 private:
  void Serve() {
    Walk(root_);
    while (true) {
      std::array<pollfd, 2> ready = {
          pollfd{.fd = stop_.get(), .events = POLLIN},
          pollfd{.fd = inotify_.valid() ? inotify_.get() : -1, .events = POLLIN}};
      // Without a registry folder, or a watch on it, there are no events that would wake us.
      const int timeout = watching_root_ && !unwatched_ ? -1 : 1000;
      if (poll(ready.data(), ready.size(), timeout) < 0 && errno != EINTR) return;
      if (ready[0].revents != 0) return;
      if (ready[1].revents != 0) ReadEvents();
      if (!watching_root_) MakeRootAgain();
      if (!watching_root_ || unwatched_) Sweep();
    }
  }

  void ReadEvents() {
    alignas(inotify_event) std::array<char, 16 * 1024> bytes;
    while (true) {
      const ssize_t got = read(inotify_.get(), bytes.data(), bytes.size());
      if (got <= 0) return;
      for (ssize_t at = 0; at < got;) {
        const auto* event =
            reinterpret_cast<const inotify_event*>(bytes.data() + at);  // aligned by the kernel
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        Take(*event, event->len > 0 ? std::string_view(event->name) : std::string_view());
      }
    }
  }

  void Take(const inotify_event& event, std::string_view name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      // Nobody knows what was missed: all of it is looked at anew.
      log_.Warning("Events of the plugin registry were lost, looking at everything again");
      ForgetBelow(root_);
      Walk(root_);
      return;
    }
    const auto folder = folders_.find(event.wd);
    if (folder == folders_.end()) return;
    if ((event.mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
      if (folder->second == root_) watching_root_ = false;
      ForgetBelow(folder->second);
      folders_.erase(folder);
      return;
    }
    if (name.empty() || name.starts_with('.')) return;
    const std::string path = folder->second + "/" + std::string(name);
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
      if ((event.mask & IN_ISDIR) != 0) {
        Unwatch(path);
        ForgetBelow(path);
      }
      Gone(path);
    } else {
      Look(path);
    }
  }

  // A name that has appeared.
  void Look(const std::string& path) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return;
    if (S_ISDIR(info.st_mode)) {
      if (const Status status = Watch(path); !status.ok()) {
        if (status.code() == StatusCode::kNotFound) return;  // gone already
        if (status.code() == StatusCode::kResourceExhausted) {
          if (!std::exchange(too_many_folders_, true)) {
            log_.Warning("The plugin registry has too many folders, others are left out",
                         {{"limit", kMostFolders}, {"folder", path}});
          }
          return;
        }
        unwatched_ = true;
        if (watching_root_ && !std::exchange(warned_, true)) {
          log_.Warning("A folder of the plugin registry cannot be watched, looking once a second",
                       {{"folder", path}, {"error", status}});
        }
        if (++unwatched_folders_ > kMostFolders) return;
      }
      Walk(path);
      return;
    }
    // A link to a socket is as good as one; one to a folder might lead in circles.
    if (S_ISLNK(info.st_mode) && stat(path.c_str(), &info) != 0) return;
    if (!S_ISSOCK(info.st_mode)) return;
    // Between watching a folder and walking it a socket may be seen twice.
    if (sockets_.size() >= kMostSockets && !sockets_.contains(path)) {
      if (!std::exchange(too_many_, true)) {
        log_.Warning("The plugin registry has too many sockets, others are left out",
                     {{"limit", kMostSockets}, {"socket", path}});
      }
      return;
    }
    const auto [known, is_new] = sockets_.try_emplace(path, info.st_ino);
    if (!is_new && known->second == info.st_ino) return;
    known->second = info.st_ino;
    events_.found(path);
  }

  void Walk(const std::string& folder) {
    for (const std::string& name : NamesIn(folder)) {
      if (!name.starts_with('.')) Look(folder + "/" + name);
    }
  }

  Status Watch(const std::string& folder) {
    if (folders_.size() >= kMostFolders) {
      return base::MakeStatus(StatusCode::kResourceExhausted,
                              fmt::format("more than {} folders", kMostFolders));
    }
    if (!inotify_.valid() && may_watch_) {
      inotify_ = files::Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    }
    if (!inotify_.valid()) return files::Failed("watch", folder, may_watch_ ? errno : EMFILE);
    const int wd = inotify_add_watch(inotify_.get(), folder.c_str(), kMask);
    if (wd < 0) return files::Failed("watch", folder, errno);
    folders_[wd] = folder;
    if (folder == root_) watching_root_ = true;
    return {};
  }

  // A folder that has moved away is still watched by its number; nothing that happens there is ours.
  void Unwatch(const std::string& folder) {
    std::erase_if(folders_, [&](const auto& watched) {
      if (watched.second != folder && !watched.second.starts_with(folder + "/")) return false;
      inotify_rm_watch(inotify_.get(), watched.first);
      return true;
    });
  }

  void ForgetBelow(const std::string& folder) {
    std::vector<std::string> below;
    for (const auto& [path, inode] : sockets_) {
      if (path.starts_with(folder + "/")) below.push_back(path);
    }
    for (const std::string& path : below) Gone(path);
  }

  void Gone(const std::string& path) {
    if (sockets_.erase(path) == 0) return;
    events_.gone(path);
    // Not for each of many that go.
    if (too_many_ && sockets_.size() <= kMostSockets / 2) {
      too_many_ = false;
      Walk(root_);
    }
  }

  // Looks at everything, where nobody tells.
  void Sweep() {
    std::vector<std::string> gone;
    for (const auto& [path, inode] : sockets_) {
      struct stat info {};
      if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) gone.push_back(path);
    }
    for (const std::string& path : gone) Gone(path);
    unwatched_ = false;
    unwatched_folders_ = 0;
    Walk(root_);
  }

  void MakeRootAgain() {
    if (!files::MakeFolder(root_).ok() || !Watch(root_).ok()) return;
    Walk(root_);
  }

  const std::string root_;
  const PluginSocketEvents events_;
  const logs::Logger log_;
  files::Fd inotify_;
  files::Fd stop_;
  std::map<int, std::string> folders_;    // by the number of their watch
  std::map<std::string, ino_t> sockets_;  // by path
  bool watching_root_ = false;
  bool too_many_ = false;
  bool too_many_folders_ = false;
  const bool may_watch_;
  bool unwatched_ = false;  // there is a folder for which there was no watch
  std::size_t unwatched_folders_ = 0;
  bool warned_ = false;
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<PluginWatcher>> WatchPlugins(const std::string& folder,
                                                      PluginSocketEvents events, logs::Logger log,
                                                      bool inotify) {
  auto watcher = std::make_unique<InotifyWatcher>(folder, std::move(events), log, inotify);
  DRAY_RETURN_IF_ERROR(watcher->Start());
  return watcher;
}

}  // namespace dray::node
