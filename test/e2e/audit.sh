#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The audit log of a running control plane, read as an administrator would: who, what, when, how it ended; and the log beside it.
. "$(dirname "$0")/up.sh"
cat >"$folder/policy.yaml" <<'P'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: None, nonResourceURLs: ["*"]}
- level: RequestResponse
  resources: [{group: "", resources: [configmaps, pods]}]
  omitManagedFields: true
- {level: Metadata}
P
sed 's/level: Metadata/level: Meta/' "$folder/policy.yaml" >"$folder/wrong.yaml"
if "$DRAY_BINARY" up --data "$folder/other" --audit-log-path "$folder/a.log" --audit-policy-file "$folder/wrong.yaml" >"$folder/said" 2>&1; then
  fail "a wrong policy is taken"
fi
grep -q 'wrong.yaml: line 10: rules\[3\].level: "Meta" is not a level of auditing; it must be one of None, Metadata' "$folder/said" ||
  fail "it does not say what is wrong: $(cat "$folder/said")"

log="$folder/audit.log"
start --nodes 1 --audit-log-path "$log" --audit-policy-file "$folder/policy.yaml" --logging-format json -v 3
# audited TEXT: within a moment a line of the audit log has it.
audited() {
  for _ in $(seq 100); do
    grep -q -- "$1" "$log" && return
    sleep 0.1
  done
  fail "the audit log lacks $1: $(tail -20 "$log")"
}
kubectl create namespace audited >/dev/null
audited '"level":"Metadata",.*"verb":"create","user":{"username":"kubernetes-admin".*"objectRef":{"resource":"namespaces","name":"audited","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201}'
kubectl run p --image=x >/dev/null
audited '"level":"RequestResponse",.*"requestURI":"/api/v1/namespaces/default/pods.*"requestObject":{.*"responseObject":{.*"authorization.k8s.io/decision":"allow"'
kubectl delete pod p --wait=false >/dev/null
audited '"verb":"delete",.*"name":"p"'
kubectl delete namespace none >/dev/null 2>&1 && fail "a namespace that is not there was deleted"
kubectl --kubeconfig "$folder/data/viewer.kubeconfig" delete namespace audited >/dev/null 2>&1 && fail "a viewer may delete"
audited '"username":"dray-viewer".*"code":403.*"authorization.k8s.io/decision":"forbid"'
kubectl --as=bob --as-group=system:masters label namespace audited a=b >/dev/null
audited '"verb":"patch","user":{"username":"kubernetes-admin".*"impersonatedUser":{"username":"bob","groups":\["system:masters","system:authenticated"\]}'
grep -q '"verb":"get"' "$log" && fail "reads are audited"
# Whoever is not let in, with nothing of what they have tried as a password.
if command -v curl >/dev/null; then
  server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
  [ "$(curl -sk -o "$folder/body" -w '%{http_code}' -X DELETE -H 'Authorization: Bearer guessed' "$server/api/v1/namespaces/audited")" = 401 ] ||
    fail "a wrong token is let in"
  audited '"stage":"ResponseStarted","requestURI":"/api/v1/namespaces/audited","verb":"delete","user":{},.*"message":"Authentication failed, attempted: bearer","code":401'
  grep -q guessed "$log" && fail "a token is in the audit log"
fi
# Each line is an object of its own.
[ "$(grep -c '^{"kind":"Event","apiVersion":"audit.k8s.io/v1",.*}$' "$log")" = "$(wc -l <"$log")" ] || fail "a line is no event"
[ "$(stat -c %a "$log")" = 600 ] || fail "others can read the audit log"
# A request has one name in the answer, the log and the audit log.
id=$(grep '"verb":"delete".*"name":"p"' "$log" | sed 's/.*"auditID":"\([^"]*\)".*/\1/' | head -1)
[ -n "$id" ] || fail "no audit id"
for _ in $(seq 100); do
  grep -q "\"msg\":\"HTTP\",\"verb\":\"delete\".*\"audit-ID\":\"$id\"" "$folder/err" && break
  sleep 0.1
done
grep -q "\"msg\":\"HTTP\",\"verb\":\"delete\".*\"audit-ID\":\"$id\"" "$folder/err" || fail "the log does not know $id"
stop
