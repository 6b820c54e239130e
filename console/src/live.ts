// SPDX-License-Identifier: Apache-2.0
//
// What is known of the cluster, kept up by the stream. Signals are versions and counts; the things themselves are large and are
// changed in place. One loop for as long as the page lives: snapshot, stream, and again.
import { batch, signal } from '@preact/signals';
import { ask, Failure, getRaw, get, hasToken } from './api';
import { Claims } from './model/claims';
import { type Change, Fleet } from './model/fleet';
import type { Info, WireFleet, WireHolders, WireLine } from './types';
import { visible } from './text';

export type Phase = 'connecting' | 'live' | 'stale' | 'denied';
export interface Connection {
  phase: Phase;
  attempt: number; // of getting it back
  last: number; // when the last line came, milliseconds
  message: string; // what is wrong
}

export const info = signal<Info | null>(null);
export const connection = signal<Connection>({ phase: 'connecting', attempt: 0, last: 0, message: '' });
export const fleet = signal<Fleet | null>(null); // another one after a reset
export const structure = signal(0); // nodes or devices came or went
export const states = signal(0); // devices look different
export const claimsVersion = signal(0);
export const holdersKnown = signal(false);
export const pendingCount = signal(0);
export const pendingVersion = signal(0); // a pod begins to wait, or waits no more
export const now = signal(Date.now()); // once a second
export const claims = new Claims();

export type DeviceListener = (change: Change) => void;
const listeners = new Set<DeviceListener>();
export function onDevices(listener: DeviceListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const kStaleAfter = 5000;
const kGiveUpAfter = 12000;
let current: AbortController | undefined;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const set = (changes: Partial<Connection>): void => {
  connection.value = { ...connection.peek(), ...changes };
};

function receive(lines: WireLine[]): boolean {
  const known = fleet.peek();
  let reset = false;
  batch(() => {
    let devices = false;
    let built = false;
    let holders = false;
    let waiting = false;
    for (const line of lines) {
      if (line.reset) {
        reset = true;
        continue;
      }
      if (line.lost) set({ phase: 'stale', message: `The API server does not answer: ${visible(line.lost.message ?? 'the watch ended')}` });
      else if (line.beat !== undefined && connection.peek().phase !== 'live') set({ phase: 'live', attempt: 0, message: '' });
      if (!known || line.rev === undefined || line.beat !== undefined) continue;
      const change = known.apply(line);
      if (change.devices.length > 0 || change.structure) {
        devices = true;
        built = built || change.structure;
        for (const listener of listeners) listener(change);
      }
      if (line.c) {
        claims.apply(line.c, line.rev);
        holders = true;
      }
      if (line.p) {
        claims.applyPending(line.p);
        waiting = true;
      }
    }
    if (devices) ++states.value;
    if (built) ++structure.value;
    if (holders) ++claimsVersion.value;
    if (waiting) {
      pendingCount.value = claims.pending.size;
      ++pendingVersion.value;
      ++claimsVersion.value;
    }
  });
  return reset;
}

// Ends when the server says that our picture is too old (true), or when the connection breaks.
async function follow(from: Fleet): Promise<boolean> {
  const controller = new AbortController();
  current = controller;
  const watchdog = setInterval(() => {
    const silent = Date.now() - connection.peek().last;
    if (silent > kGiveUpAfter) controller.abort();
    else if (silent > kStaleAfter && connection.peek().phase === 'live') set({ phase: 'stale', message: 'The console\'s process has sent nothing for 5 seconds.' });
  }, 500);
  try {
    const response = await ask(`stream?epoch=${encodeURIComponent(from.epoch)}&from=${from.rev}`, { signal: controller.signal });
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    set({ phase: 'live', attempt: 0, message: '', last: Date.now() });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      rest += decoder.decode(value, { stream: true });
      const end = rest.lastIndexOf('\n');
      if (end < 0) continue;
      const lines = rest.slice(0, end).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as WireLine);
      rest = rest.slice(end + 1);
      connection.peek().last = Date.now();
      if (receive(lines)) return true;
    }
  } finally {
    clearInterval(watchdog);
    controller.abort();
  }
}

async function snapshot(): Promise<Fleet> {
  // The picture first: what it is called can follow.
  const asked = get<Info>('info');
  asked.catch(() => undefined);
  const wire = await getRaw<WireFleet>('fleet');
  const made = Fleet.from(wire);
  batch(() => {
    fleet.value = made;
    ++structure.value;
    ++states.value;
    claims.loadPending(wire.pending ?? []);
    pendingCount.value = claims.pending.size;
    ++pendingVersion.value;
    ++claimsVersion.value;
  });
  info.value = await asked;
  const holders = await getRaw<WireHolders>('holders').catch((error: unknown) => {
    // Who may not list claims still sees the fleet.
    if (error instanceof Failure && error.code === 403) return undefined;
    throw error;
  });
  if (holders) claims.load(holders);
  batch(() => {
    holdersKnown.value = holders !== undefined;
    ++claimsVersion.value;
  });
  return made;
}

export async function run(): Promise<void> {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  let known: Fleet | undefined;
  let wait = 0;
  for (;;) {
    try {
      known ??= await snapshot();
      wait = 0;
      if (await follow(known)) known = undefined;
    } catch (error) {
      if (error instanceof Failure && error.code === 401) {
        set({ phase: 'denied', message: hasToken() ? error.message : '' });
        return;
      }
      const message = error instanceof Failure ? error.message : error instanceof DOMException ? 'The console\'s process has sent nothing for 5 seconds.' : String(error);
      if (error instanceof Failure && error.code === 410) known = undefined;
      set({ phase: fleet.peek() ? 'stale' : 'connecting', message });
      if (error instanceof Failure && error.retryAfter > 0) wait = Math.max(wait, Math.min(error.retryAfter, 10) * 1000);
    }
    if (known === undefined && connection.peek().phase === 'live') continue; // a reset: at once
    set({ phase: fleet.peek() ? 'stale' : 'connecting', attempt: connection.peek().attempt + 1 });
    await pause(wait || 250);
    wait = Math.min(5000, Math.max(500, wait * 2));
  }
}

// Somebody wants it now.
export function retry(): void {
  current?.abort();
}
