#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A node whose containers are containerd's: `dray up`, `dray node --runtime cri`, `dray driver`, kubectl, and a containerd of the test's own.
. "$(dirname "$0")/with_node.sh"

for program in containerd ctr containerd-shim-runc-v2 script nsenter unshare; do
  command -v "$program" >/dev/null || { echo "SKIPPED: $program is not installed"; exit 0; }
done
unshare --mount --propagation private true 2>/dev/null || { echo "SKIPPED: mount namespaces cannot be made here"; exit 0; }

cgroup=/dray-cri-e2e-$$
root=$folder/node
home=$folder/c
socket=$home/c.sock
containerd=
holder=

finish_containerd() {
  for process in $agent $driver $containerd; do kill -9 "$process" 2>/dev/null || true; done
  for process in $(leftovers); do kill -9 "$process" 2>/dev/null || true; done
  for file in $(find /sys/fs/cgroup -path "*$cgroup*" -name cgroup.procs 2>/dev/null); do
    while read -r process; do kill -9 "$process" 2>/dev/null || true; done <"$file"
  done
  [ -z "$holder" ] || kill -9 "$holder" 2>/dev/null || true
  sleep 0.2
  finish_node
}
trap finish_containerd EXIT

# Its files are in a folder, its mounts in a namespace that a process which sleeps keeps: both go with the test. Pods have the address of a
# plugin that only says so.
start_containerd() {
  mkdir -p "$home/root" "$home/state" "$home/net" "$home/plugins" "$home/run"
  cat >"$home/plugins/says" <<'X'
#!/bin/sh
cat >/dev/null
case $CNI_COMMAND in
VERSION) echo '{"cniVersion":"0.4.0","supportedVersions":["0.3.1","0.4.0"]}' ;;
ADD) nsenter --net="$CNI_NETNS" /bin/busybox ip link set lo up
  echo '{"cniVersion":"0.3.1","interfaces":[{"name":"'$CNI_IFNAME'","sandbox":"'$CNI_NETNS'"}],"ips":[{"version":"4","interface":0,"address":"10.99.0.7/24"}]}' ;;
esac
X
  chmod 755 "$home/plugins/says"
  cp "$home/plugins/says" "$home/plugins/loopback"
  echo '{"cniVersion":"0.3.1","name":"says","type":"says"}' >"$home/net/10-says.conf"
  # From 2.0 on it applies CDI itself, and is told where the specs are.
  specs=
  if containerd --version | grep -q ' v\{0,1\}2\.'; then specs="cdi_spec_dirs = ['$root/cdi']"; fi
  cat >"$home/config.toml" <<X
version = 2
root = "$home/root"
state = "$home/state"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "dray.example/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  $specs
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$home/plugins"
    conf_dir = "$home/net"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "$home/runc"
X
  # Shims have their sockets in /run/containerd, wherever containerd has its files. All of /run is another's here: a folder that is made there, and
  # removed by another test at its end, would take the mount on it away.
  unshare --mount --propagation private sh -c "mount --bind $home/run /run && touch $home/held && exec sleep 100000" &
  holder=$!
  for _ in $(seq 100); do [ ! -e "$home/held" ] || break; sleep 0.05; done
  nsenter "--mount=/proc/$holder/ns/mnt" containerd -c "$home/config.toml" >"$home/log" 2>&1 &
  containerd=$!
  eventually Server: ctr -a "$socket" version
  for image in busybox pause; do
    tar -C "$folder/data/images/$(ls "$folder/data/images" | grep "$image")" -cf "$home/$image.tar" .
    says 'done\|saved' ctr -a "$socket" -n k8s.io images import "$home/$image.tar"
  done
}

start_agent() {
  "$DRAY_BINARY" node --kubeconfig "$node_config" --node-name cri-0 --root "$root" --runtime cri --runtime-endpoint "$socket" \
    --cdi-dirs "$root/cdi" --pod-logs "$folder/logs" --cgroup-parent "$cgroup" --port 0 >>"$folder/agent.out" 2>>"$folder/agent.err" &
  agent=$!
}

cat >"$folder/devices.yaml" <<X
driver: gpu.example.com
pools:
- devices:
  - name: gpu-0
    cdi:
      env: ['GPU=\${device}']
      deviceNodes: [{path: /dev/gpu, hostPath: /dev/null}]
      mounts: [{hostPath: $folder/hello, containerPath: /etc/hello, options: [bind, ro]}]
X
echo 'hello from the host' >"$folder/hello"
cat >"$folder/classes.yaml" <<'X'
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
build_image
says '' "$DRAY_BINARY" image build --name dray.example/pause:1 --binary "$busybox" --link /bin/sleep=busybox --cmd /bin/sleep \
  --cmd 2147483647 --images "$folder/data/images"
start_containerd
node_config=$("$DRAY_BINARY" kubeconfig node/cri-0 --data "$folder/data")
start_agent
apply "$folder/classes.yaml"
eventually cri-0 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/cri-0 --timeout=60s
says 'containerd://[12]' kubectl get node cri-0 -o wide
start_driver cri-0 "$root"
eventually gpu.example.com kubectl get resourceslices

# A claim's device, put there by dray for a containerd that knows nothing of CDI; an init container, a restart, the log of before.
cat >"$folder/pod.yaml" <<'X'
apiVersion: v1
kind: Pod
metadata: {name: works}
spec:
  terminationGracePeriodSeconds: 5
  resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
  volumes: [{name: memory, emptyDir: {}}]
  initContainers:
  - name: first
    image: busybox
    command: [/bin/sh, -c, 'echo first; echo written >/memory/init']
    volumeMounts: [{name: memory, mountPath: /memory}]
  containers:
  - name: main
    image: busybox
    stdin: true
    command:
    - /bin/sh
    - -c
    - |
      if [ ! -e /memory/once ]; then echo >/memory/once; echo before $GPU; exit 7; fi
      echo GPU=$GPU; /bin/busybox cat /etc/hello /memory/init; [ -c /dev/gpu ] && echo device
      echo >/memory/ready
      trap 'echo bye; exit 0' TERM
      while read -r line; do echo heard $line; done
      while :; do /bin/busybox sleep 0.1; done
    readinessProbe: {exec: {command: [/bin/busybox, test, -e, /memory/ready]}, periodSeconds: 1}
    volumeMounts: [{name: memory, mountPath: /memory}]
    resources: {claims: [{name: c}]}
X
apply "$folder/pod.yaml"
field 1 '{.status.containerStatuses[0].restartCount}' pod works
runs works
says '^GPU=gpu-0$' kubectl logs works
says '^hello from the host$' kubectl logs works
says '^written$' kubectl logs works
says '^device$' kubectl logs works
says '^before gpu-0$' kubectl logs --previous works
says '^first$' kubectl logs works -c first
field 7 '{.status.containerStatuses[0].lastState.terminated.exitCode}' pod works
field 10.99.0.7 '{.status.podIP}' pod works

# Commands: output, exit code, input and its end, a terminal and its size.
says '^gpu-0$' kubectl exec works -- /bin/sh -c 'echo $GPU'
refuses 'code 3' kubectl exec works -- /bin/sh -c 'exit 3'
refuses 'no such file' kubectl exec works -- /nonsuch
piped() { seq 20000 | kubectl exec -i works -- /bin/busybox wc -l; }
says '^20000$' piped
terminal() { script -qec "stty cols 91 rows 17; kubectl exec -it works -- /bin/sh -c '/bin/busybox sleep 0.5; /bin/busybox stty size'" /dev/null </dev/null; }
says '17 91' terminal
attached() { { echo you; sleep 2; } | timeout 5 kubectl attach -i works || true; }
says '^heard you' attached

# Somebody looks into it.
looked() {
  kubectl debug works --image=busybox --target=main --profile=general --container=looker --attach -- \
    /bin/sh -c '/bin/busybox sleep 2; /bin/busybox ps -o args; /bin/busybox sleep 1'
}
says 'memory/once' looked
field Completed '{.status.ephemeralContainerStatuses[0].state.terminated.reason}' pod works

# A port of the pod, and one on which nobody listens.
forward() {
  : >"$folder/forward"
  kubectl port-forward pod/works ":$1" >"$folder/forward" 2>&1 &
  forwarder=$!
  eventually 'Forwarding from' cat "$folder/forward"
  port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$folder/forward")
}
serve='/bin/busybox mkdir -p /memory/www; echo hello >/memory/www/index.html; /bin/busybox httpd -p 80 -h /memory/www'
says '' kubectl exec works -- /bin/sh -c "$serve"
forward 80
for _ in 1 2 3; do eventually '^hello$' "$busybox" wget -q -O - "http://127.0.0.1:$port/"; done
kill "$forwarder"
forward 81
"$busybox" wget -q -O - "http://127.0.0.1:$port/" >/dev/null 2>&1 || true
eventually 'refused' cat "$folder/forward"
kill "$forwarder" 2>/dev/null || true

# The agent is killed; the container goes on, the next agent finds it, and nothing was started again.
before=$(kubectl get pod works -o jsonpath='{.status.containerStatuses[0].containerID}')
case $before in containerd://*) ;; *) fail "the container is called $before" ;; esac
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
start_agent
alive() { kubectl exec works -- /bin/sh -c 'echo alive'; }
eventually '^alive$' alive
field "$before" '{.status.containerStatuses[0].containerID}' pod works
field 1 '{.status.containerStatuses[0].restartCount}' pod works

# An image that is nowhere.
cat >"$folder/lost.yaml" <<'X'
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: '127.0.0.1:1/lost:1'}]
X
apply "$folder/lost.yaml"
eventually '127.0.0.1:1/lost:1' kubectl events --for pod/lost --types=Warning
field ErrImagePull '{.status.containerStatuses[0].state.waiting.reason}' pod lost

# The end: asked to, given time, and nothing is left.
kubectl logs -f works >"$folder/followed" 2>&1 &
follower=$!
says deleted kubectl delete pod works lost --timeout=40s
wait "$follower" || true
grep -q '^bye$' "$folder/followed" || fail "it was not asked to end: $(cat "$folder/followed")"
eventually '^ok$' control prepared
[ "$(control prepared)" = ok ] || fail "still prepared: $(control prepared)"
[ -z "$(ls "$root/cdi")" ] || fail "CDI files are left: $(ls "$root/cdi")"
nothing() { [ -z "$(ctr -a "$socket" -n k8s.io containers ls -q)" ] && echo nothing; }
eventually nothing nothing
kill -TERM "$agent" "$driver"
wait "$agent" || fail "the agent ended with code $?"
wait "$driver" || fail "the driver ended with code $?"
agent= driver=
stop
