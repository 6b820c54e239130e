// SPDX-License-Identifier: Apache-2.0
//
// `/`: everything by name, at once. What the page has is found while typing; the process is asked for what it has not.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, query as queryOf } from '../api';
import { claims, fleet } from '../live';
import { type Found, search } from '../model/search';
import { address, follow, kTitles, kViews } from '../route';
import type { Hit } from '../types';

export const searching = signal(false);
let before: Element | null = null;
// What is typed before the dialog is there.
let early = '';
export function typeEarly(text: string): void {
  early += text;
}

export function openSearch(): void {
  if (searching.peek()) return;
  before = document.activeElement;
  early = '';
  searching.value = true;
}
// The page behind a dialog wakes up before it is drawn again, so that the focus can go there.
export function giveBack(to: Element | null): void {
  const chrome = document.querySelector<HTMLElement>('.chrome');
  if (chrome) chrome.inert = false;
  if (to instanceof HTMLElement && to.isConnected && to !== document.body) to.focus();
  else document.querySelector<HTMLElement>('main')?.focus();
}
export function closeSearch(): void {
  searching.value = false;
  giveBack(before);
}

function addressOf(found: Found): string {
  const known = fleet.peek();
  switch (found.kind) {
    case 'view': return found.query!;
    case 'node': return address('fleet', [], { sel: `node:${found.name}`, at: found.name! });
    case 'device': return address('fleet', [], known && found.id !== undefined ? { sel: known.key(found.id), at: known.nodeNameOf(found.id) } : {});
    case 'attribute': return address('fleet', [], { q: found.query! });
    case 'class': return address('fleet', [], { class: found.name! });
    case 'pod':
      if (found.query) return found.query;
      return address('claims', [found.namespace!, found.name!]);
    case 'claim': return address('claims', [found.namespace!, found.name!]);
    case 'pending': return address('pending', [], { pod: `${found.namespace}/${found.name}` });
    case 'namespace': return address('fleet', [], { ns: found.name! });
    case 'group': return address('fleet', [], { only: found.name! });
  }
}

const kKinds = { view: 'view', node: 'node', device: 'device', attribute: 'attribute', class: 'class', claim: 'claim', pod: 'pod', pending: 'pending', namespace: 'namespace', group: 'group' } as const;

export function SearchDialog() {
  const [text, setText] = useState(() => early);
  const [chosen, setChosen] = useState(0);
  const [remote, setRemote] = useState<Found[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.setSelectionRange(early.length, early.length);
  }, []);
  const local = useMemo(() => {
    const known = fleet.peek();
    const lower = text.trim().toLowerCase();
    const views: Found[] = lower === '' ? kViews.map((view) => ({ kind: 'view', title: kTitles[view], text: 'view', query: address(view), rank: 0 })) : kViews.filter((view) => kTitles[view].toLowerCase().startsWith(lower)).map((view) => ({ kind: 'view', title: kTitles[view], text: 'view', query: address(view), rank: 1 }));
    return [...(known ? search(known, claims, text) : []), ...views];
  }, [text]);
  useEffect(() => {
    setChosen(0);
    setRemote([]);
    const wanted = text.trim();
    if (wanted.length < 3) return;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      get<{ hits?: Hit[] }>(`search${queryOf({ q: wanted, limit: 20 })}`, controller.signal).then(
        (answer) => setRemote((answer.hits ?? []).filter((hit) => Object.hasOwn(kKinds, hit.kind)).map((hit) => ({ kind: hit.kind as Found['kind'], title: hit.name, text: hit.text ?? hit.namespace ?? '', rank: 3, name: hit.name, ...(hit.id !== undefined ? { id: hit.id } : {}), ...(hit.namespace ? { namespace: hit.namespace } : {}), ...(hit.kind === 'pod' ? { query: address('claims', [], { q: hit.name, ns: hit.namespace }) } : {}) }))),
        () => undefined, // what the page itself has found stands
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  const seen = new Set(local.map((found) => `${found.kind}/${found.id ?? ''}/${found.namespace ?? ''}/${found.title}`));
  const all = [...local, ...remote.filter((found) => !seen.has(`${found.kind}/${found.id ?? ''}/${found.namespace ?? ''}/${found.title}`))];
  const open = (found: Found | undefined): void => {
    if (!found) return;
    closeSearch();
    follow(addressOf(found));
  };
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }), [chosen]);
  return (
    <div class="veil" onMouseDown={(event) => { if (event.target === event.currentTarget) closeSearch(); }}>
      <div class="dialog search" role="dialog" aria-modal="true" aria-label="Search">
        <input
          ref={input} type="text" role="combobox" aria-expanded="true" aria-controls="hits" aria-activedescendant={all[chosen] ? `hit-${chosen}` : undefined} aria-label="Search everything" autocomplete="off" spellcheck={false}
          placeholder="node, device, claim, pod, class, model=H100 …" value={text} onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setChosen(Math.min(all.length - 1, chosen + 1));
            else if (event.key === 'ArrowUp') setChosen(Math.max(0, chosen - 1));
            else if (event.key === 'Enter') open(all[chosen]);
            else if (event.key === 'Escape') closeSearch();
            else if (event.key !== 'Tab') return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
        <ul id="hits" role="listbox" aria-label="Found" ref={list}>
          {all.map((found, i) => (
            <li key={`${found.kind}/${found.id ?? ''}/${found.namespace ?? ''}/${found.title}`} id={`hit-${i}`} role="option" aria-selected={i === chosen} onMouseMove={() => setChosen(i)} onClick={() => open(found)}>
              <span class="kind">{kKinds[found.kind]}</span> <strong>{found.title}</strong> <span class="dim">{found.text}</span>
            </li>
          ))}
        </ul>
        <p class="dim search-foot" role="status">{text.trim() === '' ? 'Type to search; Enter opens, Esc closes.' : all.length === 0 ? 'Nothing matches.' : `${all.length} found`}</p>
      </div>
    </div>
  );
}
