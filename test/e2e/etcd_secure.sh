# SPDX-License-Identifier: Apache-2.0
#
# etcd with TLS, client certificates, users and rights: what each of them refuses, in a sentence, and that dray works with them.
. "$DRAY_SOURCE/test/e2e/up.sh"
command -v openssl >/dev/null || { echo "SKIPPED: openssl is not installed"; exit 0; }
tls="$folder/tls"
mkdir "$tls"

# authority NAME; certificate NAME COMMON_NAME AUTHORITY
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" -keyout "$tls/$1.key" -out "$tls/$1.crt" 2>/dev/null
}
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$tls/$1.key" -out "$tls/$1.csr" 2>/dev/null
  echo "subjectAltName=IP:127.0.0.1,DNS:localhost" >"$tls/extensions"
  openssl x509 -req -in "$tls/$1.csr" -CA "$tls/$3.crt" -CAkey "$tls/$3.key" -CAcreateserial -days 2 -extfile "$tls/extensions" -out "$tls/$1.crt" 2>/dev/null
}
authority good
authority other
certificate server etcd good
certificate client dray good
certificate stranger dray other

etcd_scheme=https
etcd_tls="--cacert $tls/good.crt --cert $tls/client.crt --key $tls/client.key"
start_etcd --trusted-ca-file "$tls/good.crt" --cert-file "$tls/server.crt" --key-file "$tls/server.key" --client-cert-auth
# shellcheck disable=SC2086
seen() { "${etcd}ctl" --endpoints "https://$etcd_address" $etcd_tls "$@"; }

# cannot TEXT FLAGS...: it does not start, and what it says is one line with this.
cannot() {
  text=$1
  shift
  refuses "$text" timeout 60 "$DRAY_BINARY" up --data "$folder/none" --listen 127.0.0.1:0 "$@"
  [ "$(grep -c . "$folder/said")" -le 2 ] || fail "more than a sentence: $(cat "$folder/said")"
}

# ---- certificates
cannot "certificate" --store "etcds://$etcd_address"
cannot "certificate" --store "etcds://$etcd_address" --etcd-cafile "$tls/other.crt" --etcd-certfile "$tls/client.crt" --etcd-keyfile "$tls/client.key"
cannot "certificate" --store "etcds://$etcd_address" --etcd-cafile "$tls/good.crt"
cannot "certificate" --store "etcds://$etcd_address" --etcd-cafile "$tls/good.crt" --etcd-certfile "$tls/stranger.crt" --etcd-keyfile "$tls/stranger.key"
cannot "etcds://" --store "etcd://$etcd_address"
cannot "must be given together" --store "etcds://$etcd_address" --etcd-certfile "$tls/client.crt"
cannot "cannot be read" --store "etcds://$etcd_address" --etcd-cafile "$tls/nothing.crt"
cannot "need an etcd address" --etcd-cafile "$tls/good.crt"

store="--store etcds://$etcd_address/site --etcd-cafile $tls/good.crt --etcd-certfile $tls/client.crt --etcd-keyfile $tls/client.key"
start --nodes 1
says "over TLS, keys below /site" cat "$folder/out"
kubectl create configmap settings --from-literal=colour=blue
says "^/site/registry/core/configmaps/default/settings$" seen get --prefix /site/registry/core/configmaps/default/settings --keys-only
stop

# ---- users and rights
seen role add site >/dev/null
seen role grant-permission site readwrite /site/ --prefix=true >/dev/null
for user in root stranger; do seen user add "$user" --new-user-password "secret of $user" >/dev/null; done
seen user add operator --new-user-password "secret of operator" >/dev/null
seen user grant-role operator site >/dev/null
seen user grant-role root root >/dev/null
# By its certificate it is the user dray, who may do nothing yet.
seen user add dray --no-password >/dev/null
seen auth enable >/dev/null
password() { printf '%s\n' "$1" >"$tls/password" && chmod 600 "$tls/password"; }

# shellcheck disable=SC2086
cannot 'the keys that begin with "/site/".*read and write' $store
password "secret of stranger"
# shellcheck disable=SC2086
cannot 'refuses user "stranger" the keys that begin with "/site/"' $store --etcd-user stranger --etcd-password-file "$tls/password"
password "wrong"
# shellcheck disable=SC2086
cannot "authentication failed, invalid user ID or password" $store --etcd-user operator --etcd-password-file "$tls/password"
password "secret of operator"
chmod 644 "$tls/password"
# shellcheck disable=SC2086
cannot "other than its owner can" $store --etcd-user operator --etcd-password-file "$tls/password"
chmod 600 "$tls/password"
plain=$store
store="$store --etcd-user operator --etcd-password-file $tls/password"
start
says "^blue\$" kubectl get configmap settings -o 'jsonpath={.data.colour}{"\n"}'
stop

# A right for the user of the certificate is enough.
seen --user "root:secret of root" user grant-role dray site >/dev/null
store=$plain
start
says "^blue\$" kubectl get configmap settings -o 'jsonpath={.data.colour}{"\n"}'
# Taken away while it runs: writes are refused with etcd's reason, and come back with the right.
seen --user "root:secret of root" user revoke-role dray site >/dev/null
eventually "permission denied" sh -c 'kubectl create configmap late --from-literal=a=b --request-timeout=20s 2>&1; true'
seen --user "root:secret of root" user grant-role dray site >/dev/null
eventually "created\|AlreadyExists" sh -c 'kubectl create configmap later --from-literal=a=b 2>&1; true'
stop
