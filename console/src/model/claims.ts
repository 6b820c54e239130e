// SPDX-License-Identifier: Apache-2.0
//
// Who has what: claims by name and by device, pods that wait. No signals in here.
import type { WireClaim, WireHolders, WirePending } from '../types';
import { visible } from '../text';

export const kClaimState: readonly string[] = ['pending', 'allocated', 'reserved'];

export interface Claim {
  namespace: string;
  name: string;
  state: number;
  created: number;
  devices: number[];
  pods: string[];
}
export interface Pending {
  namespace: string;
  name: string;
  since: number;
  claims: string[];
}

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export class Claims {
  rev = -1;
  readonly all = new Map<string, Claim>();
  readonly pending = new Map<string, Pending>();
  private byDevice = new Map<number, Claim | Claim[]>();

  load(wire: WireHolders): void {
    const text = wire.strings.map(visible);
    const c = wire.claims;
    this.all.clear();
    this.byDevice.clear();
    for (let i = 0; i < c.name.length; ++i) {
      this.insert({ namespace: text[c.namespace[i]!]!, name: text[c.name[i]!]!, state: c.state[i]!, created: c.created[i]!, devices: c.devices[i]!, pods: c.pods[i]!.map((p) => text[p]!) });
    }
    this.rev = wire.rev;
  }

  // Changes of a line with this rev; older ones than the picture are in it already.
  apply(rows: WireClaim[], rev: number): void {
    if (rev <= this.rev) return;
    for (const row of rows) {
      const namespace = visible(row.namespace);
      const name = visible(row.name);
      const old = this.all.get(keyOf(namespace, name));
      if (old) this.remove(old);
      if (row.removed) continue;
      this.insert({ namespace, name, state: row.state ?? 0, created: row.created ?? old?.created ?? 0, devices: row.devices ?? [], pods: (row.pods ?? []).map(visible) });
    }
  }

  loadPending(rows: WirePending[]): void {
    this.pending.clear();
    this.applyPending(rows);
  }
  applyPending(rows: WirePending[]): void {
    for (const row of rows) {
      const namespace = visible(row.namespace);
      const name = visible(row.name);
      if (row.removed) this.pending.delete(keyOf(namespace, name));
      else this.pending.set(keyOf(namespace, name), { namespace, name, since: row.since ?? 0, claims: (row.claims ?? []).map(visible) });
    }
  }

  find(namespace: string, name: string): Claim | undefined {
    return this.all.get(keyOf(namespace, name));
  }
  holdersOf(device: number): readonly Claim[] {
    const found = this.byDevice.get(device);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  }
  // Of a pod in its namespace.
  ofPod(namespace: string, pod: string): Claim[] {
    return [...this.all.values()].filter((claim) => claim.namespace === namespace && claim.pods.includes(pod));
  }

  private insert(claim: Claim): void {
    this.all.set(keyOf(claim.namespace, claim.name), claim);
    for (const device of claim.devices) {
      const there = this.byDevice.get(device);
      if (there === undefined) this.byDevice.set(device, claim);
      else if (Array.isArray(there)) there.push(claim);
      else this.byDevice.set(device, [there, claim]);
    }
  }
  private remove(claim: Claim): void {
    this.all.delete(keyOf(claim.namespace, claim.name));
    for (const device of claim.devices) {
      const there = this.byDevice.get(device);
      if (there === claim) this.byDevice.delete(device);
      else if (Array.isArray(there)) {
        const left = there.filter((other) => other !== claim);
        if (left.length === 0) this.byDevice.delete(device);
        else this.byDevice.set(device, left.length === 1 ? left[0]! : left);
      }
    }
  }
}

// "pod train, of claim default/train-gpu-x7k"; what a line has room for.
export function holderText(holders: readonly Claim[]): string {
  if (holders.length === 0) return '';
  const first = holders[0]!;
  const who = first.pods.length > 0 ? `pod ${first.namespace}/${first.pods[0]}` : `claim ${first.namespace}/${first.name}`;
  const more = holders.length > 1 ? ` and ${holders.length - 1} more` : first.pods.length > 1 ? ` and ${first.pods.length - 1} more pods` : '';
  return who + more;
}
