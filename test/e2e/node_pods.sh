#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What pods have on a node that really runs them: hooks, probes of their own network, volumes, last words, ports, a profile for system
# calls; and what they ask for and cannot have.
. "$(dirname "$0")/with_node.sh"

mkdir "$folder/host"
cat >"$folder/pods.yaml" <<X
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  nodeName: real-0
  restartPolicy: Never
  terminationGracePeriodSeconds: 10
  hostAliases: [{ip: 192.0.2.9, hostnames: [db.example]}]
  securityContext: {seccompProfile: {type: RuntimeDefault}, fsGroup: 4242, sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: '4242'}]}
  resources: {limits: {memory: 256Mi}}
  volumes:
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: self, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: state, emptyDir: {}}
  - {name: host, hostPath: {path: $folder/host, type: Directory}}
  containers:
  - name: c
    image: busybox
    command: [sh, -c]
    args: ["/bin/busybox mkdir /www && echo hello > /www/index.html && exec /bin/busybox httpd -f -p 80 -h /www"]
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}
    lifecycle:
      postStart: {exec: {command: [sh, -c, "echo started > /state/hook"]}}
      preStop: {exec: {command: [sh, -c, "echo stopping > /host/stopped"]}}
    terminationMessagePath: /dev/termination-log
    volumeMounts:
    - {name: memory, mountPath: /memory}
    - {name: self, mountPath: /self}
    - {name: state, mountPath: /state, subPath: below/it}
    - {name: host, mountPath: /host}
---
apiVersion: v1
kind: Pod
metadata: {name: words}
spec:
  nodeName: real-0
  restartPolicy: Never
  containers:
  - {name: c, image: busybox, command: [sh, -c, "echo because > /dev/termination-log; exit 3"], terminationMessagePath: /dev/termination-log}
  - {name: d, image: busybox, command: [sh, -c, "echo from the log; exit 4"], terminationMessagePolicy: FallbackToLogsOnError}
---
apiVersion: v1
kind: Pod
metadata: {name: wishes}
spec:
  nodeName: real-0
  hostUsers: false
  containers: [{name: c, image: busybox}]
---
apiVersion: v1
kind: Pod
metadata: {name: unsafe}
spec:
  nodeName: real-0
  securityContext: {sysctls: [{name: kernel.sem, value: '1'}]}
  containers: [{name: c, image: busybox}]
---
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  nodeName: real-0
  volumes: [{name: v, nfs: {server: s, path: /}}]
  containers: [{name: c, image: busybox}]
X

start --with-node
build_image
eventually real-0 kubectl get nodes
says 'condition met' kubectl wait --for=condition=Ready node/real-0 --timeout=60s
apply "$folder/pods.yaml"

# Ready: its hook is through, and its own network was asked.
says 'condition met' kubectl wait --for=condition=Ready pod/web --timeout=60s
says '^started$' kubectl exec web -- /bin/busybox cat /state/hook
# As an older client, and as the API server of a Kubernetes, asks.
says '^started$' env KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false kubectl exec web -- /bin/busybox cat /state/hook
refuses 'code 3' env KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false kubectl exec web -- /bin/sh -c 'exit 3'
says '^started$' cat "$node_root/pods/$(kubectl get pod web -o jsonpath='{.metadata.uid}')/volumes/kubernetes.io~empty-dir/state/below/it/hook"
says 'app="web"' kubectl exec web -- /bin/busybox cat /self/labels
# Its account's token, by which the API server knows the pod and its node, and the authority by which it knows the API server.
account=/var/run/secrets/kubernetes.io/serviceaccount
says '^default$' kubectl exec web -- /bin/busybox cat $account/namespace
says 'BEGIN CERTIFICATE' kubectl exec web -- /bin/busybox cat $account/ca.crt
token=$(kubectl exec web -- /bin/busybox cat $account/token)
printf '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"%s"}}' "$token" >"$folder/review.json"
says 'system:serviceaccount:default:default.*real-0' kubectl create -f "$folder/review.json" -o 'jsonpath={.status.user.username} {.status.user.extra}'
says '^192.0.2.9.*db.example' kubectl exec web -- /bin/busybox cat /etc/hosts
says '^web$' kubectl exec web -- /bin/busybox hostname
says 'tmpfs' kubectl exec web -- /bin/busybox df /memory
refuses 'No space' kubectl exec web -- /bin/busybox dd if=/dev/zero of=/memory/f bs=1M count=2
# Root, but with a profile: what reaches beyond the container is refused.
refuses 'not permitted' kubectl exec web -- /bin/busybox unshare -m /bin/busybox true

# Somebody looks into it: with other tools, and at the processes of its container.
looked() {
  kubectl debug web --image=busybox --target=c --profile=general --container="$1" --attach -- \
    /bin/sh -c '/bin/busybox sleep 2; /bin/busybox ps -o args; /bin/busybox sleep 1'
}
says 'httpd -f -p 80' looked looker
field looker '{.status.ephemeralContainerStatuses[0].name}' pod web
field Completed '{.status.ephemeralContainerStatuses[0].state.terminated.reason}' pod web
says 'httpd -f -p 80' kubectl logs web -c looker
terminal() { script -qec "kubectl debug -it web --image=busybox --container=shell --profile=general -- /bin/sh -c 'echo in the pod of \$(/bin/busybox hostname)'" /dev/null </dev/null; }
says 'in the pod of web' terminal
refuses 'Not found' kubectl debug web --image=busybox --target=gone --container=lost --profile=general -- /bin/true
field 0 '{.status.containerStatuses[0].restartCount}' pod web

# Settings of the kernel that are the pod's own.
says '^4242$' kubectl exec web -- /bin/busybox cat /proc/sys/net/ipv4/ip_unprivileged_port_start

# A port of a pod that has no address.
: >"$folder/forward"
kubectl port-forward pod/web :80 >"$folder/forward" 2>&1 &
forwarder=$!
eventually 'Forwarding from' cat "$folder/forward"
port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$folder/forward")
for _ in 1 2 3; do says '^hello$' "$busybox" wget -q -O - "http://127.0.0.1:$port/"; done
: >"$folder/forward"
KUBECTL_PORT_FORWARD_WEBSOCKETS=false kubectl port-forward pod/web :80 >"$folder/forward" 2>&1 &
second=$!
eventually 'Forwarding from' cat "$folder/forward"
port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$folder/forward")
says '^hello$' "$busybox" wget -q -O - "http://127.0.0.1:$port/"
kill "$forwarder" "$second"
: >"$folder/forward"
kubectl port-forward pod/web :81 >"$folder/forward" 2>&1 &
forwarder=$!
eventually 'Forwarding from' cat "$folder/forward"
port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$folder/forward")
"$busybox" wget -q -O - "http://127.0.0.1:$port/" >/dev/null 2>&1 || true
eventually 'refused' cat "$folder/forward"
kill "$forwarder" 2>/dev/null || true

# The end: the hook, then the signal; nothing is left.
says deleted kubectl delete pod web --timeout=30s
says '^stopping$' cat "$folder/host/stopped"

# Last words.
phase Failed words
field because '{.status.containerStatuses[0].state.terminated.message}' pod words
field 'from the log' '{.status.containerStatuses[1].state.terminated.message}' pod words
says deleted kubectl delete pod words --timeout=30s

# What cannot be had is named.
phase Failed wishes
field FieldNotSupported '{.status.reason}' pod wishes
phase Failed unsafe
field SysctlForbidden '{.status.reason}' pod unsafe
says 'spec.hostUsers' kubectl get pod wishes -o 'jsonpath={.status.message}'
eventually 'volumes nfs are not supported' kubectl get events
says deleted kubectl delete pod wishes unsafe waits --timeout=30s
nothing_left() { [ -z "$(ls "$node_root/pods")" ] && ! grep -q "$node_root/pods" /proc/self/mounts && echo nothing; }
eventually nothing nothing_left
echo "OK"
