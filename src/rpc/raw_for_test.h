// SPDX-License-Identifier: Apache-2.0
//
// For tests of what goes over the wire: a server and a client that know no message, only bytes, and
// bytes written down field by field as the tables of the specification have them.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace dray::rpc {

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = "/tmp/dray-rpc-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// A function that is called once from another thread, and what it was called with.
template <class T>
class Answered {
 public:
  std::function<void(T)> done() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  T Get() {
    auto future = promise_->get_future();
    if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) std::abort();
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
};

// ---- bytes

inline std::string Varint(std::uint64_t value) {
  std::string out;
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
  return out;
}
// A field with a number, and one with text, bytes or a message.
inline std::string N(unsigned number, std::int64_t value) {
  return Varint(number << 3) + Varint(static_cast<std::uint64_t>(value));
}
inline std::string S(unsigned number, std::string_view bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}
// An entry of a map of texts.
inline std::string M(unsigned number, std::string_view key, std::string_view value) {
  return S(number, S(1, key) + S(2, value));
}

inline std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}
inline std::string Unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

inline grpc::ByteBuffer ToBuffer(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}
inline std::string FromBuffer(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) std::abort();
  std::string out;
  for (const grpc::Slice& slice : slices) {
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return out;
}

// ---- a server of bytes

struct RawAnswer {
  std::vector<std::string> messages;  // one for a unary call
  grpc::Status status = grpc::Status::OK;
  bool stays_open = false;  // after the messages, until it is cancelled
};

class RawServer final : public grpc::CallbackGenericService {
 public:
  explicit RawServer(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~RawServer() override { server_->Shutdown(std::chrono::system_clock::now()); }

  void Answer(const std::string& method, RawAnswer answer) {
    const base::MutexLock lock(mutex_);
    answers_[method] = std::move(answer);
  }
  // Method and request in hex, in order.
  std::vector<std::pair<std::string, std::string>> Calls() {
    const base::MutexLock lock(mutex_);
    return calls_;
  }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(RawServer& server, std::string method) : server_(server), method_(std::move(method)) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      {
        const base::MutexLock lock(server_.mutex_);
        server_.calls_.emplace_back(method_, ok ? Hex(FromBuffer(request_)) : "none");
        const auto found = server_.answers_.find(method_);
        if (found == server_.answers_.end()) {
          answer_.status = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method");
        } else {
          answer_ = found->second;
        }
      }
      WriteOn();
    }
    void OnWriteDone(bool ok) override {
      if (ok) {
        WriteOn();
      } else {
        End(grpc::Status::CANCELLED);
      }
    }
    void OnCancel() override { End(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    void WriteOn() {
      if (next_ < answer_.messages.size()) {
        message_ = ToBuffer(answer_.messages[next_++]);
        StartWrite(&message_);
      } else if (!answer_.stays_open) {
        End(answer_.status);
      }
    }
    void End(const grpc::Status& status) {
      if (!ended_.exchange(true)) Finish(status);
    }

    RawServer& server_;
    const std::string method_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer message_;
    RawAnswer answer_;
    std::size_t next_ = 0;
    std::atomic<bool> ended_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Call(*this, context->method());
  }

  base::Mutex mutex_;
  std::map<std::string, RawAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> calls_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

// ---- a client of bytes

struct RawReply {
  grpc::Status status;
  std::string message;
};

inline RawReply RawCall(const std::string& path, const std::string& method,
                        std::string_view request) {
  grpc::GenericStub stub(grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const grpc::ByteBuffer bytes = ToBuffer(request);
  grpc::ByteBuffer response;
  Answered<grpc::Status> answered;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &bytes, &response, answered.done());
  RawReply reply{.status = answered.Get()};
  if (reply.status.ok()) reply.message = FromBuffer(response);
  return reply;
}

}  // namespace dray::rpc
