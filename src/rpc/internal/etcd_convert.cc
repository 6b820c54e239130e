// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/etcd_convert.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dray::rpc::internal {
namespace {

namespace pb = etcdserverpb;

void Fill(const EtcdRange& from, pb::RangeRequest& to) {
  to.set_key(from.key);
  to.set_range_end(from.end);
  to.set_limit(from.limit);
  to.set_revision(from.revision);
  to.set_serializable(from.serializable);
  to.set_keys_only(from.keys_only);
  to.set_count_only(from.count_only);
}

void Fill(const EtcdCompare& from, pb::Compare& to) {
  to.set_result(from.greater ? pb::Compare::GREATER : pb::Compare::EQUAL);
  to.set_key(from.key);
  if (from.what == EtcdCompare::What::kCreated) {
    to.set_target(pb::Compare::CREATE);
    to.set_create_revision(from.number);
  } else {
    to.set_target(pb::Compare::MOD);
    to.set_mod_revision(from.number);
  }
}

void Fill(const EtcdTransaction& from, pb::TxnRequest& to);

void Fill(const EtcdOperation& from, pb::RequestOp& to) {
  if (const auto* range = std::get_if<EtcdRange>(&from.what)) {
    Fill(*range, *to.mutable_request_range());
  } else if (const auto* put = std::get_if<EtcdPut>(&from.what)) {
    pb::PutRequest& request = *to.mutable_request_put();
    request.set_key(put->key);
    request.set_value(*put->value);
    request.set_lease(put->lease);
  } else if (const auto* gone = std::get_if<EtcdDelete>(&from.what)) {
    to.mutable_request_delete_range()->set_key(gone->key);
  } else {
    Fill(std::get<EtcdTransaction>(from.what), *to.mutable_request_txn());
  }
}

void Fill(const EtcdTransaction& from, pb::TxnRequest& to) {
  for (const EtcdCompare& compare : from.compares) Fill(compare, *to.add_compare());
  for (const EtcdOperation& operation : from.success) Fill(operation, *to.add_success());
  for (const EtcdOperation& operation : from.failure) Fill(operation, *to.add_failure());
}

EtcdKeyValue Read(pb::KeyValue& from) {
  return {.key = std::move(*from.mutable_key()),
          .value = std::move(*from.mutable_value()),
          .created = from.create_revision(),
          .modified = from.mod_revision(),
          .lease = from.lease()};
}

std::vector<EtcdKeyValue> ReadAll(pb::RangeResponse& from) {
  std::vector<EtcdKeyValue> kvs;
  kvs.reserve(static_cast<std::size_t>(from.kvs_size()));
  for (pb::KeyValue& kv : *from.mutable_kvs()) kvs.push_back(Read(kv));
  return kvs;
}

EtcdTransactionAnswer Read(pb::TxnResponse& from) {
  EtcdTransactionAnswer answer{.header = FromProto(from.header()), .succeeded = from.succeeded()};
  answer.answers.resize(static_cast<std::size_t>(from.responses_size()));
  for (std::size_t i = 0; i < answer.answers.size(); ++i) {
    pb::ResponseOp& one = *from.mutable_responses(static_cast<int>(i));
    if (one.has_response_range()) answer.answers[i].kvs = ReadAll(*one.mutable_response_range());
    if (one.has_response_txn()) answer.answers[i].transaction = Read(*one.mutable_response_txn());
  }
  return answer;
}

}  // namespace

pb::RangeRequest ToProto(const EtcdRange& range) {
  pb::RangeRequest request;
  Fill(range, request);
  return request;
}

pb::TxnRequest ToProto(const EtcdTransaction& transaction) {
  pb::TxnRequest request;
  Fill(transaction, request);
  return request;
}

// Without previous versions, which are silently missing once they are compacted. And in one piece:
// etcd measures a response anew with each event that it puts into a fragment, which takes it half a
// minute for 100,000 small ones.
pb::WatchRequest ToProto(const EtcdWatchRequest& request) {
  pb::WatchRequest out;
  pb::WatchCreateRequest& create = *out.mutable_create_request();
  create.set_key(request.key);
  create.set_range_end(request.end);
  create.set_start_revision(request.start);
  create.set_progress_notify(true);
  return out;
}

bool Answers(const pb::TxnRequest& asked, const pb::TxnResponse& told) {
  const auto& operations = told.succeeded() ? asked.success() : asked.failure();
  if (operations.size() != told.responses_size()) return false;
  for (int i = 0; i < operations.size(); ++i) {
    const pb::RequestOp& one = operations[i];
    const pb::ResponseOp& answer = told.responses(i);
    // The cases of both have the same numbers.
    if (static_cast<int>(one.request_case()) != static_cast<int>(answer.response_case())) {
      return false;
    }
    if (one.has_request_txn() && !Answers(one.request_txn(), answer.response_txn())) return false;
  }
  return true;
}

EtcdHeader FromProto(const pb::ResponseHeader& header) {
  return {
      .cluster = header.cluster_id(), .member = header.member_id(), .revision = header.revision()};
}

EtcdRangeAnswer FromProto(pb::RangeResponse&& answer) {
  return {.header = FromProto(answer.header()),
          .kvs = ReadAll(answer),
          .more = answer.more(),
          .count = answer.count()};
}

EtcdTransactionAnswer FromProto(pb::TxnResponse&& answer) { return Read(answer); }

EtcdWatchAnswer FromProto(pb::WatchResponse&& answer) {
  EtcdWatchAnswer out{.header = FromProto(answer.header()),
                      .watch = answer.watch_id(),
                      .created = answer.created(),
                      .canceled = answer.canceled(),
                      .fragment = answer.fragment(),
                      .compacted = answer.compact_revision(),
                      .reason = answer.cancel_reason()};
  out.events.reserve(static_cast<std::size_t>(answer.events_size()));
  for (pb::Event& event : *answer.mutable_events()) {
    out.events.push_back(
        {.kv = Read(*event.mutable_kv()), .deleted = event.type() == pb::Event::DELETE});
  }
  return out;
}

EtcdStatus FromProto(const pb::StatusResponse& answer) {
  return {.header = FromProto(answer.header()),
          .version = answer.version(),
          .size = answer.db_size(),
          .size_in_use = answer.db_size_in_use(),
          .leader = answer.leader(),
          .errors = {answer.errors().begin(), answer.errors().end()},
          .learner = answer.is_learner()};
}

}  // namespace dray::rpc::internal
