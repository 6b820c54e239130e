#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How much memory the process of an agent has with 110 pods, each with a claim: RUNTIME none by default, or runc. LIMIT is in kB.
runtime=${RUNTIME:-none}
if [ "$runtime" = runc ]; then . "$(dirname "$0")/with_node.sh"; else . "$(dirname "$0")/up.sh"; fi
limit=${LIMIT:-40960}
pods=${PODS:-110}
root=$folder/kubelet
cgroup=/dray-memory-$$
processes=
trap 'for process in $processes; do kill -9 "$process" 2>/dev/null || true; done; if [ "$runtime" = runc ]; then finish_node; else finish; fi' EXIT

{
  echo 'driver: gpu.example.com'
  echo 'pools: [{devices: ['
  for i in $(seq "$pods"); do echo "  {name: gpu-$i, cdi: {env: ['GPU=\${device}']}},"; done
  echo ']}]'
} >"$folder/devices.yaml"
cat >"$folder/class.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
X
start
if [ "$runtime" = runc ]; then build_image; fi
"$DRAY_BINARY" kubeconfig node/n1 --data "$folder/data" >"$folder/node.path"
"$DRAY_BINARY" node --kubeconfig "$(cat "$folder/node.path")" --node-name n1 --root "$root" --runtime "$runtime" --images "$folder/data/images" \
  --cdi-dirs "$root/cdi" --pod-logs "$folder/logs" --cgroup-parent "$cgroup" --max-pods "$pods" --port 0 >"$folder/agent.out" 2>"$folder/agent.err" &
agent=$!
processes="$processes $agent"
eventually n1 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/n1 --timeout=60s
status() { sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$agent/status"; }
echo "no pods: VmRSS $(status VmRSS) kB"
"$DRAY_BINARY" kubeconfig driver/gpu.example.com --node n1 --data "$folder/data" >"$folder/driver.path"
"$DRAY_BINARY" driver --from "$folder/devices.yaml" --node-name n1 --root "$root" --cdi-dir "$root/cdi" \
  --kubeconfig "$(cat "$folder/driver.path")" >"$folder/driver.out" 2>"$folder/driver.err" &
processes="$processes $!"
eventually gpu.example.com kubectl get resourceslices
says created kubectl apply -f "$folder/class.yaml"
for i in $(seq "$pods"); do
  cat <<X
---
apiVersion: v1
kind: Pod
metadata: {name: pod-$i, labels: {app: memory, tier: test, team: nodes}}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
  containers:
  - name: main
    image: busybox
    command: [/bin/busybox, sleep, "10000"]
    env: [{name: A, value: a}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    resources: {claims: [{name: c}], requests: {cpu: 1m, memory: 1Mi}}
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {}}]
X
done >"$folder/pods.yaml"
says created kubectl apply -f "$folder/pods.yaml"
says 'condition met' kubectl wait --for=condition=Ready pods -l app=memory --timeout=240s
[ "$(kubectl get pods -l app=memory --no-headers | grep -c Running)" = "$pods" ] || fail "not all pods run"
sleep 3
echo "$pods pods, $runtime: VmRSS $(status VmRSS) kB, VmHWM $(status VmHWM) kB, $(ls "/proc/$agent/task" | wc -l) threads"
grep -E '^(RssAnon|RssFile|RssShmem)' "/proc/$agent/status" || true
[ "$(status VmHWM)" -lt "$limit" ] || fail "an agent with $pods pods had $(status VmHWM) kB, more than $limit"
# Containers and what is mounted for them outlive their agent: they go while it is there.
says deleted kubectl delete pods -l app=memory --timeout=240s
if [ "$runtime" = runc ]; then
  [ -z "$(find "$root/runc/containers" "$root/runc/sandboxes" -mindepth 1 2>/dev/null)" ] || fail "something is left in $root/runc"
fi
kill -TERM "$agent"
wait "$agent" || fail "the agent ended with $?"
stop
