// SPDX-License-Identifier: Apache-2.0
//
// Where everything stands at a level of detail: groups below each other, in each the nodes in rows that fill the width, in each node its
// devices, nested by NUMA node, PCIe root and card where there is room for frames. Pure; numbers are CSS pixels.
//
// Nodes that are built alike share a template, so that 10,000 nodes cost one of it.
import type { Fleet } from '../model/fleet';
import type { Groups } from '../model/groups';

export interface Level {
  cw: number; // a cell
  ch: number;
  gap: number; // between cells
  nested: boolean; // frames for NUMA nodes, PCIe roots and cards; else cells alone, one block per node
  names: number; // height of the line with the node's name; 0: none
  labels: number; // height of a frame's label
  sorted: boolean; // cells of a node by state: so small that only the sum can be seen
}

export const kLevels: readonly Level[] = [
  { cw: 2, ch: 2, gap: 0, nested: false, names: 0, labels: 0, sorted: true },
  { cw: 3, ch: 3, gap: 0, nested: false, names: 0, labels: 0, sorted: true },
  { cw: 4, ch: 4, gap: 0, nested: false, names: 0, labels: 0, sorted: true },
  { cw: 6, ch: 6, gap: 1, nested: false, names: 0, labels: 0, sorted: false },
  { cw: 9, ch: 9, gap: 1, nested: false, names: 0, labels: 0, sorted: false },
  { cw: 14, ch: 14, gap: 2, nested: false, names: 0, labels: 0, sorted: false },
  { cw: 13, ch: 13, gap: 2, nested: true, names: 15, labels: 0, sorted: false },
  { cw: 18, ch: 18, gap: 2, nested: true, names: 16, labels: 0, sorted: false },
  { cw: 24, ch: 24, gap: 3, nested: true, names: 18, labels: 12, sorted: false },
  { cw: 32, ch: 32, gap: 3, nested: true, names: 18, labels: 13, sorted: false },
  { cw: 72, ch: 40, gap: 4, nested: true, names: 20, labels: 14, sorted: false },
  { cw: 128, ch: 54, gap: 5, nested: true, names: 20, labels: 14, sorted: false },
];
export const kFirstNested = 6;
export const kLargestFit = 10; // the level that a small fleet begins with
export const kNarrow = 560; // phones: cells are for fingers, and one scrolls
export const kFingerFit = 8;
const kMostScreens = 12;

export interface Frame {
  x: number;
  y: number;
  w: number;
  h: number;
  label: string;
  kind: 'numa' | 'root' | 'card';
}
export interface Template {
  w: number;
  h: number;
  x: Int32Array; // of each device, in the place's order
  y: Int32Array;
  frames: Frame[];
}

export interface Row {
  y: number;
  h: number;
  first: number; // of `order`
  last: number; // behind it
}
export interface Section {
  group: number;
  y: number; // of the header
  h: number; // with the header
  firstRow: number;
  lastRow: number;
}
export interface Layout {
  level: Level;
  index: number;
  width: number;
  height: number;
  order: Int32Array; // places, as they follow each other
  x: Int32Array; // of order[i]
  y: Int32Array;
  template: Template[]; // of order[i]
  devices: Int32Array[]; // of a place, in the template's order
  rows: Row[];
  sections: Section[];
  slot: Int32Array; // of a place: i with order[i] == place; -1: not shown
}

export const kHeader = 40; // of a group
const kMargin = 12;

// What makes templates equal: a small number for each device's driver and topology, and how cards are shared.
export class Structure {
  readonly devices: Int32Array[]; // of each place, in drawing order
  readonly kind: Int32Array; // of each place: equal numbers are built alike
  private readonly rank: number[] = []; // of a shape: driver and topology

  constructor(readonly fleet: Fleet, readonly groups: Groups) {
    const keys = fleet.shapes.map((shape) => `${shape.numa === '' ? '~' : shape.numa.padStart(6, '0')}\u0000${shape.root === '' ? '~' : shape.root}\u0000${shape.driver}`);
    const sorted = [...new Set(keys)].sort();
    const rankOf = new Map(sorted.map((key, i) => [key, i]));
    for (const key of keys) this.rank.push(rankOf.get(key)!);
    this.devices = groups.places.map((place) => this.ordered(place.devices));
    const kinds = new Map<string, number>();
    this.kind = Int32Array.from(this.devices, (devices) => {
      let text = '';
      let card = -2;
      let cards = 0;
      for (const id of devices) {
        const c = fleet.card[id]!;
        if (c !== card) {
          card = c;
          if (c >= 0) ++cards;
        }
        text += `${this.rank[fleet.shape[id]!]}${c < 0 ? '' : `c${cards}`},`;
      }
      let kind = kinds.get(text);
      if (kind === undefined) kinds.set(text, (kind = kinds.size));
      return kind;
    });
  }

  // By NUMA node, PCIe root, driver and card; within, as the driver has them.
  private ordered(devices: readonly number[]): Int32Array {
    const { fleet, rank } = this;
    const made = Int32Array.from(devices);
    let sorted = true;
    const less = (a: number, b: number): number => rank[fleet.shape[a]!]! - rank[fleet.shape[b]!]! || fleet.card[a]! - fleet.card[b]! || a - b;
    for (let i = 1; i < made.length && sorted; ++i) sorted = less(made[i - 1]!, made[i]!) < 0;
    return sorted ? made : made.sort(less);
  }
}

interface Box {
  w: number;
  h: number;
  cells: { at: number; x: number; y: number }[];
  frames: Frame[];
}

function cellsBox(from: number, to: number, columns: number, level: Level): Box {
  const n = to - from;
  const c = Math.max(1, Math.min(n, columns));
  const cells = [];
  for (let i = 0; i < n; ++i) cells.push({ at: from + i, x: (i % c) * (level.cw + level.gap), y: Math.floor(i / c) * (level.ch + level.gap) });
  return { w: c * (level.cw + level.gap) - level.gap, h: Math.ceil(n / c) * (level.ch + level.gap) - level.gap, cells, frames: [] };
}

// Boxes in rows, as wide as they look good and as there is room.
function flow(boxes: Box[], most: number, gap: number): Box {
  if (boxes.length === 1) return boxes[0]!;
  let area = 0;
  let widest = 0;
  for (const box of boxes) {
    area += (box.w + gap) * (box.h + gap);
    widest = Math.max(widest, box.w);
  }
  const limit = Math.min(most, Math.max(widest, Math.ceil(Math.sqrt(area * 2.4))));
  const made: Box = { w: 0, h: 0, cells: [], frames: [] };
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  for (const box of boxes) {
    if (x > 0 && x + box.w > limit) {
      x = 0;
      y += rowHeight + gap;
      rowHeight = 0;
    }
    for (const cell of box.cells) made.cells.push({ at: cell.at, x: cell.x + x, y: cell.y + y });
    for (const frame of box.frames) made.frames.push({ ...frame, x: frame.x + x, y: frame.y + y });
    x += box.w;
    made.w = Math.max(made.w, x);
    rowHeight = Math.max(rowHeight, box.h);
    x += gap;
  }
  made.h = y + rowHeight;
  return made;
}

function framed(box: Box, label: string, kind: Frame['kind'], level: Level): Box {
  const pad = Math.max(3, level.gap + 1);
  const head = level.labels;
  const made: Box = { w: box.w + 2 * pad, h: box.h + 2 * pad + head, cells: [], frames: [{ x: 0, y: 0, w: box.w + 2 * pad, h: box.h + 2 * pad + head, label, kind }] };
  for (const cell of box.cells) made.cells.push({ at: cell.at, x: cell.x + pad, y: cell.y + pad + head });
  for (const frame of box.frames) made.frames.push({ ...frame, x: frame.x + pad, y: frame.y + pad + head });
  return made;
}

// Runs of equal keys among devices [from, to).
function runs(from: number, to: number, key: (at: number) => string | number): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (let at = from; at < to;) {
    const k = key(at);
    let end = at + 1;
    while (end < to && key(end) === k) ++end;
    found.push([at, end]);
    at = end;
  }
  return found;
}

function nestedTemplate(fleet: Fleet, devices: Int32Array, level: Level, most: number, least: number): Template {
  const shapeAt = (at: number) => fleet.shapeOfDevice(devices[at]!);
  const gap = level.gap + 2;
  const inside = most - 2 * Math.max(3, level.gap + 1) * 3; // frames in frames
  const fit = Math.max(1, Math.floor((inside + level.gap) / (level.cw + level.gap)));
  const columnsFor = (n: number): number => Math.min(fit, n <= 4 ? n : Math.max(4, Math.ceil(Math.sqrt(n * (level.cw > level.ch ? 1 : 1.6)))));
  // Devices of one driver, cards as frames of their own.
  const leaves = (from: number, to: number): Box[] =>
    runs(from, to, (at) => shapeAt(at).driver).flatMap(([a, b]) =>
      runs(a, b, (at) => fleet.card[devices[at]!]!).map(([c, d]) => {
        const card = fleet.card[devices[c]!]!;
        const box = cellsBox(c, d, columnsFor(d - c), level);
        return card < 0 ? box : framed(box, fleet.cardName[card]!, 'card', level);
      }));
  const roots = (from: number, to: number): Box[] =>
    runs(from, to, (at) => shapeAt(at).root).flatMap(([a, b]) => {
      const root = shapeAt(a).root;
      const boxes = leaves(a, b);
      // A frame around a single device says nothing that its neighbours' frames do not.
      return root === '' || b - a < 2 ? boxes : [framed(flow(boxes, inside, gap), root, 'root', level)];
    });
  const boxes = runs(0, devices.length, (at) => shapeAt(at).numa).flatMap(([a, b]) => {
    const numa = shapeAt(a).numa;
    const made = roots(a, b);
    return numa === '' ? made : [framed(flow(made, inside, gap), `NUMA ${numa}`, 'numa', level)];
  });
  // A node without devices is its name.
  const all: Box = boxes.length > 0 ? flow(boxes, inside, gap) : { w: 0, h: level.names >= 18 ? 16 : 0, cells: [], frames: [] };
  const pad = 5;
  const template: Template = { w: Math.max(all.w + 2 * pad, least), h: all.h + 2 * pad + level.names, x: new Int32Array(devices.length), y: new Int32Array(devices.length), frames: [] };
  for (const cell of all.cells) {
    template.x[cell.at] = cell.x + pad;
    template.y[cell.at] = cell.y + pad + level.names;
  }
  template.frames = all.frames.map((frame) => ({ ...frame, x: frame.x + pad, y: frame.y + pad + level.names }));
  return template;
}

function plainTemplate(devices: Int32Array, level: Level): Template {
  const n = devices.length;
  const columns = Math.max(1, Math.ceil(Math.sqrt(n)));
  const pad = level.sorted ? 0 : 2;
  const template: Template = { w: 0, h: 0, x: new Int32Array(n), y: new Int32Array(n), frames: [] };
  for (let i = 0; i < n; ++i) {
    template.x[i] = pad + (i % columns) * (level.cw + level.gap);
    template.y[i] = pad + Math.floor(i / columns) * (level.ch + level.gap);
  }
  const c = Math.max(1, Math.min(columns, n));
  const r = Math.max(1, Math.ceil(n / columns));
  template.w = c * (level.cw + level.gap) - level.gap + 2 * pad;
  template.h = r * (level.ch + level.gap) - level.gap + 2 * pad;
  return template;
}

// No further than `limit`: whoever only wants to know whether it fits.
export function layOut(structure: Structure, index: number, width: number, limit = Infinity): Layout {
  const level = kLevels[index]!;
  const { groups } = structure;
  const templates = new Map<number, Template>();
  const usable = Math.max(80, width - 2 * kMargin);
  const gap = level.sorted ? 2 : level.nested ? 10 : 5;
  const total = groups.groups.reduce((sum, group) => sum + group.places.length, 0);
  const layout: Layout = {
    level, index, width, height: 0,
    order: new Int32Array(total), x: new Int32Array(total), y: new Int32Array(total), template: [],
    devices: structure.devices, rows: [], sections: [], slot: new Int32Array(groups.places.length).fill(-1),
  };
  let y = 0;
  let at = 0;
  groups.groups.forEach((group, g) => {
    // Wide enough for the names of the group, within reason.
    let longest = 0;
    if (level.nested) for (const place of group.places) longest = Math.max(longest, groups.placeName(place).length);
    const least = Math.min(usable, level.names >= 18 ? 176 : 104, 14 + Math.ceil(longest * (level.names >= 18 ? 7.3 : 6.1)));
    const section: Section = { group: g, y, h: 0, firstRow: layout.rows.length, lastRow: 0 };
    y += kHeader;
    let x = 0;
    let row: Row = { y, h: 0, first: at, last: at };
    const endRow = (): void => {
      if (row.last === row.first) return;
      layout.rows.push(row);
      y += row.h + gap;
    };
    for (const place of group.places) {
      if (y > limit) break;
      const devices = structure.devices[place]!;
      const key = structure.kind[place]! * 256 + (level.nested ? least : 0);
      let template = templates.get(key);
      if (!template) templates.set(key, (template = level.nested ? nestedTemplate(structure.fleet, devices, level, usable, least) : plainTemplate(devices, level)));
      if (x > 0 && x + template.w > usable) {
        endRow();
        x = 0;
        row = { y, h: 0, first: at, last: at };
      }
      layout.order[at] = place;
      layout.slot[place] = at;
      layout.x[at] = kMargin + x;
      layout.y[at] = row.y;
      layout.template.push(template);
      x += template.w + gap;
      row.h = Math.max(row.h, template.h);
      row.last = ++at;
    }
    endRow();
    y += 8;
    section.h = y - section.y;
    section.lastRow = layout.rows.length;
    layout.sections.push(section);
  });
  layout.height = y;
  return layout;
}

// The largest level at which everything can be seen without scrolling; the smallest if none.
// Where everything in sight would be too small to be touched, what can be scrolled through.
export function fittingLevel(structure: Structure, width: number, height: number): number {
  if (width < kNarrow && layOut(structure, kFingerFit, width, kMostScreens * width).height <= kMostScreens * width) return kFingerFit;
  for (let index = kLargestFit; index > 0; --index) {
    if (layOut(structure, index, width, height).height <= height) return index;
  }
  return 0;
}

// The first row that ends below y.
export function rowAt(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = layout.rows[middle]!;
    if (row.y + row.h <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Hit {
  slot: number; // of layout.order
  place: number;
  device: number; // -1: the node beside its devices, or cells too small to be told apart
  group: number; // -1 unless it is a group's header
}
export function hit(layout: Layout, x: number, y: number): Hit | undefined {
  for (const section of layout.sections) {
    if (y >= section.y && y < section.y + kHeader) return { slot: -1, place: -1, device: -1, group: section.group };
  }
  const row = layout.rows[rowAt(layout, y)];
  if (!row || y < row.y) return undefined;
  for (let slot = row.first; slot < row.last; ++slot) {
    const template = layout.template[slot]!;
    const dx = x - layout.x[slot]!;
    const dy = y - layout.y[slot]!;
    if (dx < 0 || dx >= template.w || dy >= template.h) continue;
    const place = layout.order[slot]!;
    const devices = layout.devices[place]!;
    let device = -1;
    if (!layout.level.sorted) {
      for (let i = 0; i < devices.length; ++i) {
        const cx = dx - template.x[i]!;
        const cy = dy - template.y[i]!;
        if (cx >= 0 && cx < layout.level.cw && cy >= 0 && cy < layout.level.ch) {
          device = devices[i]!;
          break;
        }
      }
    }
    return { slot, place, device, group: -1 };
  }
  return undefined;
}

// Where a device is drawn; nothing if it is not, or cells are sorted.
export function cellOf(layout: Layout, place: number, device: number): { x: number; y: number } | undefined {
  const slot = layout.slot[place] ?? -1;
  if (slot < 0) return undefined;
  const at = layout.devices[place]!.indexOf(device);
  if (at < 0) return undefined;
  const template = layout.template[slot]!;
  return { x: layout.x[slot]! + template.x[at]!, y: layout.y[slot]! + template.y[at]! };
}
