// SPDX-License-Identifier: Apache-2.0
//
// All devices as columns of numbers. A device's index is the process's id of it, which is stable for as long as the epoch lasts: what
// is removed leaves a hole. No signals in here: whoever draws is told which devices have changed.
import type { Attribute, WireFleet, WireLine, WireShape } from '../types';
import { visible, visibleAll } from '../text';
import { NodeFlag, PoolFlag, State } from './states';

export interface Shape {
  driver: string;
  attributes: Attribute[];
  capacity: [name: string, value: string][];
  multiple: boolean;
  classes: string[];
  // Where it sits, as far as its driver says; empty: not said, or several.
  numa: string;
  root: string;
}

// What drivers call it. Kubernetes's own name for the PCIe root; for NUMA nodes there is none yet.
const kNuma = new Set(['numa', 'numanode', 'numa-node', 'numa_node', 'numanodeid']);
const kRoot = 'resource.kubernetes.io/pcieRoot';

export function shapeOf(wire: WireShape, driver: string, classes: string[]): Shape {
  const attributes = (wire.attributes ?? []).map((a) => visibleAll(a) as Attribute);
  let numa = '';
  let root = '';
  for (const [name, type, value] of attributes) {
    if (name === kRoot && type === 'string') root = String(value);
    else if (type !== 'string' && type !== 'int') continue;
    else if (kNuma.has(name.slice(name.lastIndexOf('/') + 1).toLowerCase())) numa = String(value);
  }
  return { driver, attributes, capacity: (wire.capacity ?? []).map((c) => visibleAll(c) as [string, string]), multiple: wire.multiple ?? false, classes, numa, root };
}

// One text of everything that makes a shape: equal shapes are kept once.
const shapeKey = (shape: Shape): string => JSON.stringify([shape.driver, shape.attributes, shape.capacity, shape.multiple, shape.classes]);

function grown<T extends Int32Array | Uint32Array | Uint8Array>(old: T, size: number): T {
  const made = new (old.constructor as new (size: number) => T)(size);
  made.set(old);
  return made;
}

// What a line of the stream has changed.
export interface Change {
  devices: number[]; // state, fill or marks
  structure: boolean; // nodes, pools, devices came or went: everything has to be laid out again
}

export class Fleet {
  epoch = '';
  rev = 0;
  hidden = false; // who holds devices may not be read
  classes: string[] = [];

  nodeName: string[] = [];
  nodeLabels: Map<string, string>[] = [];
  nodeFlags: number[] = [];
  nodeRemoved: boolean[] = [];

  poolDriver: string[] = [];
  poolName: string[] = [];
  poolNode: number[] = []; // -1: for several nodes
  poolFlags: number[] = [];
  poolSlices: number[] = [];
  poolGeneration: number[] = [];

  cardPool: number[] = [];
  cardName: string[] = [];

  shapes: Shape[] = [];

  size = 0; // ids are below this
  pool = new Int32Array(0);
  shape = new Int32Array(0);
  card = new Int32Array(0);
  name = new Uint32Array(0); // of `texts`
  state = new Uint8Array(0);
  fill = new Uint8Array(0);
  marks = new Uint8Array(0);

  private texts: string[] = [''];
  private textIndex: Map<string, number> | undefined;
  private nodeIndex = new Map<string, number>();
  private poolIndex = new Map<string, number>();
  private cardIndex = new Map<string, number>();
  private shapeIndex: Map<string, number> | undefined;

  static from(wire: WireFleet): Fleet {
    const fleet = new Fleet();
    const text = wire.strings.map(visible);
    fleet.epoch = wire.epoch;
    fleet.rev = wire.rev;
    fleet.hidden = wire.hidden?.claims ?? false;
    fleet.classes = wire.classes.map(visible);
    fleet.texts = text;

    const labels = wire.labels.map((set) => {
      const map = new Map<string, string>();
      for (let i = 0; i + 1 < set.length; i += 2) map.set(text[set[i]!]!, text[set[i + 1]!]!);
      return map;
    });
    fleet.nodeName = wire.nodes.name.map((i) => text[i]!);
    fleet.nodeLabels = wire.nodes.labels.map((i) => labels[i] ?? new Map());
    fleet.nodeFlags = wire.nodes.flags;
    fleet.nodeRemoved = fleet.nodeFlags.map((flags) => (flags & NodeFlag.gone) !== 0);
    fleet.nodeName.forEach((name, i) => fleet.nodeIndex.set(name, i));

    fleet.poolDriver = wire.pools.driver.map((i) => text[i]!);
    fleet.poolName = wire.pools.name.map((i) => text[i]!);
    fleet.poolNode = wire.pools.node;
    fleet.poolFlags = wire.pools.flags;
    fleet.poolSlices = wire.pools.slices ?? [];
    fleet.poolGeneration = wire.pools.generation ?? [];
    fleet.poolName.forEach((name, i) => fleet.poolIndex.set(`${fleet.poolDriver[i]}/${name}`, i));

    fleet.cardPool = wire.cards.pool;
    fleet.cardName = wire.cards.name.map((i) => text[i]!);
    fleet.cardName.forEach((name, i) => fleet.cardIndex.set(`${fleet.cardPool[i]}/${name}`, i));

    fleet.shapes = wire.shapes.map((shape) =>
      shapeOf(shape, typeof shape.driver === 'number' ? text[shape.driver]! : visible(shape.driver),
              (shape.classes ?? []).map((c) => (typeof c === 'number' ? fleet.classes[c]! : visible(c)))));

    const d = wire.devices;
    fleet.size = d.pool.length;
    fleet.pool = Int32Array.from(d.pool);
    fleet.shape = Int32Array.from(d.shape);
    fleet.card = Int32Array.from(d.card);
    fleet.name = Uint32Array.from(d.name);
    fleet.state = Uint8Array.from(d.state);
    fleet.fill = Uint8Array.from(d.fill);
    fleet.marks = Uint8Array.from(d.marks);
    return fleet;
  }

  apply(line: WireLine): Change {
    const change: Change = { devices: [], structure: false };
    for (const node of line.n ?? []) {
      const id = this.nodeOf(visible(node.name));
      this.nodeRemoved[id] = node.removed ?? false;
      if (node.labels) this.nodeLabels[id] = new Map(Object.entries(node.labels).map(([k, v]) => [visible(k), visible(v)]));
      this.nodeFlags[id] = node.flags ?? 0;
      change.structure = true;
    }
    for (const pool of line.o ?? []) {
      const there = this.poolIndex.get(`${visible(pool.driver)}/${visible(pool.name)}`);
      if (pool.removed) {
        // Devices that somebody still has stay where they were.
        if (there !== undefined) this.poolFlags[there] = PoolFlag.gone;
        continue;
      }
      const before = there === undefined ? undefined : this.poolNode[there];
      const id = this.poolOf(visible(pool.driver), visible(pool.name), visible(pool.node ?? ''));
      if (before !== this.poolNode[id]) change.structure = true;
      this.poolFlags[id] = pool.flags ?? 0;
      this.poolSlices[id] = pool.slices ?? 0;
      this.poolGeneration[id] = pool.generation ?? 0;
    }
    for (const device of line.a ?? []) {
      const id = device.id;
      this.reserve(id + 1);
      const pool = this.poolOf(visible(device.driver), visible(device.pool), visible(device.node ?? ''));
      const card = device.card ? this.cardOf(pool, visible(device.card)) : -1;
      const shape = this.shapeIdOf(shapeOf(device.shape, visible(device.driver), (device.shape.classes ?? []).map((c) => (typeof c === 'number' ? this.classes[c] ?? '' : visible(c)))));
      const name = this.textOf(visible(device.device));
      this.pool[id] = pool;
      this.card[id] = card;
      this.shape[id] = shape;
      this.name[id] = name;
      this.state[id] = device.state ?? 0;
      this.fill[id] = device.fill ?? 0;
      this.marks[id] = device.marks ?? 0;
      change.structure = true;
    }
    for (const [id, state, fill, marks] of line.d ?? []) {
      if (id >= this.size) continue; // of a device that this picture does not have; its row follows
      if ((state === State.removed) !== (this.state[id] === State.removed)) change.structure = true;
      this.state[id] = state;
      this.fill[id] = fill;
      this.marks[id] = marks;
      change.devices.push(id);
    }
    if (line.rev !== undefined) this.rev = line.rev;
    return change;
  }

  exists(id: number): boolean {
    return id >= 0 && id < this.size && this.state[id] !== State.removed;
  }
  deviceName(id: number): string {
    return this.texts[this.name[id]!] ?? '';
  }
  driverOf(id: number): string {
    return this.poolDriver[this.pool[id]!] ?? '';
  }
  poolNameOf(id: number): string {
    return this.poolName[this.pool[id]!] ?? '';
  }
  nodeIdOf(id: number): number {
    return this.poolNode[this.pool[id]!] ?? -1;
  }
  nodeNameOf(id: number): string {
    const node = this.nodeIdOf(id);
    return node < 0 ? '' : this.nodeName[node] ?? '';
  }
  shapeOfDevice(id: number): Shape {
    return this.shapes[this.shape[id]!]!;
  }
  // "driver/pool/device", as links have it.
  key(id: number): string {
    return `${this.driverOf(id)}/${this.poolNameOf(id)}/${this.deviceName(id)}`;
  }
  // Names of pools have slashes; whatever else has some is found, too.
  find(key: string): number {
    for (let last = key.lastIndexOf('/'); last > 0; last = key.lastIndexOf('/', last - 1)) {
      const pool = this.poolIndex.get(key.slice(0, last));
      if (pool === undefined) continue;
      const name = key.slice(last + 1);
      for (let id = 0; id < this.size; ++id) {
        if (this.pool[id] === pool && this.state[id] !== State.removed && this.texts[this.name[id]!] === name) return id;
      }
    }
    return -1;
  }
  findNode(name: string): number {
    return this.nodeIndex.get(name) ?? -1;
  }

  private nodeOf(name: string): number {
    let id = this.nodeIndex.get(name);
    if (id === undefined) {
      id = this.nodeName.length;
      this.nodeName.push(name);
      this.nodeLabels.push(new Map());
      this.nodeFlags.push(0);
      this.nodeRemoved.push(false);
      this.nodeIndex.set(name, id);
    }
    return id;
  }
  private poolOf(driver: string, name: string, node: string): number {
    const key = `${driver}/${name}`;
    let id = this.poolIndex.get(key);
    if (id === undefined) {
      id = this.poolName.length;
      this.poolDriver.push(driver);
      this.poolName.push(name);
      this.poolNode.push(-1);
      this.poolFlags.push(0);
      this.poolSlices.push(0);
      this.poolGeneration.push(0);
      this.poolIndex.set(key, id);
    }
    this.poolNode[id] = node === '' ? -1 : this.nodeOf(node);
    return id;
  }
  private cardOf(pool: number, name: string): number {
    const key = `${pool}/${name}`;
    let id = this.cardIndex.get(key);
    if (id === undefined) {
      id = this.cardName.length;
      this.cardPool.push(pool);
      this.cardName.push(name);
      this.cardIndex.set(key, id);
    }
    return id;
  }
  private shapeIdOf(shape: Shape): number {
    if (!this.shapeIndex) this.shapeIndex = new Map(this.shapes.map((s, i) => [shapeKey(s), i]));
    const key = shapeKey(shape);
    let id = this.shapeIndex.get(key);
    if (id === undefined) {
      id = this.shapes.length;
      this.shapes.push(shape);
      this.shapeIndex.set(key, id);
    }
    return id;
  }
  private textOf(text: string): number {
    if (!this.textIndex) this.textIndex = new Map(this.texts.map((t, i) => [t, i]));
    let id = this.textIndex.get(text);
    if (id === undefined) {
      id = this.texts.length;
      this.texts.push(text);
      this.textIndex.set(text, id);
    }
    return id;
  }
  private reserve(size: number): void {
    if (size > this.pool.length) {
      const room = Math.max(size, this.pool.length * 2, 64);
      this.pool = grown(this.pool, room);
      this.shape = grown(this.shape, room);
      this.card = grown(this.card, room);
      this.name = grown(this.name, room);
      this.fill = grown(this.fill, room);
      this.marks = grown(this.marks, room);
      const state = new Uint8Array(room).fill(State.removed);
      state.set(this.state);
      this.state = state;
    }
    if (size > this.size) {
      // Ids that have been passed over are those of devices that came and went.
      this.state.fill(State.removed, this.size, size);
      this.size = size;
    }
  }
}
