# SPDX-License-Identifier: Apache-2.0
#
# `dray up` on etcd: what somebody does who outgrows the file, and what docs/operations.md says of it.
. "$DRAY_SOURCE/test/e2e/up.sh"

# A small site with its objects in a file.
start --nodes 3
kubectl create namespace team
kubectl -n team create configmap settings --from-literal=colour=blue
kubectl apply -f "$examples/kep-5075-bandwidth-shares.yaml" >/dev/null 2>&1 || true
old=$(kubectl -n team get configmap settings -o 'jsonpath={.metadata.resourceVersion}')
uid=$(kubectl -n team get configmap settings -o 'jsonpath={.metadata.uid}')
stop

start_etcd
refuses "end that one first\|does not exist" "$DRAY_BINARY" store copy --from "sqlite:$folder/none.db" --to "etcd://$etcd_address"
says "copied and compared" "$DRAY_BINARY" store copy --from "sqlite:$folder/data/dray.db" --to "etcd://$etcd_address"
refuses "keys already" "$DRAY_BINARY" store copy --from "sqlite:$folder/data/dray.db" --to "etcd://$etcd_address"

# The same cluster from etcd, and what it keeps there can be read.
start --store "etcd://$etcd_address"
says "^$uid\$" kubectl -n team get configmap settings -o 'jsonpath={.metadata.uid}{"\n"}'
# A client that goes on where it was has to list again.
says '"code":410' kubectl get --raw "/api/v1/namespaces/team/configmaps?watch=1&timeoutSeconds=2&resourceVersion=$old"
seen() { "${etcd}ctl" --endpoints "http://$etcd_address" get "$@"; }
says '^/dray/registry/core/configmaps/team/settings$' seen --prefix /dray/registry/core/configmaps/team/ --keys-only
says '^/dray/registry/resource.k8s.io/deviceclasses/' seen --prefix /dray/registry/resource.k8s.io/ --keys-only
says '"colour":"blue"' seen --print-value-only /dray/registry/core/configmaps/team/settings
seen --print-value-only /dray/registry/core/configmaps/team/settings | python3 -m json.tool >/dev/null || fail "what is stored is no JSON"
kubectl -n team create configmap more --from-literal=a=b
says "^node-0" kubectl get nodes

# Nobody else decides on the same objects.
refuses "must be alone" timeout 60 "$DRAY_BINARY" up --data "$folder/second" --listen 127.0.0.1:0 --store "etcd://$etcd_address"

# etcd away: writes are refused with a reason, what is in memory is there, and it goes on by itself.
kill -STOP "$etcd_pid"
says '"name":"node-0' kubectl get --raw '/api/v1/nodes?resourceVersion=0'
refuses "with resourceVersion=0 there is what this server knows" kubectl get nodes
says '^ok$' kubectl get --raw /livez
refuses "store-reachable" kubectl get --raw /readyz
kill -CONT "$etcd_pid"
eventually '^ok$' kubectl get --raw /readyz
eventually "configmap/later created\|AlreadyExists" sh -c 'kubectl -n team create configmap later --from-literal=a=b 2>&1; true'
stop

# Another process uses the prefix no more; while one does, nothing is copied.
start --store "etcd://$etcd_address"
refuses "end that one first" "$DRAY_BINARY" store copy --from "etcd://$etcd_address" --to "sqlite:$folder/back.db"
stop

# And back into a file, which must not be there.
says "copied and compared" "$DRAY_BINARY" store copy --from "etcd://$etcd_address" --to "sqlite:$folder/back.db"
mkdir -p "$folder/data" && mv "$folder/back.db" "$folder/data/dray.db" && rm -f "$folder/data"/dray.db-*
start
says "^$uid\$" kubectl -n team get configmap settings -o 'jsonpath={.metadata.uid}{"\n"}'
says "^b\$" kubectl -n team get configmap more -o 'jsonpath={.data.a}{"\n"}'
stop
