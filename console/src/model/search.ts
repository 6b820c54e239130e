// SPDX-License-Identifier: Apache-2.0
//
// What `/` finds without asking anybody: views, nodes, devices, attribute values, classes, claims, pods. Names that begin with what is
// looked for come before those that only contain it.
import { Claims } from './claims';
import type { Fleet } from './fleet';
import { shortName } from '../text';
import { State } from './states';

export interface Found {
  kind: 'view' | 'node' | 'device' | 'attribute' | 'class' | 'claim' | 'pod' | 'pending' | 'namespace' | 'group';
  title: string;
  text: string;
  // What to do with it: a device's id, a node's name …
  id?: number;
  namespace?: string;
  name?: string;
  query?: string;
  rank: number;
}

export const kMost = 40;
const kPerKind = 12;

// 0: the very word, 1: begins with it, 2: contains it, -1: not.
export function rankOf(text: string, wanted: string): number {
  const lower = text.toLowerCase();
  const at = lower.indexOf(wanted);
  if (at < 0) return -1;
  return at > 0 ? 2 : lower.length === wanted.length ? 0 : 1;
}

// "model=H100" and "H100" alike; which shapes have it.
export function attributesLike(fleet: Fleet, wanted: string): Map<string, { name: string; value: string; shapes: Set<number> }> {
  const equals = wanted.indexOf('=');
  const wantedName = equals > 0 ? wanted.slice(0, equals).trim().toLowerCase() : '';
  const wantedValue = (equals > 0 ? wanted.slice(equals + 1) : wanted).trim().toLowerCase();
  const found = new Map<string, { name: string; value: string; shapes: Set<number> }>();
  if (wantedValue === '') return found;
  fleet.shapes.forEach((shape, index) => {
    for (const [name, , value] of shape.attributes) {
      if (wantedName !== '' && !name.toLowerCase().includes(wantedName)) continue;
      for (const one of Array.isArray(value) ? value : [value]) {
        const text = String(one);
        if (!text.toLowerCase().includes(wantedValue)) continue;
        // Numbers are everywhere: only with a name, or when it is exactly the number.
        if (wantedName === '' && typeof one !== 'string' && text.toLowerCase() !== wantedValue) continue;
        const key = `${name}=${text}`;
        const there = found.get(key);
        if (there) there.shapes.add(index);
        else found.set(key, { name, value: text, shapes: new Set([index]) });
      }
    }
  });
  return found;
}

export function search(fleet: Fleet, claims: Claims, text: string): Found[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const found: Found[] = [];
  let kindCount = 0;
  const add = (entry: Found): boolean => {
    found.push(entry);
    return ++kindCount < kPerKind * 4; // then the ranks choose among them
  };

  kindCount = 0;
  for (const pod of claims.pending.values()) {
    const rank = rankOf(pod.name, wanted);
    if (rank >= 0 && !add({ kind: 'pending', title: pod.name, text: `pending pod in ${pod.namespace}`, namespace: pod.namespace, name: pod.name, rank })) break;
  }
  kindCount = 0;
  for (let node = 0; node < fleet.nodeName.length; ++node) {
    if (fleet.nodeRemoved[node]) continue;
    const name = fleet.nodeName[node]!;
    const rank = rankOf(name, wanted);
    if (rank >= 0 && !add({ kind: 'node', title: name, text: 'node', name, rank })) break;
  }
  kindCount = 0;
  for (const name of fleet.classes) {
    const rank = rankOf(name, wanted);
    if (rank >= 0) add({ kind: 'class', title: name, text: 'device class', name, rank });
  }
  const attributes = attributesLike(fleet, wanted);
  if (attributes.size > 0) {
    const perShape = new Uint32Array(fleet.shapes.length);
    for (let id = 0; id < fleet.size; ++id) if (fleet.state[id] !== State.removed) ++perShape[fleet.shape[id]!]!;
    for (const { name, value, shapes } of attributes.values()) {
      let devices = 0;
      for (const shape of shapes) devices += perShape[shape]!;
      if (devices === 0) continue;
      const query = `${shortName(name)}=${value}`;
      found.push({ kind: 'attribute', title: query, text: `${devices} ${devices === 1 ? 'device' : 'devices'}, ${name}`, query, rank: Math.max(0, rankOf(value, wanted.slice(wanted.indexOf('=') + 1).trim())) });
    }
  }
  kindCount = 0;
  const namespaces = new Set<string>();
  for (const claim of claims.all.values()) {
    namespaces.add(claim.namespace);
    const rank = rankOf(claim.name, wanted);
    if (rank >= 0) add({ kind: 'claim', title: claim.name, text: `claim in ${claim.namespace}`, namespace: claim.namespace, name: claim.name, rank });
    for (const pod of claim.pods) {
      const podRank = rankOf(pod, wanted);
      if (podRank >= 0 && !claims.pending.has(`${claim.namespace}/${pod}`)) add({ kind: 'pod', title: pod, text: `pod in ${claim.namespace}, has claim ${claim.name}`, namespace: claim.namespace, name: claim.name, rank: podRank });
    }
    if (kindCount >= kPerKind * 4) break;
  }
  for (const namespace of namespaces) {
    const rank = rankOf(namespace, wanted);
    if (rank >= 0) found.push({ kind: 'namespace', title: namespace, text: 'namespace: what it holds', name: namespace, rank });
  }
  kindCount = 0;
  for (let id = 0; id < fleet.size; ++id) {
    if (fleet.state[id] === State.removed) continue;
    const rank = rankOf(fleet.deviceName(id), wanted);
    const whole = rank < 0 && wanted.includes('/') ? rankOf(fleet.key(id), wanted) : -1;
    if (rank < 0 && whole < 0) continue;
    if (!add({ kind: 'device', title: fleet.deviceName(id), text: `${fleet.nodeNameOf(id) || fleet.poolNameOf(id)}, ${fleet.driverOf(id)}`, id, rank: rank < 0 ? whole : rank })) break;
  }

  const order = ['view', 'pending', 'attribute', 'class', 'node', 'claim', 'pod', 'namespace', 'device', 'group'];
  found.sort((a, b) => a.rank - b.rank || order.indexOf(a.kind) - order.indexOf(b.kind));
  const per = new Map<string, number>();
  return found.filter((entry) => {
    const seen = (per.get(entry.kind) ?? 0) + 1;
    per.set(entry.kind, seen);
    return seen <= kPerKind;
  }).slice(0, kMost);
}

// Which devices a filter's words are about: "model=H100", part of a name, of a node, of a holder. None: all.
export function matching(fleet: Fleet, claims: Claims, text: string, namespace: string): Uint8Array | undefined {
  const wanted = text.trim().toLowerCase();
  if (wanted === '' && namespace === '') return undefined;
  const found = new Uint8Array(fleet.size);
  const shapes = new Set<number>();
  for (const entry of attributesLike(fleet, wanted).values()) for (const shape of entry.shapes) shapes.add(shape);
  const nodes = fleet.nodeName.map((name) => wanted !== '' && name.toLowerCase().includes(wanted));
  for (let id = 0; id < fleet.size; ++id) {
    if (fleet.state[id] === State.removed) continue;
    if (namespace !== '' && !claims.holdersOf(id).some((claim) => claim.namespace === namespace)) continue;
    const node = fleet.nodeIdOf(id);
    if (wanted === '' || shapes.has(fleet.shape[id]!) || (node >= 0 && nodes[node]) || fleet.deviceName(id).toLowerCase().includes(wanted) || fleet.driverOf(id).toLowerCase().includes(wanted)
        || claims.holdersOf(id).some((claim) => claim.name.toLowerCase().includes(wanted) || claim.pods.some((pod) => pod.toLowerCase().includes(wanted)))) {
      found[id] = 1;
    }
  }
  return found;
}
