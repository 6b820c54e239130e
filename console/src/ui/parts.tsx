// SPDX-License-Identifier: Apache-2.0
//
// Small parts that all views are made of.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure } from '../api';
import { now } from '../live';
import { kStateName, Mark, State, stateText } from '../model/states';
import { follow } from '../route';
import { clock, duration, isTime } from '../text';

interface LinkProps {
  href: string;
  children: ComponentChildren;
  class?: string;
  'aria-current'?: 'page' | undefined;
  onClickCapture?: () => void;
}
// A link within the console: opens without loading the page again, unless somebody wants a new tab.
export function Link({ href, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href}
      onClick={(event: MouseEvent) => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        follow(href);
      }}
    >
      {children}
    </a>
  );
}

// A cell as the map draws it, for legends and lists.
export function Swatch({ state, fill = 60, marks = 0, size = 16 }: { state: number; fill?: number; marks?: number; size?: number }) {
  const name = kStateName[state] ?? 'free';
  const height = Math.max(1, Math.round((14 * fill) / 100));
  return (
    <svg class={`swatch s-${name}`} width={size} height={size} viewBox="0 0 16 16" role="img" aria-label={stateText(state, fill, marks)}>
      <rect class="base" x="0.5" y="0.5" width="15" height="15" />
      {state === State.held && <rect class="on" x="3" y="11" width="10" height="2" />}
      {state === State.shared && <rect class="part" x="1" y={15 - height} width="14" height={height} />}
      {state === State.partitioned && <path class="cross" d="M8 2.5v11M2.5 8h11" />}
      {state === State.blocked && <path class="hatch" d="M1 5l4-4M1 10l9-9M1 15L15 1M6 15l9-9M11 15l4-4" />}
      {state === State.gone && <path class="cross" d="M1 15L15 1" />}
      {state === State.unknown && <path class="cross" d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M8 12v1.2" />}
      {(marks & Mark.tainted) !== 0 && <path class="taint" d="M8 .8h7.2V8z" />}
      {(marks & Mark.unhealthy) !== 0 && (
        <>
          <rect class="sick" x="0" y="0" width="9" height="9" />
          <path class="sickx" d="M2.3 2.3l4.4 4.4M6.7 2.3L2.3 6.7" />
        </>
      )}
      {(marks & Mark.admin) !== 0 && <circle class="watch" cx="4" cy="12.5" r="2" />}
    </svg>
  );
}

export function When({ time, ago = true }: { time: string | number | undefined; ago?: boolean }) {
  const at = typeof time === 'number' ? new Date(time * 1000) : isTime(time) ? new Date(time) : undefined;
  if (!at || at.getTime() <= 0) return <span class="dim">?</span>;
  return (
    <time dateTime={at.toISOString()} title={at.toLocaleString()}>
      {clock(at)}
      {ago && <span class="dim"> {duration(Math.max(0, (now.value - at.getTime()) / 1000))} ago</span>}
    </time>
  );
}
export function Age({ since }: { since: string | number | undefined }) {
  const at = typeof since === 'number' ? since * 1000 : isTime(since) ? Date.parse(since) : 0;
  if (at <= 0) return <span class="dim">?</span>;
  return <time dateTime={new Date(at).toISOString()} title={new Date(at).toLocaleString()}>{duration(Math.floor(Math.max(0, (now.value - at) / 1000)))}</time>;
}

export function ErrorBox({ error, retry, what }: { error: unknown; retry?: () => void; what?: string }) {
  const failure = error instanceof Failure ? error : undefined;
  return (
    <div class="box error" role="alert">
      <strong>{what ?? 'This could not be done.'}</strong>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {failure && failure.issues.length > 0 && (
        <ul>
          {failure.issues.map((issue) => (
            <li key={`${issue.line}:${issue.column}:${issue.message}`}>
              {issue.line > 0 && <code>line {issue.line}, column {issue.column}</code>} {issue.message}
              {issue.hint && <span class="dim"> {issue.hint}</span>}
            </li>
          ))}
        </ul>
      )}
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return <p class="loading" role="status">Loading {what}…</p>;
}

export interface Loaded<T> {
  value: T | undefined;
  error: unknown;
  again: () => void;
}
// What `load` gives, anew when `keys` change; the old value stays until the new one is there.
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    load(controller.signal).then(
      (loaded) => {
        if (controller.signal.aborted) return;
        setValue(loaded);
        setError(undefined);
      },
      (failed: unknown) => {
        if (!controller.signal.aborted) setError(failed);
      },
    );
    return () => controller.abort();
  }, [...keys, round]);
  return { value, error, again: () => setRound(round + 1) };
}

export function CopyButton({ text, label = 'copy' }: { text: string | (() => string); label?: string }) {
  const [done, setDone] = useState('');
  return (
    <button
      type="button"
      class="small"
      onClick={() => {
        const value = typeof text === 'string' ? text : text();
        navigator.clipboard.writeText(value).then(
          () => setDone('copied'),
          () => setDone('not allowed'),
        );
        setTimeout(() => setDone(''), 1500);
      }}
    >
      {done || label}
    </button>
  );
}

export function Bar({ parts, total, label }: { parts: { value: number; kind: string; label: string }[]; total: number; label: string }) {
  let at = 0;
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="b-free" x="0" y="0" width="100" height="8" />
      {parts.map((part) => {
        const width = total > 0 ? (100 * part.value) / total : 0;
        const x = at;
        at += width;
        return width > 0 ? <rect key={part.kind} class={`b-${part.kind}`} x={x} y="0" width={Math.min(width, 100 - x)} height="8"><title>{part.label}</title></rect> : null;
      })}
    </svg>
  );
}
