#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kubectl's verbs on workloads that are not Deployments, what it makes for others (services, autoscalers), and the kinds of devices
# that are off by default: what pools have, and devices that are part of a node.
. "$(dirname "$0")/up.sh"
start --nodes 2 --feature-gates DRAResourcePoolStatus=true,DRAPartitionableDevicesType=true,DRANodeAllocatableResources=true

# Daemon sets: a pod on each node, revisions, and the way back.
daemons() { # IMAGE
  cat <<X
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
  annotations: {kubernetes.io/change-cause: "image $1"}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers:
      - {name: main, image: "example.com/agent:$1"}
X
}
daemons 1 >"$folder/agent.yaml"
apply "$folder/agent.yaml"
says 'successfully rolled out' kubectl rollout status daemonset/agent --timeout=30s
daemons 2 >"$folder/agent.yaml"
apply "$folder/agent.yaml"
says 'successfully rolled out' kubectl rollout status daemonset/agent --timeout=30s
says '^2  *image 2' kubectl rollout history daemonset/agent
says 'example.com/agent:1' kubectl rollout history daemonset/agent --revision=1
says 'rolled back' kubectl rollout undo daemonset/agent
says 'successfully rolled out' kubectl rollout status daemonset/agent --timeout=30s
field example.com/agent:1 '{.spec.template.spec.containers[0].image}' daemonset agent
says '^3 ' kubectl rollout history daemonset/agent
says restarted kubectl rollout restart daemonset/agent
says 'successfully rolled out' kubectl rollout status daemonset/agent --timeout=30s

# Stateful sets.
cat >"$folder/db.yaml" <<X
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: main, image: "example.com/db:1"}]
X
apply "$folder/db.yaml"
says '\(partitioned roll out complete\|rolling update complete\)' kubectl rollout status statefulset/db --timeout=30s
says 'image updated' kubectl set image statefulset/db main=example.com/db:2
says '\(partitioned roll out complete\|rolling update complete\)' kubectl rollout status statefulset/db --timeout=30s
says '^2 ' kubectl rollout history statefulset/db
says 'rolled back' kubectl rollout undo statefulset/db
says '\(partitioned roll out complete\|rolling update complete\)' kubectl rollout status statefulset/db --timeout=30s
field example.com/db:1 '{.spec.template.spec.containers[0].image}' statefulset db
says scaled kubectl scale statefulset/db --replicas=1

# Services and autoscalers are stored; what kubectl needs of the cluster is there.
says created kubectl create deployment web --image=example.com/web:1 --port=80
says exposed kubectl expose deployment web --port=80 --target-port=8080
field 8080 '{.spec.ports[0].targetPort}' service web
says autoscaled kubectl autoscale deployment web --min=1 --max=5 --cpu-percent=80
field 80 '{.spec.metrics[0].resource.target.averageUtilization}' horizontalpodautoscaler.v2.autoscaling web
field 80 '{.spec.targetCPUUtilizationPercentage}' horizontalpodautoscaler.v1.autoscaling web
says 'Deployment/web' kubectl get hpa
says 'is running at' kubectl cluster-info
refuses 'Metrics API not available' kubectl top nodes
refuses 'Metrics API not available' kubectl top pods

# Budgets: whom they keep is not evicted, and the answer says how many there are and must be.
says created kubectl create poddisruptionbudget web --selector=app=web --min-available=1
says 'successfully rolled out' kubectl rollout status deployment/web --timeout=20s
field 0 '{.status.disruptionsAllowed}' poddisruptionbudget web
field 1 '{.status.currentHealthy}' poddisruptionbudget web
node=$(kubectl get pods -l app=web -o 'jsonpath={.items[0].spec.nodeName}')
refuses 'Cannot evict pod as it would violate the pod.s disruption budget' \
  kubectl drain "$node" --ignore-daemonsets --pod-selector=app=web --timeout=3s
says uncordoned kubectl uncordon "$node"

# What pools have, and devices that are part of their node.
cat >"$folder/cores.yaml" <<X
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: cores}
spec: {selectors: [{cel: {expression: device.driver == "cores.example.com"}}]}
---
apiVersion: v1
kind: Node
metadata: {name: cores}
status:
  capacity: {cpu: "8", memory: 16Gi, pods: "110"}
  allocatable: {cpu: "8", memory: 16Gi, pods: "110"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: cores}
spec:
  driver: cores.example.com
  nodeName: cores
  pool: {name: cores, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: g0, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "5"}}}}
  - {name: g1, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "5"}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: cores}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: cores}}]}}}
X
apply "$folder/cores.yaml"
pinned() { # NAME
  cat <<X
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  resourceClaims: [{name: c, resourceClaimTemplateName: cores}]
  containers: [{name: main, image: x, resources: {requests: {cpu: "1"}, claims: [{name: c}]}}]
X
}
pinned one >"$folder/pod.yaml"
apply "$folder/pod.yaml"
runs one
field 5 '{.status.nodeAllocatableResourceClaimStatuses[0].mapping[0].quantity}' pod one
field main '{.status.nodeAllocatableResourceClaimStatuses[0].containers[0]}' pod one
pinned two >"$folder/pod.yaml"
apply "$folder/pod.yaml"
# There is a second device, and no cpu for it: 6 of 8 are taken.
eventually 'Insufficient cpu' kubectl get events --field-selector involvedObject.name=two
cat >"$folder/question.yaml" <<X
apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata: {name: cores}
spec: {driver: cores.example.com}
X
apply "$folder/question.yaml"
eventually '^cores  *cores.example.com  *2  *1  *1  *0  *0  *1  *Complete' kubectl get resourcepoolstatusrequests --no-headers
refuses 'field is immutable' kubectl patch resourcepoolstatusrequest cores --type=merge -p '{"spec":{"driver":"other.example.com"}}'
says deleted kubectl delete pod one --timeout=20s
runs two

stop
