// SPDX-License-Identifier: Apache-2.0
//
// Asking the process. Whatever it refuses becomes a Failure with the server's own words.
import type { Issue } from './types';
import { visible, visibleAll } from './text';

export const kApi = '/console/api/v1/';
const kRounds = 8;
const kTokenKey = 'dray-console-token';

export class Failure extends Error {
  constructor(readonly code: number, readonly reason: string, message: string, readonly issues: Issue[] = [], readonly retryAfter = 0) {
    super(message);
  }
}

let token = '';
export const hasToken = (): boolean => token !== '';

export function setToken(value: string): void {
  token = value.trim();
  try {
    if (token === '') sessionStorage.removeItem(kTokenKey);
    else sessionStorage.setItem(kTokenKey, token);
  } catch {
    // A browser that keeps nothing: the token lasts as long as the page.
  }
}

// Tabs of one origin tell each other the token, so that a link opened in a new tab works; it is never in an address or on a disk.
function listenToTabs(channel: BroadcastChannel): void {
  channel.onmessage = (event: MessageEvent<unknown>) => {
    if (event.data === 'token?' && token !== '') channel.postMessage({ token });
  };
}

// From the address's fragment, which is emptied at once; else of this tab; else of another tab.
export async function findToken(): Promise<void> {
  const fragment = /^#t=([A-Za-z0-9._~+/=-]+)$/.exec(location.hash);
  if (fragment) {
    setToken(fragment[1]!);
    history.replaceState(history.state, '', location.pathname + location.search);
  } else {
    try {
      token = sessionStorage.getItem(kTokenKey) ?? '';
    } catch {
      token = '';
    }
  }
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel('dray-console');
  if (token === '') {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, 250);
      channel.onmessage = (event: MessageEvent<{ token?: unknown }>) => {
        if (typeof event.data?.token !== 'string') return;
        setToken(event.data.token);
        clearTimeout(timer);
        done();
      };
      channel.postMessage('token?');
    });
  }
  listenToTabs(channel);
}

function headers(body: boolean): Record<string, string> {
  const made: Record<string, string> = { 'X-Dray-Console': '1', Accept: 'application/json' };
  if (token !== '') made.Authorization = `Bearer ${token}`;
  if (body) made['Content-Type'] = 'application/json';
  return made;
}

export async function ask(path: string, options: { method?: string; body?: unknown; signal?: AbortSignal } = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(kApi + path, {
      method: options.method ?? (options.body === undefined ? 'GET' : 'POST'),
      headers: headers(options.body !== undefined),
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Failure(0, 'Unreachable', 'The console\'s own process does not answer. Is dray still running?');
  }
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  let reason = '';
  let issues: Issue[] = [];
  try {
    const status = (await response.json()) as { message?: unknown; reason?: unknown; issues?: unknown };
    if (typeof status.message === 'string' && status.message !== '') message = visible(status.message);
    if (typeof status.reason === 'string') reason = visible(status.reason);
    if (Array.isArray(status.issues)) issues = visibleAll(status.issues) as Issue[];
  } catch {
    // Not a Status: the code has to do.
  }
  throw new Failure(response.status, reason, message, issues, Number(response.headers.get('Retry-After') ?? 0));
}

// Every text of the answer can be shown as it is.
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return visibleAll(await (await ask(path, signal ? { signal } : {})).json()) as T;
}
// Questions all of them: who is told that another one of his is still being answered asks again.
export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  for (let round = 0;; ++round) {
    try {
      return visibleAll(await (await ask(path, signal ? { body, signal } : { body })).json()) as T;
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 429 || error.retryAfter <= 0 || round >= kRounds || path === 'simulations') throw error;
      await new Promise((done) => setTimeout(done, Math.min(error.retryAfter, 5) * 1000));
      if (signal?.aborted) throw error;
    }
  }
}
// Large ones, whose reader makes visible what it keeps.
export async function getRaw<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, signal ? { signal } : {})).json()) as T;
}
export async function remove(path: string): Promise<void> {
  await ask(path, { method: 'DELETE' });
}

export const query = (values: Record<string, string | number | undefined>): string => {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined && value !== '') made.set(key, String(value));
  const text = made.toString();
  return text === '' ? '' : `?${text}`;
};
