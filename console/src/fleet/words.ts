// SPDX-License-Identifier: Apache-2.0
//
// A device in words, for those who do not see the canvas, and for those who point at it.
import { Claims, holderText } from '../model/claims';
import type { Fleet } from '../model/fleet';
import { Mark, State, stateText } from '../model/states';
import { shortName } from '../text';

export function deviceWords(fleet: Fleet, claims: Claims, id: number): string {
  const state = fleet.state[id]!;
  const holders = claims.holdersOf(id);
  const parts = [fleet.nodeNameOf(id) || fleet.poolNameOf(id), fleet.deviceName(id)];
  const words = stateText(state, fleet.fill[id]!, fleet.marks[id]!);
  parts.push(holders.length > 0 ? `${words} by ${holderText(holders)}` : words);
  const { numa } = fleet.shapeOfDevice(id);
  if (numa !== '') parts.push(`NUMA ${numa}`);
  return parts.join(', ');
}

export function nodeWords(fleet: Fleet, devices: Int32Array): string {
  const counts = new Map<string, number>();
  let tainted = 0;
  let sick = 0;
  for (const id of devices) {
    const state = fleet.state[id]!;
    const name = state === State.shared ? 'shared' : stateText(state, 0, 0);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (fleet.marks[id]! & Mark.tainted) ++tainted;
    if (fleet.marks[id]! & Mark.unhealthy) ++sick;
  }
  const parts = [...counts].map(([name, n]) => `${n} ${name}`);
  if (tainted > 0) parts.push(`${tainted} tainted`);
  if (sick > 0) parts.push(`${sick} unhealthy`);
  return parts.length === 0 ? 'no devices' : parts.join(', ');
}

export const attributeText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));

// The few that tell most, for a small box.
export function tellingAttributes(fleet: Fleet, id: number, most: number): [name: string, value: string][] {
  const shape = fleet.shapeOfDevice(id);
  const made: [string, string][] = shape.attributes.slice(0, most).map(([name, , value]) => [shortName(name), attributeText(value)]);
  for (const [name, value] of shape.capacity.slice(0, Math.max(0, most - made.length))) made.push([shortName(name), value]);
  return made;
}
