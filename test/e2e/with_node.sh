# SPDX-License-Identifier: Apache-2.0
#
# What the tests with a real node have in common; they source it. A `dray up` of their own (up.sh), an image with a shell, a driver,
# and an end that leaves nothing: no process, no container, no mount, no cgroup.
. "$(dirname "$0")/up.sh"

[ "$(id -u)" = 0 ] || { echo "SKIPPED: containers need root"; exit 0; }
command -v runc >/dev/null || { echo "SKIPPED: runc is not installed"; exit 0; }
busybox=$(command -v busybox) || { echo "SKIPPED: busybox-static is not installed"; exit 0; }
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c '' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "SKIPPED: python3 is not installed"; exit 0; }

driver=
agent=
node_root=$folder/data/node

fail() {
  echo "FAILED: $1"
  tail -n 30 "$folder/err" "$node_root/../node.log" "$folder/agent.err" "$folder/driver.err" 2>/dev/null || true
  if [ -n "$pid" ]; then
    kubectl get pods,resourceclaims -A -o wide || true
    kubectl get events -A || true
  fi
  exit 1
}

# Whoever was started from here and is still there, by the folder in its command line, or by the one that it is in: shims and the processes
# that hold the namespaces of pods name none, and outlive the agent.
leftovers() {
  for process in /proc/[0-9]*; do
    [ "$process" != "/proc/$$" ] || continue
    case $(readlink "$process/cwd" 2>/dev/null) in "$folder"/*) basename "$process"; continue ;; esac
    if { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep -q -- "$folder"; then basename "$process"; fi
  done
}

finish_node() {
  for process in $agent $driver $pid; do kill -9 "$process" 2>/dev/null || true; done
  pid=
  for root in $(find "$folder" -type d -name state.json -prune -o -type f -name state.json -print 2>/dev/null); do
    runc --root "$(dirname "$(dirname "$root")")" delete -f "$(basename "$(dirname "$root")")" 2>/dev/null || true
  done
  for process in $(leftovers); do kill -9 "$process" 2>/dev/null || true; done
  grep -F "$folder" /proc/self/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do
    umount -l "$mount" 2>/dev/null || true
  done
  # The cgroup that a test gave its agent, which the agent does not remove: it is not its own.
  if [ -n "${cgroup:-}" ]; then find /sys/fs/cgroup -depth -path "*$cgroup*" -type d -exec rmdir {} + 2>/dev/null || true; fi
  finish
}
trap finish_node EXIT

# A machine on which runc cannot run anything is not what is tested here.
trial() {
  mkdir -p "$folder/trial/rootfs/bin"
  cp "$busybox" "$folder/trial/rootfs/bin/busybox"
  (cd "$folder/trial" && runc spec)
  sed -i 's/"terminal": true/"terminal": false/; s/"sh"/"\/bin\/busybox", "true"/' "$folder/trial/config.json"
  runc --root "$folder/trial/root" run --bundle "$folder/trial" "trial-$$" </dev/null >"$folder/said" 2>&1
}
trial || { echo "SKIPPED: runc cannot run a container here: $(cat "$folder/said")"; exit 0; }

# build_image: busybox, with a shell.
build_image() {
  says '' "$DRAY_BINARY" image build --name busybox --binary "$busybox" --link /bin/sh=busybox --images "$folder/data/images"
}

# start_driver NODE ROOT: the driver of $folder/devices.yaml, with controls at $folder/driver.sock.
start_driver() {
  [ -f "$folder/driver.path" ] ||
    "$DRAY_BINARY" kubeconfig driver/gpu.example.com --node "$1" --data "$folder/data" >"$folder/driver.path"
  "$DRAY_BINARY" driver --from "$folder/devices.yaml" --node-name "$1" --root "$2" --cdi-dir "$2/cdi" \
    --kubeconfig "$(cat "$folder/driver.path")" --test-controls "$folder/driver.sock" --metadata \
    >"$folder/driver.out" 2>>"$folder/driver.err" &
  driver=$!
}

# control LINE: what the driver's controls answer.
control() {
  "$python" - "$folder/driver.sock" "$1" <<'X'
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    s.sendall(sys.argv[2].encode() + b"\n")
    text = b""
    while not (text.endswith(b"ok\n") or text.startswith(b"error:") and text.endswith(b"\n")):
        part = s.recv(65536)
        if not part:
            break
        text += part
    print(text.decode(), end="")
X
}

# phase PHASE POD: it gets there within a minute.
phase() {
  says 'condition met' kubectl wait "--for=jsonpath={.status.phase}=$1" "pod/$2" --timeout=60s
}
