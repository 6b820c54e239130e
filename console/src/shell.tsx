// SPDX-License-Identifier: Apache-2.0
//
// What is around every view: who and where, whether it is live, the views, search.
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setToken } from './api';
import { connection, fleet, info, now, pendingCount, retry } from './live';
import { helping, kKeys, notice } from './keys';
import { address, kTitles, kViews, route, type View } from './route';
import { clock, count } from './text';
import { dark, keysOn, switchKeys, switchTheme } from './theme';
import { Link } from './ui/parts';
import { ClaimsView } from './views/claims';
import { ClassesView } from './views/classes';
import { FleetView } from './views/fleet';
import { Inspector } from './views/inspector';
import { PendingView } from './views/pending';
import { giveBack, openSearch, SearchDialog, searching } from './views/search';
import { SimulateView } from './views/simulate';
import { UsageView } from './views/usage';
import { WhatIfView } from './views/whatif';

const kIcons: Record<View, string> = {
  fleet: 'M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z',
  claims: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.2l2.4 1.6',
  pending: 'M5.6 6a2.5 2.5 0 1 1 3.7 2.3C8.4 8.8 8 9.2 8 10.2M8 12.4v1',
  whatif: 'M4 2v4a3 3 0 0 0 3 3h5M9.5 6.5L12 9l-2.5 2.5M4 6v8',
  usage: 'M2 14V9h2.5v5M6.7 14V5h2.5v9M11.5 14V2H14v12',
  simulate: 'M4 2.5v11l9-5.5z',
  classes: 'M9.5 2.5C7 2 7 4 6.8 6L6 12c-.2 1.6-.8 2.2-2.5 1.8M4 6.5h6M9 9l4 5M13 9l-4 5',
};

const kBodies: Record<View, () => ComponentChildren> = {
  fleet: () => <FleetView />,
  claims: () => <ClaimsView />,
  pending: () => <PendingView />,
  whatif: () => <WhatIfView />,
  usage: () => <UsageView />,
  simulate: () => <SimulateView />,
  classes: () => <ClassesView />,
};

function Live() {
  const { phase, attempt, last, message } = connection.value;
  const silent = last > 0 ? now.value - last : 0;
  if (phase === 'live') return <span class="live ok" role="status" title={`Changes arrive as they happen. The last one came at ${clock(new Date(last))}.`}><span aria-hidden="true">●</span> live</span>;
  const text = phase === 'connecting' ? 'connecting' : `last change ${last > 0 ? clock(new Date(last)) : '?'}, reconnecting${attempt > 0 ? ` (${attempt})` : ''}`;
  return (
    <span class={`live ${silent > 30000 ? 'old' : 'stale'}`} role="status" title={message}>
      <span aria-hidden="true">◌</span> <span class="live-text">{text}</span>
      {phase === 'stale' && <button type="button" class="small" onClick={retry}>now</button>}
    </span>
  );
}

class Guard extends Component<{ children: ComponentChildren; at: string }, { error: unknown }> {
  override state = { error: undefined as unknown };
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override componentDidUpdate(before: { at: string }) {
    if (before.at !== this.props.at && this.state.error !== undefined) this.setState({ error: undefined });
  }
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <div class="page"><div class="box error" role="alert"><strong>This view failed because of a bug in the console.</strong><p>{String(this.state.error)}</p>
        <button type="button" onClick={() => this.setState({ error: undefined })}>Try again</button></div></div>
    );
  }
}

export function Shell() {
  const { view, parts, query } = route.value;
  const main = useRef<HTMLElement>(null);
  const place = `${view}/${parts.join('/')}`;
  useEffect(() => {
    document.title = `${parts[1] ?? kTitles[view]} – ${info.value?.cluster ?? 'dray'} console`;
  }, [place, info.value?.cluster]);
  const stale = connection.value.phase === 'stale' && now.value - connection.value.last > 30000 && connection.value.last > 0;
  const overlaid = searching.value || helping.value;
  return (
    <div class={`shell${stale ? ' is-old' : ''}`}>
      <div class="chrome" inert={overlaid}>
        <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
        <header class="top">
          <Link href={address('fleet')} class="brand"><svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true"><path class="brand-mark" d="M1 1h6v6H1zM9 9h6v6H9z" /><path class="brand-line" d="M9.6 1.6h4.8v4.8H9.6zM1.6 9.6h4.8v4.8H1.6z" /></svg> dray</Link>
          <span class="cluster" title={info.value?.server}>{info.value?.cluster ?? ''}</span>
          <Live />
          <span class="space" />
          <button type="button" class="searcher" onClick={openSearch} aria-keyshortcuts="/"><kbd class="wide-only">/</kbd> <span>search</span></button>
          <button type="button" class="icon-button" aria-label={dark.value ? 'Light colours' : 'Dark colours'} title="Dark or light (t)" onClick={switchTheme}>◐</button>
          <button type="button" class="icon-button wide-only" aria-label="Keys and help" title="Keys (?)" onClick={() => { helping.value = true; }}>?</button>
        </header>
        <nav class="rail" aria-label="Views">
          {kViews.map((name) => (
            <Link key={name} href={address(name)} aria-current={name === view ? 'page' : undefined}>
              <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true"><path d={kIcons[name]} /></svg>
              <span class="rail-name">{kTitles[name]}</span>
              {name === 'pending' && pendingCount.value > 0 && <span class="badge" aria-label={`${count(pendingCount.value, 'pod')} pending`}>{pendingCount.value > 999 ? '999+' : pendingCount.value}</span>}
            </Link>
          ))}
        </nav>
        <main id="main" ref={main} tabIndex={-1} class={query.has('sel') && fleet.value ? 'with-inspector' : ''}>
          <div class="body"><Guard at={place}>{kBodies[view]()}</Guard></div>
          <Inspector />
        </main>
      </div>
      {searching.value && <SearchDialog />}
      {helping.value && <Help />}
      <p class={notice.value === '' ? 'notice none' : 'notice'} role="status">{notice.value}</p>
    </div>
  );
}

function Help() {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    close.current?.focus();
    return () => giveBack(before);
  }, []);
  return (
    <div class="veil" onMouseDown={(event) => { if (event.target === event.currentTarget) helping.value = false; }}>
      <div class="dialog help" role="dialog" aria-modal="true" aria-label="Keys and help">
        <h2>Keys</h2>
        <dl class="keys">{kKeys.map(([keys, what]) => <div key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>)}</dl>
        <p><label><input type="checkbox" checked={keysOn.value} onChange={switchKeys} /> enable single-key shortcuts ( / and Esc always work)</label></p>
        <p class="dim">dray {info.value?.version} {info.value?.mode === 'local' ? 'using the credentials of the kubeconfig' : 'using your own credentials'}{info.value?.user ? `, as ${info.value.user}` : ''}. The console is read-only and never changes the cluster. <a href="/console/LICENSES.txt">Licences</a></p>
        <button type="button" ref={close} onClick={() => { helping.value = false; }}>close</button>
      </div>
    </div>
  );
}

// Without a token nothing is shown, but how to get one is.
export function Door({ message }: { message: string }) {
  const [token, setText] = useState('');
  return (
    <main class="door">
      <div class="box">
        <h1>A token is needed</h1>
        {message !== '' && <p role="alert">The token was not accepted: {message}</p>}
        <p>Only users with access to the cluster can see it here.</p>
        <ul>
          <li>With <code>dray console</code>: open the printed address, including the part after <code>#</code>. It changes every time the console starts.</li>
          <li>With <code>dray up</code>: paste a bearer token, for example from <code>kubectl create token NAME</code> or from your kubeconfig.</li>
        </ul>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setToken(token);
            location.reload();
          }}
        >
          <label class="stack"><span>Token</span><input type="password" autocomplete="off" value={token} onInput={(event) => setText(event.currentTarget.value)} /></label>
          <button type="submit" class="primary" disabled={token.trim() === ''}>Open the console</button>
        </form>
        <p class="dim">The token stays in this tab and is only sent to this server.</p>
      </div>
    </main>
  );
}
