// SPDX-License-Identifier: Apache-2.0
//
// CriClient: the calls of a container runtime (CRI) that an agent makes. Nothing here waits: answers
// come to the functions that are handed in, from threads of the room's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/cri_messages.h"
#include "rpc/messages.h"

namespace dray::rpc {

struct CriOptions {
  std::string endpoint;  // absolute path of the socket
  // Of every call; StopContainer and ExecSync get the time that they were given on top of it.
  std::chrono::nanoseconds deadline = std::chrono::minutes(2);
  std::chrono::nanoseconds pull_deadline = std::chrono::minutes(30);
};

// Errors are the runtime's: kUnavailable, nobody listens; kUnimplemented, an older one; kNotFound.
// Thread-safe; calls that are on their way when it is destroyed are cancelled, and their functions
// called before the destructor returns. It must not be destroyed from inside such a function.
class CriClient {
 public:
  virtual ~CriClient() = default;

  virtual void Version(Done<CriVersion> done) = 0;
  // With all that the runtime tells of itself.
  virtual void Status(Done<CriStatus> done) = 0;
  // kUnimplemented with containerd 1.6.
  virtual void Cgroups(Done<CgroupDriver> done) = 0;

  virtual void RunPodSandbox(const CriSandboxConfig& config, Done<std::string> id) = 0;
  virtual void PodSandboxStatus(const std::string& id, Done<CriSandbox> done) = 0;
  // Empty labels: all.
  virtual void ListPodSandboxes(const CriMap& labels, Done<std::vector<CriSandbox>> done) = 0;
  virtual void StopPodSandbox(const std::string& id, DoneStatus done) = 0;
  virtual void RemovePodSandbox(const std::string& id, DoneStatus done) = 0;

  virtual void CreateContainer(const std::string& sandbox_id, const CriContainerConfig& config,
                               const CriSandboxConfig& sandbox, Done<std::string> id) = 0;
  virtual void StartContainer(const std::string& id, DoneStatus done) = 0;
  virtual void StopContainer(const std::string& id, std::chrono::seconds grace,
                             DoneStatus done) = 0;
  virtual void RemoveContainer(const std::string& id, DoneStatus done) = 0;
  virtual void ContainerStatus(const std::string& id, bool verbose, Done<CriContainer> done) = 0;
  virtual void ListContainers(const CriMap& labels, Done<std::vector<CriContainer>> done) = 0;
  // A timeout of 0: none but the client's.
  virtual void ExecSync(const std::string& id, std::vector<std::string> command,
                        std::chrono::seconds timeout, Done<CriExecResult> done) = 0;
  // The addresses of HTTP servers of the runtime's that stream.
  virtual void ExecUrl(const std::string& id, std::vector<std::string> command, bool tty,
                       bool stdin, Done<std::string> done) = 0;
  virtual void AttachUrl(const std::string& id, bool tty, bool stdin, Done<std::string> done) = 0;
  virtual void PortForwardUrl(const std::string& sandbox_id, std::uint16_t port,
                              Done<std::string> done) = 0;
  // Its log is written to the file that has the log's name now.
  virtual void ReopenLog(const std::string& id, DoneStatus done) = 0;

  // Nothing: it is not there.
  virtual void ImageStatus(const std::string& image, Done<std::optional<CriImage>> done) = 0;
  virtual void PullImage(const std::string& image, const std::optional<CriAuth>& auth,
                         const CriSandboxConfig& sandbox, Done<std::string> reference) = 0;
  virtual void ListImages(Done<std::vector<CriImage>> done) = 0;

  // Opens the stream of events, one at a time. `event` is called for each, `end` once.
  // kUnimplemented with containerd 1.6.
  virtual void WatchEvents(std::function<void(CriEvent)> event, DoneStatus end) = 0;
};

// InvalidArgument: the endpoint is no path that a socket could have. Whether somebody is there shows
// with the first call.
StatusOr<std::unique_ptr<CriClient>> ConnectCri(CriOptions options);

}  // namespace dray::rpc
