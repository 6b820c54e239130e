#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# An agent and a driver that is wrong on purpose (test/python-driver/bad_driver.py): it hangs, lies, floods, and puts sockets into the
# registry that are no gRPC. Pods are told what is wrong, a good driver's pods run all the while, and the agent stays small.
. "$(dirname "$0")/up.sh"

export PYTHONDONTWRITEBYTECODE=1
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import grpc, google.protobuf' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "SKIPPED: python3-grpcio is not installed"; exit 0; }
processes=
trap 'for process in $processes; do kill -9 "$process" 2>/dev/null || true; done; finish' EXIT
root=$folder/kubelet
fail() {
  echo "FAILED: $1"
  tail -n 20 "$folder/agent.err" "$folder/bad.out" "$folder/bad.err" "$folder/good.err" 2>/dev/null || true
  kubectl get pods,resourceclaims -o wide || true
  kubectl get events || true
  exit 1
}

start
"$DRAY_BINARY" kubeconfig node/n1 --data "$folder/data" >"$folder/node.path"
"$DRAY_BINARY" node --kubeconfig "$(cat "$folder/node.path")" --node-name n1 --root "$root" --runtime none --pod-logs "$folder/logs" \
  --port -1 >"$folder/agent.out" 2>"$folder/agent.err" &
agent=$!
processes="$processes $agent"
eventually n1 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/n1 --timeout=60s

cat >"$folder/good.yaml" <<'X'
driver: good.example.com
pools: [{devices: [{name: d0}, {name: d1}, {name: d2}, {name: d3}, {name: d4}, {name: d5}, {name: d6}, {name: d7}, {name: d8}, {name: d9}]}]
X
"$DRAY_BINARY" kubeconfig driver/good.example.com --node n1 --data "$folder/data" >"$folder/good.path"
"$DRAY_BINARY" driver --from "$folder/good.yaml" --node-name n1 --root "$root" --cdi-dir "$root/cdi" \
  --kubeconfig "$(cat "$folder/good.path")" >"$folder/good.out" 2>"$folder/good.err" &
processes="$processes $!"

# 60 sockets that are no gRPC, and 60 registrations with endless names or of drivers that are there already.
"$DRAY_BINARY" kubeconfig driver/bad.example.com --data "$folder/data" >"$folder/bad.path"
echo none >"$folder/fault"
"$python" "$DRAY_SOURCE/test/python-driver/bad_driver.py" --name bad.example.com --node n1 --root "$root" --cdi-dir "$root/cdi" \
  --num-devices 20 --kubeconfig "$(cat "$folder/bad.path")" --fault-file "$folder/fault" --strangers 60 --floods 60 \
  >"$folder/bad.out" 2>"$folder/bad.err" &
processes="$processes $!"

for driver in good bad; do
  cat <<X
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: $driver}
spec: {selectors: [{cel: {expression: "device.driver == '$driver.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $driver}
spec: {spec: {devices: {requests: [{name: d, exactly: {deviceClassName: $driver}}]}}}
X
done >"$folder/classes.yaml"
says created kubectl apply -f "$folder/classes.yaml"
eventually good.example.com kubectl get resourceslices
eventually bad.example.com kubectl get resourceslices

# pod NAME DRIVER
pod() {
  cat <<X | kubectl apply -f - >"$folder/said" 2>&1 || fail "$(cat "$folder/said")"
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: c, resourceClaimTemplateName: $2}]
  containers: [{name: main, image: i, resources: {claims: [{name: c}]}}]
X
}
runs() { says 'condition met' kubectl wait --for=condition=Ready "pod/$1" --timeout=60s; }
status() { sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$agent/status"; }
# Seconds of processor time so far, in hundredths.
used() { awk '{print $14 + $15}' "/proc/$agent/stat"; }

# In spite of all these sockets both are registered, and what is well works.
pod first good
runs first
pod second bad
runs second
# Sooner or later: there are many sockets, and they are asked one after the other.
eventually 'refused: DRA driver name "nnn' cat "$folder/bad.out"
! grep -q 'nnnnnnnnnn.\{2000\}' "$folder/bad.out" "$folder/agent.err" || fail "endless names are repeated"

# Lies, one after the other: the pod's event says which.
lie() {
  echo "$1" >"$folder/fault"
  pod "$1" bad
  eventually "$2" kubectl get events --field-selector "involvedObject.name=$1,reason=FailedPrepareDynamicResources"
  pod "beside-$1" good
  runs "beside-$1"
  # It ends well as soon as the driver does.
  echo none >"$folder/fault"
  runs "$1"
  says deleted kubectl delete pod "$1" "beside-$1" --timeout=60s
}
lie ghost 'NodePrepareResources returned device n1/ghost for ResourceClaim ghost-c-[a-z0-9]*, which was not allocated to it'
lie stranger 'NodePrepareResources returned result for unknown claim UID 11111111-1111-4111-8111-111111111111'
lie no-request 'NodePrepareResources returned request "nobody-asked" for ResourceClaim'
lie endless-answer 'NodePrepareResources returned 50001 devices with [0-9]* bytes for ResourceClaim'
lie endless-error 'NodePrepareResources failed for ResourceClaim [a-z0-9-]*: eee*\.\.\.'

# A driver that hangs keeps its own pod waiting, and nobody else.
echo hang >"$folder/fault"
pod hangs bad
pod beside-hang good
runs beside-hang
says Pending kubectl get pod hangs -o jsonpath='{.status.phase}'
echo none >"$folder/fault"
runs hangs

# The health of 100,000 devices as fast as the agent reads it, for ten seconds.
before=$(used)
echo flood-health >"$folder/fault"
sleep 10
pod beside-flood good
runs beside-flood
echo none >"$folder/fault"
took=$(($(used) - before))
[ "$took" -lt 800 ] || fail "the flood of health took $took hundredths of a second of the processor"

kill -0 "$agent" || fail "the agent has ended"
echo "agent: VmRSS $(status VmRSS) kB, VmHWM $(status VmHWM) kB, the flood of health took 0.01 s x $took"
[ "$(status VmHWM)" -lt 204800 ] || fail "the agent had $(status VmHWM) kB"
stop
