#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The agent is killed -9 twenty times at random under load, then the driver: no device is prepared for two claims at once, nothing leaks,
# and every pod ends as it should. KILLS and PODS may be set.
. "$(dirname "$0")/with_node.sh"
kills=${KILLS:-20}
pods=${PODS:-12}
root=$folder/kubelet
cgroup=/dray-kills-$$

# A device for each pod: an agent that starts takes the slices of its node away until the driver has published them again, so the pods
# have to be placed before the first kill.
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

start_agent() {
  "$DRAY_BINARY" node --kubeconfig "$(cat "$folder/node.path")" --node-name real-0 --root "$root" --images "$folder/data/images" \
    --cdi-dirs "$root/cdi" --pod-logs "$folder/logs" --cgroup-parent "$cgroup" --port -1 >>"$folder/agent.out" 2>>"$folder/agent.err" &
  agent=$!
}
more() {
  echo "--- agent"
  tail -40 "$folder/agent.err" || true
  echo "--- driver"
  tail -20 "$folder/driver.err" || true
  control calls || true
}
load() {
  for i in $(seq "$1" "$2"); do
    cat <<X
---
apiVersion: v1
kind: Pod
metadata: {name: work-$i, labels: {app: work}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
  containers:
  - name: main
    image: busybox
    command: [/bin/sh, -c, 'echo \$GPU; exec /bin/busybox sleep $((i % 5)).3']
    resources: {claims: [{name: c}]}
X
  done | kubectl apply -f - >"$folder/said" 2>&1 || fail "$(cat "$folder/said")"
}
# Every pod of the load ends within two minutes, and none otherwise than with success.
all_end() {
  give_up=$(($(date +%s) + 120))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    left=$(kubectl get pods -l app=work --no-headers 2>/dev/null | grep -vc ' Completed ' || true)
    [ "$left" != 0 ] || return 0
    sleep 0.5
  done
  more
  fail "$left pods have not ended"
}
nothing_is_left() {
  says '' kubectl delete pods -l app=work --timeout=60s
  give_up=$(($(date +%s) + 90))
  while [ "$(date +%s)" -lt "$give_up" ]; do
    [ "$(control prepared)" != ok ] || break
    sleep 0.5
  done
  [ "$(control prepared)" = ok ] || { more; fail "still prepared: $(control prepared)"; }
  [ -z "$(ls "$root/cdi")" ] || { more; fail "CDI files are left: $(ls "$root/cdi")"; }
  # It is brought up to date when nothing has happened for a second.
  for _ in $(seq 50); do
    if ! grep -q ClaimUID "$root/dra_manager_state"; then break; fi
    sleep 0.1
  done
  ! grep -q ClaimUID "$root/dra_manager_state" || { more; fail "in the state file: $(cat "$root/dra_manager_state")"; }
  field '' '{.items[*].metadata.name}' resourceclaims
  if find "$root/runc" -name state.json 2>/dev/null | grep -q .; then more; fail "containers: $(find "$root/runc" -name state.json)"; fi
  if find /sys/fs/cgroup -maxdepth 4 -path "*$cgroup/pod*" -type d 2>/dev/null | grep -q .; then
    more
    fail "cgroups: $(find /sys/fs/cgroup -maxdepth 4 -path "*$cgroup/pod*" -type d)"
  fi
}

start
build_image
"$DRAY_BINARY" kubeconfig node/real-0 --data "$folder/data" >"$folder/node.path"
apply "$folder/class.yaml"
start_agent
eventually real-0 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/real-0 --timeout=60s
start_driver real-0 "$root"
eventually gpu.example.com kubectl get resourceslices

# The agent dies at any moment: in the middle of preparing, of starting, of unpreparing.
load 1 "$pods"
says '' kubectl wait --for=condition=PodScheduled pods -l app=work --timeout=60s
for i in $(seq "$kills"); do
  sleep "$("$python" -c 'import random; print(random.uniform(0.05, 1.2))')"
  kill -9 "$agent"
  wait "$agent" 2>/dev/null || true
  start_agent
done
all_end
nothing_is_left
control calls >"$folder/calls"
# Preparing may be repeated after a restart; what counts is that each claim's last call is an unprepare, and that no device was asked for
# while another claim had it.
"$python" - "$folder/calls" <<'X' || { more; fail "the calls of the driver are wrong"; }
import sys
last, claims = {}, set()
for line in open(sys.argv[1]):
    words = line.split()
    for claim in words[2:]:
        last[claim.split("/")[2]] = words[1]
        claims.add(claim)
bad = [uid for uid, call in last.items() if call != "unprepare"]
print(f"{len(claims)} claims, {sum(1 for _ in open(sys.argv[1]))} calls")
sys.exit(f"not unprepared at the end: {bad}" if bad or not claims else 0)
X
! grep -q 'is in use by claim' "$folder/driver.err" || { more; fail "a device was given twice"; }

# The driver dies in the middle, three times; the agent stays. One that starts publishes at once.
kill -9 "$driver"
wait "$driver" 2>/dev/null || true
start_driver real-0 "$root"
eventually gpu.example.com kubectl get resourceslices
load 101 "$((100 + pods))"
for _ in 1 2 3; do
  sleep 0.7
  kill -9 "$driver"
  wait "$driver" 2>/dev/null || true
  sleep 0.3
  start_driver real-0 "$root"
done
all_end
nothing_is_left
! grep -q 'is in use by claim' "$folder/driver.err" || { more; fail "a device was given twice"; }
kill -TERM "$agent"
wait "$agent" || fail "the agent ended with code $?"
agent=
stop
