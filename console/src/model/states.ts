// SPDX-License-Identifier: Apache-2.0
//
// What a device can be, and what stands beside it. Numbers are those of the wire.

export const State = { free: 0, held: 1, shared: 2, partitioned: 3, blocked: 4, gone: 5, unknown: 6, removed: 255 } as const;
export const kStates = 7;
export const Mark = { tainted: 1, unhealthy: 2, admin: 4 } as const;
export const NodeFlag = { notReady: 1, cordoned: 2, absent: 4, gone: 8 } as const;
export const PoolFlag = { incomplete: 1, invalid: 2, gone: 4 } as const;

export const kStateName: readonly string[] = ['free', 'held', 'shared', 'partitioned', 'blocked', 'gone', 'unknown'];
export const kStateMeaning: readonly string[] = [
  'not allocated, and available to claims',
  'allocated to one claim, as a whole',
  'several claims share it; the fill shows how much is in use',
  'partitions of it are in use, so the whole cannot be allocated',
  'not allocated, but not available: excluded by counters or compatibility groups',
  'still allocated to a claim, but its driver no longer publishes it',
  'you may not list claims, so it is not known whether it is in use',
];
export const kMarkNames: readonly [bit: number, name: string, meaning: string][] = [
  [Mark.tainted, 'tainted', 'pods that do not tolerate the taint cannot use it'],
  [Mark.unhealthy, 'unhealthy', 'the device, its node or its pool reports a problem'],
  [Mark.admin, 'admin access', 'used with admin access, which does not allocate it'],
];

export const stateName = (state: number): string => kStateName[state] ?? 'removed';

export function marksText(marks: number): string {
  return kMarkNames.filter(([bit]) => marks & bit)
    .map(([, name]) => name)
    .join(', ');
}

// In the order in which a stacked bar shows them: what is in use, then what cannot be used, then what is free.
export const kStacked: readonly number[] = [State.held, State.shared, State.partitioned, State.blocked, State.gone, State.unknown, State.free];

// "gpu-1 is held, tainted"
export function stateText(state: number, fill: number, marks: number): string {
  const base = state === State.shared ? `shared, ${fill} % in use` : stateName(state);
  const beside = marksText(marks);
  return beside ? `${base}, ${beside}` : base;
}
