#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A driver that is wrong on purpose, for test/e2e/bad_drivers.sh: driver.py with one fault.

    bad_driver.py --fault ghost --name bad.example.com --node n1 --root R --cdi-dir C --kubeconfig FILE

The fault may be changed while it runs: it is read from the file --fault-file, if there is one.
"""
import os
import socket
import sys
import threading
import time

import driver

MESSAGES = driver.MESSAGES
# What is wrong, and where it shows.
FAULTS = ("none", "hang", "ghost", "stranger", "no-request", "endless-answer", "endless-error", "flood-health")


class BadDriver(driver.Driver):
    def fault(self):
        with open(self.flags.fault_file, encoding="utf-8") as file:
            return file.read().strip()

    def node_prepare(self, version):
        good = super().node_prepare(version)

        def answer(request, context):
            fault = self.fault()
            if fault == "hang":
                # Until the agent gives up, or somebody changes the fault.
                while context.is_active() and self.fault() == "hang":
                    time.sleep(0.1)
            response = good(request, context)
            for claim in request.claims:
                entry = response.claims[claim.uid]
                if fault == "ghost":
                    entry.devices[0].device_name = "ghost"
                elif fault == "no-request":
                    entry.devices[0].request_names[:] = ["nobody-asked"]
                elif fault == "endless-answer":
                    for _ in range(50000):
                        entry.devices.add().CopyFrom(entry.devices[0])
                elif fault == "endless-error":
                    entry.error = "e" * 1000000
            if fault == "stranger":
                response.claims["11111111-1111-4111-8111-111111111111"].error = ""
            return response
        return answer

    def watch_health(self, version):
        good = super().watch_health(version)

        def answer(request, context):
            flood = MESSAGES[f"{version}.NodeWatchResourcesResponse"]()
            for i in range(100000):
                entry = flood.devices.add(health=1)
                entry.device.pool_name, entry.device.device_name = self.flags.node, f"device-{i:06}"
            for report in good(request, context):
                yield report
                while context.is_active() and self.fault() == "flood-health":
                    for entry in flood.devices:
                        entry.health = 3 - entry.health
                        break
                    yield flood
        return answer


def strangers(registry, count):
    """Sockets that are no gRPC: some say nothing, some talk nonsense without end, some go away at once."""
    def serve(listener, kind):
        while True:
            try:
                connection, _ = listener.accept()
                if kind == "gone":
                    connection.close()
                elif kind == "babble":
                    threading.Thread(target=babble, args=(connection,), daemon=True).start()
                else:
                    kept.append(connection)
            except OSError:
                return

    def babble(connection):
        try:
            while True:
                connection.sendall(b"HTTP/1.1 200 nonsense\r\n" * 1000)
        except OSError:
            connection.close()

    kept = []
    for i in range(count):
        kind = ("silent", "babble", "gone")[i % 3]
        path = os.path.join(registry, f"stranger-{i}.sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        threading.Thread(target=serve, args=(listener, kind), daemon=True).start()


def flood(bad, count):
    """Registrations without end: names that are too long, and drivers that nobody needs."""
    for i in range(count):
        def info(_request, _context, i=i):
            name = "n" * 1000000 if i % 2 == 0 else f"flood-{i}.example.com"
            return MESSAGES["pluginregistration.PluginInfo"](
                type="DRAPlugin", name=name, endpoint=bad.endpoint, supported_versions=["v1.DRAPlugin"])
        servers.append(driver.serve(os.path.join(bad.registry, f"flood-{i}-reg.sock"), {
            "pluginregistration.Registration": {
                "GetInfo": driver.method(info, "pluginregistration.InfoRequest", "pluginregistration.PluginInfo"),
                "NotifyRegistrationStatus": driver.method(
                    bad.notify, "pluginregistration.RegistrationStatus",
                    "pluginregistration.RegistrationStatusResponse")}}))


servers = []


def extend(parser):
    parser.add_argument("--fault-file", required=True)
    parser.add_argument("--strangers", type=int, default=0)
    parser.add_argument("--floods", type=int, default=0)


def began(bad):
    if bad.flags.strangers:
        strangers(bad.registry, bad.flags.strangers)
    if bad.flags.floods:
        flood(bad, bad.flags.floods)


if __name__ == "__main__":
    sys.exit(driver.main(BadDriver, extend, began))
