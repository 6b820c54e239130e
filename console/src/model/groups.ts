// SPDX-License-Identifier: Apache-2.0
//
// Nodes by what they have in common, with sums that are kept up with every change. Devices that belong to no single node form groups of
// their own, one "node" per pool.
import type { Fleet } from './fleet';
import { natural } from '../text';
import { kStates, State } from './states';

// A place where devices are drawn: a node, or a pool without one.
export interface Place {
  node: number; // -1: none
  pool: number; // of a place without a node
  devices: number[];
}
export interface Group {
  key: string;
  title: string;
  places: number[];
  // Devices by state, and how many are tainted or unhealthy.
  counts: Uint32Array;
  tainted: number;
  unhealthy: number;
  devices: number;
}

const kNodeGroupLabels = ['cloud.google.com/gke-nodepool', 'eks.amazonaws.com/nodegroup', 'karpenter.sh/nodepool', 'kubernetes.azure.com/agentpool', 'dray.dev/node-group', 'node.kubernetes.io/instance-type'];
export const kByName = 'nodegroup'; // the name without its number, or a label of a cloud

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

// "gpu" of gpu-000001; "ip" of ip-10-0-3-7 would be everybody, but then a label tells more.
export function nameWithoutNumber(name: string): string {
  let end = name.length;
  for (let at = end; at > 0;) {
    // Digits, and a separator before them.
    let digits = at;
    while (digits > 0 && isDigit(name.charCodeAt(digits - 1))) --digits;
    if (digits === at) break;
    at = digits > 0 && '-_.'.includes(name[digits - 1]!) ? digits - 1 : digits;
    end = at;
    if (at === digits) break;
  }
  return end === 0 ? name : name.slice(0, end);
}

export function groupKeyOf(fleet: Fleet, node: number, by: string): string {
  const labels = fleet.nodeLabels[node];
  if (by === 'node') return fleet.nodeName[node]!;
  if (by.startsWith('label:')) return labels?.get(by.slice(6)) ?? '';
  for (const label of kNodeGroupLabels) {
    const value = labels?.get(label);
    if (value) return value;
  }
  return nameWithoutNumber(fleet.nodeName[node]!);
}

// Labels worth grouping by: at least two values, and fewer values than nodes.
export function groupableLabels(fleet: Fleet): string[] {
  const values = new Map<string, Set<string>>();
  const sets = new Set(fleet.nodeLabels);
  for (const labels of sets) {
    for (const [key, value] of labels) {
      const seen = values.get(key);
      if (seen) seen.add(value);
      else values.set(key, new Set([value]));
    }
  }
  const nodes = fleet.nodeName.length;
  return [...values].filter(([key, seen]) => key !== 'kubernetes.io/hostname' && seen.size > 1 && seen.size <= Math.max(2, nodes / 2)).map(([key]) => key).sort();
}

export interface Filter {
  className?: string; // only devices of this class
  only?: string; // only this group
}

export class Groups {
  readonly places: Place[] = [];
  readonly groups: Group[] = [];
  private readonly groupOf: Int32Array; // of a device; -1: not shown
  private readonly seen: Uint8Array; // the state that was counted
  private readonly seenMarks: Uint8Array;

  constructor(private readonly fleet: Fleet, readonly by: string, readonly filter: Filter = {}) {
    const byKey = new Map<string, { title: string; places: number[]; last: boolean }>();
    const ofNode = new Map<number, number>();
    const ofPool = new Map<number, number>();
    const wanted = fleet.shapes.map((shape) => !filter.className || shape.classes.includes(filter.className));
    this.groupOf = new Int32Array(fleet.size).fill(-1);
    this.seen = new Uint8Array(fleet.size);
    this.seenMarks = new Uint8Array(fleet.size);

    const addPlace = (node: number, pool: number): number => {
      const title = node < 0 ? 'for several nodes' : groupKeyOf(fleet, node, by);
      const key = node < 0 ? '\u0000several' : title;
      let group = byKey.get(key);
      if (!group) byKey.set(key, (group = { title: title === '' ? 'without this label' : title, places: [], last: node < 0 || title === '' }));
      this.places.push({ node, pool, devices: [] });
      group.places.push(this.places.length - 1);
      return this.places.length - 1;
    };
    for (let id = 0; id < fleet.size; ++id) {
      if (fleet.state[id] === State.removed || !wanted[fleet.shape[id]!]) continue;
      const pool = fleet.pool[id]!;
      const node = fleet.poolNode[pool]!;
      let place = node < 0 ? ofPool.get(pool) : ofNode.get(node);
      if (place === undefined) {
        place = addPlace(node, node < 0 ? pool : -1);
        if (node < 0) ofPool.set(pool, place);
        else ofNode.set(node, place);
      }
      this.places[place]!.devices.push(id);
    }
    // Nodes without devices count, unless devices of one class are looked for.
    if (!filter.className) {
      for (let node = 0; node < fleet.nodeName.length; ++node) {
        if (!ofNode.has(node) && !fleet.nodeRemoved[node] && !(fleet.nodeFlags[node]! & 4)) addPlace(node, -1);
      }
    }
    const nameOf = (place: number): string => {
      const p = this.places[place]!;
      return p.node < 0 ? fleet.poolName[p.pool]! : fleet.nodeName[p.node]!;
    };
    const sorted = [...byKey].sort(([, a], [, b]) => Number(a.last) - Number(b.last) || Number(this.isBare(a.places)) - Number(this.isBare(b.places)) || natural(a.title, b.title));
    for (const [key, made] of sorted) {
      if (filter.only !== undefined && key !== filter.only) continue;
      inOrder(made.places, nameOf);
      const group: Group = { key, title: made.title, places: made.places, counts: new Uint32Array(kStates), tainted: 0, unhealthy: 0, devices: 0 };
      const index = this.groups.push(group) - 1;
      for (const place of made.places) {
        for (const id of this.places[place]!.devices) {
          this.groupOf[id] = index;
          this.count(group, (this.seen[id] = fleet.state[id]!), (this.seenMarks[id] = fleet.marks[id]!), 1);
        }
      }
    }
  }

  // States or marks of these have changed; which of them are shown.
  update(devices: readonly number[]): void {
    for (const id of devices) {
      const index = id < this.groupOf.length ? this.groupOf[id]! : -1;
      if (index < 0) continue;
      const group = this.groups[index]!;
      this.count(group, this.seen[id]!, this.seenMarks[id]!, -1);
      this.count(group, (this.seen[id] = this.fleet.state[id]!), (this.seenMarks[id] = this.fleet.marks[id]!), 1);
    }
  }

  placeName(place: number): string {
    const p = this.places[place]!;
    return p.node < 0 ? this.fleet.poolName[p.pool]! : this.fleet.nodeName[p.node]!;
  }

  private isBare(places: number[]): boolean {
    return places.every((place) => this.places[place]!.devices.length === 0);
  }
  private count(group: Group, state: number, marks: number, by: number): void {
    if (state >= kStates) return;
    group.counts[state]! += by;
    group.devices += by;
    if (marks & 1) group.tainted += by;
    if (marks & 2) group.unhealthy += by;
  }
}

// By name, numbers as numbers. Names that come in order, as most fleets do, are not sorted again: the collator is slow.
function inOrder(places: number[], nameOf: (place: number) => string): void {
  let sorted = true;
  for (let i = 1; i < places.length && sorted; ++i) {
    const left = nameOf(places[i - 1]!);
    const right = nameOf(places[i]!);
    sorted = left.length === right.length && left < right;
  }
  if (sorted) return;
  const padded = (name: string): string => name.replace(/[0-9]+/g, (digits) => digits.padStart(12, '0'));
  const keys = new Map(places.map((place) => [place, padded(nameOf(place))]));
  places.sort((a, b) => {
    const left = keys.get(a)!;
    const right = keys.get(b)!;
    return left < right ? -1 : left > right ? 1 : 0;
  });
}

// "8 of 16 free"
export const freeOf = (group: Group): number => group.counts[State.free]!;
