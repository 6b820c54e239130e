#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries `dray scheduler` on a Kubernetes of yours: see README.md.

    real.py --kubeconfig admin.kubeconfig --dray build/release/dray thousand restart

Works in a namespace of its own, with nodes and devices that nobody else has. Exit code 1: something was not as it should be.
"""

import argparse
import sys
import time

import trial
from kube import RESOURCE, claim_spec, device_class, node, pod

NOT_OURS = "theirs.example.com"


def thousand(run):
    """All pods get a device, none is given twice."""
    with run.dray() as dray:
        run.load(dray, run.options.pods)
    run.all_is_well(run.options.pods)


def restart(run):
    """The scheduler is killed, then ended, in the middle."""
    total = run.options.pods
    dray = run.dray().start()
    try:
        making = run.begin_load(dray, total)
        run.await_bound(total // 4)
        dray.end(kill=True)
        dray = run.dray().start()
        run.await_bound(total // 2)
        dray.end()
        dray = run.dray().start()
        making.join()
        run.await_bound(total)
    finally:
        dray.end()
    run.all_is_well(total)


def server(run):
    """The API server goes away in the middle, and comes back (--restart-server does it)."""
    total = run.options.pods
    with run.dray() as dray:
        making = run.begin_load(dray, total)
        run.await_bound(total // 3)
        run.shell(run.options.restart_server)
        making.join()
        run.await_bound(total)
        run.settle()
    run.all_is_well(total)


def split(run):
    """kube-scheduler beside it, each with a driver of its own."""
    half = run.options.pods // 2
    run.devices(NOT_OURS)
    run.client.make("/apis/resource.k8s.io/v1/deviceclasses", device_class(NOT_OURS))
    with run.kube_scheduler() as other, run.dray(drivers=[trial.DRIVER]) as dray:
        run.pods([(f"d-{i}", dray.name, trial.DRIVER) for i in range(half)]
                 + [(f"k-{i}", other.name, NOT_OURS) for i in range(half)])
        # What it was told to leave alone it leaves alone, and says so.
        run.pods([("foreign", dray.name, NOT_OURS)])
        run.await_bound(2 * half)
        message = run.await_message("foreign")
        run.say(f"a pod of the other driver: {message}")
        run.check("Unschedulable pods say which driver is meant", NOT_OURS in message or "driver" in message)
    run.client.delete(f"{run.space}/pods/foreign")
    run.all_is_well(2 * half)


def collide(run):
    """Both on the same devices: what is given twice is told, and undone on dray's side."""
    half = min(run.options.devices * run.options.nodes // 2, 40)
    path = f"/apis/apps/v1/namespaces/{trial.SPACE}/replicasets"
    with run.kube_scheduler() as other, run.dray() as dray:
        for name in (other.name, dray.name):
            run.client.make(path, replica_set(name, half))
        # Who is deleted is made anew; in the end everybody has a device.
        run.await_bound(2 * half)
        run.settle(8)
        run.await_pods(2 * half)
        run.await_bound(2 * half)
        run.settle(8)
        run.await_pods(2 * half)
        metrics = dray.metrics()
        told = sum(v for k, v in metrics.items() if k.startswith("dray_scheduler_devices_given_twice_total"))
        back = sum(v for k, v in metrics.items() if k.startswith("dray_scheduler_devices_taken_back_total"))
        reasons = {}
        for event in run.client.items(f"{run.space}/events"):
            if event["reason"].startswith("Device"):
                reasons[event["reason"]] = reasons.get(event["reason"], 0) + event.get("count", 1)
        run.say(f"given twice {told:.0f}, taken back {back:.0f}, events {reasons}")
        run.check("a device that was given twice has an event", told == 0 or reasons.get("DeviceAllocatedTwice", 0) > 0)
    run.all_is_well(2 * half)


def templates(run):
    """Kubernetes's controllers make claims, free and delete them; extended resources are devices."""
    run.client.make(f"{RESOURCE}/deviceclasses", device_class(trial.EXTENDED_DRIVER, trial.EXTENDED))
    run.devices(trial.EXTENDED_DRIVER)
    total = min(100, run.options.nodes * run.options.devices)
    with run.dray() as dray:
        run.client.make(f"/apis/apps/v1/namespaces/{trial.SPACE}/deployments", deployment(dray.name, total))
        run.await_bound(total)
        run.all_is_well(total)
        # All devices of the trial are in use now; what goes makes room for what comes.
        name = f"/apis/apps/v1/namespaces/{trial.SPACE}/deployments/trial"
        run.client.ask("PATCH", name, {"spec": {"replicas": total // 2}}, "application/merge-patch+json")
        run.await_pods(total // 2)
        run.await_claims(total // 2)
        run.client.ask("PATCH", name, {"spec": {"replicas": total}}, "application/merge-patch+json")
        run.await_bound(total)
        run.all_is_well(total)
        run.client.delete(name)
        run.await_pods(0)
        run.await_claims(0)
        for i in range(5):
            run.client.make(f"{run.space}/pods", pod(f"extended-{i}", dray.name, limits={trial.EXTENDED: "1"}))
        run.await_bound(5)
        run.all_is_well(5)
        for i in range(5):
            run.client.delete(f"{run.space}/pods/extended-{i}")
        run.await_claims(0)


def speed(run):
    """A backlog, bound by dray and by kube-scheduler in turns."""
    rates = {}
    for turn in range(run.options.turns):
        for make in (run.dray, run.kube_scheduler):
            scheduler = make()
            run.load(scheduler, run.options.backlog, wait=False, quiet=True)
            began = time.time()
            with scheduler:
                bound = run.await_bound(run.options.backlog)
                run.settle(2)  # events come behind
                cost, memory = scheduler.processor(), scheduler.memory()
                requests = scheduler.requests()
            # The scheduler's start is part of it, as when it takes over.
            whole = bound - began
            rate = run.options.backlog / whole
            rates.setdefault(scheduler.kind, []).append((rate, cost))
            run.say(f"{scheduler.kind}: {run.options.backlog} pods in {whole:.1f} s, {rate:.0f} pods/s, "
                    f"{cost:.2f} s of processor, {memory} MiB, {requests / run.options.backlog:.1f} writes a pod")
            run.all_is_well(run.options.backlog, quiet=True)
            run.clear()
        run.say(f"turn {turn + 1} of {run.options.turns}")
    ours, theirs = ([sum(x) / len(x) for x in zip(*rates[kind])] for kind in ("dray", "kube-scheduler"))
    run.say(f"dray is {ours[0] / theirs[0]:.1f} times as fast with {theirs[1] / ours[1]:.1f} times less processor time")


def commands(run):
    """plan, explain, validate and simulate, of a cluster that is there."""
    room = run.options.nodes * run.options.devices
    run.pods([(f"p-{i}", trial.NAME, trial.DRIVER) for i in range(5)])
    run.client.make(f"{run.space}/pods", pod("too-much", trial.NAME, claim="too-much"))
    spec = claim_spec(trial.DRIVER)
    spec["devices"]["requests"][0]["exactly"]["count"] = run.options.devices + 1
    run.client.make(f"{run.claims}", {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                                      "metadata": {"name": "too-much"}, "spec": spec})
    plan = run.tool(1, "plan", "-n", trial.SPACE)
    run.check("plan places what fits", plan.count("trial-") >= 5)
    run.tool(0, "explain", "pod/p-0", "-n", trial.SPACE)
    why = run.tool(1, "explain", "pod/too-much", "-n", trial.SPACE)
    run.check("explain says what is missing", str(run.options.devices + 1) in why)
    everything = run.kubectl("get", "nodes,pods,resourceslices,deviceclasses,resourceclaims", "-A", "-o", "yaml")
    run.tool(0, "validate", "-f", "-", given=everything)
    run.write("cluster.yaml", everything)
    told = run.tool(0, "simulate", run.write("scenario.yaml", SCENARIO))
    run.check("simulate has the cluster's devices", f"{room:,}" in told or str(room) in told)
    run.check("nothing was written", not any(p["spec"].get("nodeName") for p in run.client.items(f"{run.space}/pods")))


SCENARIO = """apiVersion: dray/v1alpha1
kind: Scenario
title: A cluster that is there
duration: 10m
cluster:
  from: cluster.yaml
"""


def replica_set(name, count):
    template = pod("", name, template="trial")
    return {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
        "spec": {
            "replicas": count, "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": {"set": name}}, "spec": template["spec"]},
        },
    }


def deployment(scheduler, count):
    made = replica_set(scheduler, count)
    made.update(kind="Deployment", metadata={"name": "trial"})
    return made


CHECKS = {f.__name__: f for f in (thousand, restart, server, split, collide, templates, speed, commands)}


def main():
    parser = argparse.ArgumentParser(description="Tries dray scheduler on a Kubernetes.")
    parser.add_argument("--kubeconfig", required=True, help="of an administrator")
    parser.add_argument("--dray", required=True, help="the binary")
    parser.add_argument("--scheduler-kubeconfig", help="as whom dray schedules; else as the administrator")
    parser.add_argument("--kube-scheduler", help="binary of kube-scheduler, for those that compare with it")
    parser.add_argument("--kube-scheduler-flags", default="", help="more flags of it")
    parser.add_argument("--restart-server", help="a command that restarts the API server, for the check of that name")
    parser.add_argument("--claims", choices=("named", "template", "extended"), default="template",
                        help="from a template (Kubernetes's controllers make them), each made by hand, or those that the "
                             "scheduler makes for an extended resource")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--backlog", type=int, default=500)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=120)
    parser.add_argument("--devices", type=int, default=10, help="on each node")
    parser.add_argument("check", nargs="+", choices=CHECKS)
    options = parser.parse_args()
    run = trial.Run(options)
    for name in options.check:
        run.say(f"== {name}: {CHECKS[name].__doc__}")
        run.prepare()
        try:
            CHECKS[name](run)
        except trial.Late as late:
            run.check(str(late), False)
        finally:
            run.clear()
    run.remove()
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
