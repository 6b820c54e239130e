// SPDX-License-Identifier: Apache-2.0
#include "recorded/recording.h"

#include <utility>

namespace dray::recorded {

class Recording::Stream final : public client::LineStream {
 public:
  Stream(Recording& recording, std::size_t watch, std::string target,
         std::shared_ptr<client::LineStream> inner)
      : recording_(recording),
        watch_(watch),
        target_(std::move(target)),
        inner_(std::move(inner)) {}
  StatusOr<bool> Next(std::string& line) override {
    auto more = inner_->Next(line);
    if (!more.ok() || !*more) return more;
    line = PlainAnswer(target_, recording_.uids_.Counted(line));
    recording_.Heard(watch_, line);
    return true;
  }
  void Cancel() override { inner_->Cancel(); }

 private:
  Recording& recording_;
  const std::size_t watch_;
  const std::string target_;
  const std::shared_ptr<client::LineStream> inner_;
};

class Recording::Client final : public client::HttpClient {
 public:
  Client(Recording& recording, std::unique_ptr<client::HttpClient> server)
      : recording_(recording), server_(std::move(server)) {}

  StatusOr<client::HttpResponse> Send(const client::HttpRequest& request) override {
    const std::size_t call = recording_.Sent(RequestEntry(request, false));
    auto response = server_->Send(Outward(request));
    if (!response.ok()) return response;
    response->body = PlainAnswer(request.target, recording_.uids_.Counted(response->body));
    recording_.Answered(call, response->status, response->body);
    return response;
  }

  StatusOr<std::shared_ptr<client::LineStream>> Open(const client::HttpRequest& request,
                                                     std::chrono::milliseconds longest,
                                                     std::chrono::milliseconds silence) override {
    const std::size_t call = recording_.Sent(RequestEntry(request, true));
    auto stream = server_->Open(Outward(request), longest, silence);
    if (!stream.ok()) return stream;
    recording_.Answered(call, 200, "");
    return std::shared_ptr<client::LineStream>(
        std::make_shared<Stream>(recording_, call, request.target, *std::move(stream)));
  }
  void Close() override { server_->Close(); }

 private:
  client::HttpRequest Outward(client::HttpRequest request) {
    request.target = recording_.uids_.Original(request.target);
    request.body = recording_.uids_.Original(request.body);
    return request;
  }

  Recording& recording_;
  const std::unique_ptr<client::HttpClient> server_;
};

std::unique_ptr<client::HttpClient> Recording::Wrap(std::unique_ptr<client::HttpClient> server) {
  return std::make_unique<Client>(*this, std::move(server));
}

void Recording::Restart() {
  Entry mark;
  mark.method = kRestart;
  Sent(std::move(mark));
}

Transcript Recording::Taken() const {
  const base::MutexLock lock(mutex_);
  return transcript_;
}

std::size_t Recording::Sent(Entry entry) {
  const base::MutexLock lock(mutex_);
  transcript_.entries.push_back(std::move(entry));
  return transcript_.entries.size() - 1;
}

void Recording::Answered(std::size_t call, int status, std::string answer) {
  const base::MutexLock lock(mutex_);
  transcript_.entries[call].status = status;
  transcript_.entries[call].answer = std::move(answer);
}

void Recording::Heard(std::size_t watch, std::string line) {
  Entry entry;
  entry.watch = watch;
  entry.line = std::move(line);
  const base::MutexLock lock(mutex_);
  transcript_.entries.push_back(std::move(entry));
}

}  // namespace dray::recorded
