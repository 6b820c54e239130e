#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small driver in Python: what an author needs who does not use dray's library. docs/drivers.md walks through it.

    driver.py --name py.example.com --node n1 --root /var/lib/kubelet --cdi-dir /var/run/cdi --kubeconfig FILE

kubectl does the talking to the API server; everything else is grpcio, and the wire tables of wire.py.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures

import grpc

import wire

MESSAGES = wire.load()
DRA_VERSIONS = ("v1", "v1beta1")
HEALTH_VERSIONS = ("v1", "v1alpha1")


class Refused(Exception):
    """A claim that cannot be prepared; its text is for people."""


def write_whole(path, value):
    """All of it or nothing, whoever reads meanwhile and whenever the power fails."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)


class Cluster:
    """The API server, by way of kubectl."""

    def __init__(self, kubeconfig):
        self.command = ["kubectl", "--kubeconfig", kubeconfig]

    def run(self, *words, text=None):
        done = subprocess.run([*self.command, *words], input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return done.stdout

    def get(self, *words):
        return json.loads(self.run("get", *words, "-o", "json"))


class Driver:
    def __init__(self, flags):
        self.flags = flags
        self.cluster = Cluster(flags.kubeconfig)
        self.plugin = os.path.join(flags.root, "plugins", flags.name)
        self.registry = os.path.join(flags.root, "plugins_registry")
        self.endpoint = os.path.join(self.plugin, "dra.sock")
        self.devices = [f"device-{i:02}" for i in range(flags.num_devices)]
        self.lock = threading.Lock()  # one call after the other

    # What is prepared is on disk: a driver that is killed has to know it afterwards.
    def record(self, uid):
        return os.path.join(self.plugin, "claims", os.path.basename(uid) + ".json")

    def records(self):
        folder = os.path.join(self.plugin, "claims")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    yield json.load(file)

    def cdi_file(self, uid):
        return os.path.join(self.flags.cdi_dir, f"{self.flags.name}-{os.path.basename(uid)}.json")

    def results(self, claim):
        """What the claim was given of this driver, if it is what the agent thinks it is."""
        stored = self.cluster.get("resourceclaim", "-n", claim.namespace, claim.name)
        if stored["metadata"]["uid"] != claim.uid:
            raise Refused(f"claim {claim.namespace}/{claim.name} got replaced")
        allocation = stored.get("status", {}).get("allocation")
        if allocation is None:
            raise Refused(f"claim {claim.namespace}/{claim.name} not allocated")
        return [r for r in allocation["devices"].get("results", []) if r["driver"] == self.flags.name]

    def prepare(self, claim):
        results = self.results(claim)
        for other in self.records():
            for held in other["devices"]:
                if other["uid"] != claim.uid and (held["pool"], held["device"]) in [
                        (r["pool"], r["device"]) for r in results if not r.get("adminAccess")]:
                    raise Refused(f"device {held['pool']}/{held['device']} is in use by claim {other['uid']}")
        devices, cdi = [], []
        for i, result in enumerate(results):
            name = f"{claim.uid}-{i}"
            cdi.append({"name": name, "containerEdits": {"env": [f"PYTHON_DEVICE_{i}={result['device']}"]}})
            devices.append({"request": result["request"].split("/")[0], "pool": result["pool"],
                            "device": result["device"], "share": result.get("shareID"),
                            "cdi": [f"{self.flags.name}/claim={name}"]})
        # Remembered first: what was begun before a crash is undone by the agent's unprepare.
        write_whole(self.record(claim.uid), {"uid": claim.uid, "devices": devices})
        if cdi:
            write_whole(self.cdi_file(claim.uid),
                        {"cdiVersion": "0.5.0", "kind": f"{self.flags.name}/claim", "devices": cdi})
        return devices

    def unprepare(self, claim):
        for path in (self.cdi_file(claim.uid), self.record(claim.uid)):
            if os.path.exists(path):
                os.remove(path)

    # The services.

    def node_prepare(self, version):
        package = f"k8s.io.kubelet.pkg.apis.dra.{version}"

        def answer(request, _):
            response = MESSAGES[f"{package}.NodePrepareResourcesResponse"]()
            with self.lock:
                for claim in request.claims:
                    entry = response.claims[claim.uid]
                    try:
                        for device in self.prepare(claim):
                            added = entry.devices.add(request_names=[device["request"]], pool_name=device["pool"],
                                                      device_name=device["device"], cdi_device_ids=device["cdi"])
                            if version == "v1" and device["share"]:
                                added.share_id = device["share"]
                    except Refused as refused:
                        entry.error = str(refused)
            return response
        return answer

    def node_unprepare(self, version):
        def answer(request, _):
            response = MESSAGES[f"k8s.io.kubelet.pkg.apis.dra.{version}.NodeUnprepareResourcesResponse"]()
            with self.lock:
                for claim in request.claims:
                    self.unprepare(claim)
                    response.claims[claim.uid].error = ""
            return response
        return answer

    def watch_health(self, version):
        def answer(_, context):
            while context.is_active():
                response = MESSAGES[f"{version}.NodeWatchResourcesResponse"]()
                for device in self.devices:
                    entry = response.devices.add(health=1, last_updated_time=int(time.time()),
                                                 health_check_timeout_seconds=30)
                    entry.device.pool_name, entry.device.device_name = self.flags.node, device
                yield response
                time.sleep(5)
        return answer

    def get_info(self, _request, _context):
        return MESSAGES["pluginregistration.PluginInfo"](
            type="DRAPlugin", name=self.flags.name, endpoint=self.endpoint,
            supported_versions=[f"{v}.DRAPlugin" for v in DRA_VERSIONS] +
                               [f"{v}.DRAResourceHealth" for v in HEALTH_VERSIONS])

    def notify(self, request, _):
        print("registered" if request.plugin_registered else f"refused: {request.error}", flush=True)
        return MESSAGES["pluginregistration.RegistrationStatusResponse"]()

    def publish(self):
        """One slice; a driver whose devices change needs the rules of chapter 18."""
        node = self.cluster.get("node", self.flags.node)
        name = f"00000-{self.flags.name}-{self.flags.node}"
        spec = {"driver": self.flags.name, "nodeName": self.flags.node,
                "pool": {"name": self.flags.node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": device} for device in self.devices]}
        found = self.cluster.run("get", "resourceslice", name, "--ignore-not-found", "-o", "json")
        # What is there and right stays: pods need not wait for a driver that is restarted.
        if found and json.loads(found)["spec"] == spec:
            return
        self.cluster.run("delete", "resourceslice", name, "--ignore-not-found")
        self.cluster.run("create", "-f", "-", text=json.dumps({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {"name": name, "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": self.flags.node, "uid": node["metadata"]["uid"],
                "controller": True}]},
            "spec": spec}))


def method(function, request, response, stream=False):
    make = grpc.unary_stream_rpc_method_handler if stream else grpc.unary_unary_rpc_method_handler
    return make(function, request_deserializer=MESSAGES[request].FromString,
                response_serializer=MESSAGES[response].SerializeToString)


def serve(path, services):
    """A server on a unix socket; a file that is left of an earlier one is removed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(name, methods) for name, methods in services.items()])
    server.add_insecure_port("unix:" + path)
    server.start()
    return server


def main(kind=Driver, extend=lambda parser: None, began=lambda driver: None):
    """Others make a driver of their own kind, with more flags, and go on when it serves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for flag in ("--name", "--node", "--root", "--cdi-dir", "--kubeconfig"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--num-devices", type=int, default=4)
    extend(parser)
    driver = kind(parser.parse_args())
    driver.publish()
    services = {}
    for version in DRA_VERSIONS:
        package = f"k8s.io.kubelet.pkg.apis.dra.{version}"
        services[f"{package}.DRAPlugin"] = {
            "NodePrepareResources": method(driver.node_prepare(version), f"{package}.NodePrepareResourcesRequest",
                                           f"{package}.NodePrepareResourcesResponse"),
            "NodeUnprepareResources": method(driver.node_unprepare(version),
                                             f"{package}.NodeUnprepareResourcesRequest",
                                             f"{package}.NodeUnprepareResourcesResponse")}
    for version in HEALTH_VERSIONS:
        services[f"{version}.DRAResourceHealth"] = {
            "NodeWatchResources": method(driver.watch_health(version), f"{version}.NodeWatchResourcesRequest",
                                         f"{version}.NodeWatchResourcesResponse", stream=True)}
    # First what is registered, then the registration.
    socket = os.path.join(driver.registry, driver.flags.name + "-reg.sock")
    servers = [serve(driver.endpoint, services), serve(socket, {"pluginregistration.Registration": {
        "GetInfo": method(driver.get_info, "pluginregistration.InfoRequest", "pluginregistration.PluginInfo"),
        "NotifyRegistrationStatus": method(driver.notify, "pluginregistration.RegistrationStatus",
                                           "pluginregistration.RegistrationStatusResponse")}})]
    began(driver)
    print("serving", flush=True)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()
    for server in servers:
        server.stop(grace=None)
    os.remove(socket)
    return 0


if __name__ == "__main__":
    sys.exit(main())
