// SPDX-License-Identifier: Apache-2.0
//
// Why pods wait: causes, the sentence, the cures that were tried, then the tree by groups of nodes.
import { useMemo, useRef, useState } from 'preact/hooks';
import { post } from '../api';
import { claims, info, pendingVersion } from '../live';
import { address, adjust, follow, route } from '../route';
import type { Cause, Cure, Explained, NodeGroup, NotCreated, Outcome, Reason } from '../types';
import { count, cut, natural } from '../text';
import { useChanges } from '../ui/changes';
import { Age, CopyButton, Empty, ErrorBox, Link, Loading, useLoaded } from '../ui/parts';
import { narrow } from '../ui/screen';
import { rememberPlan } from './whatif';

// Trying cures takes the process a moment: an answer that took long is not asked for often.
const restAfter = (seconds: number): number => Math.max(8000, seconds * 10000);

export function PendingView() {
  const took = useRef(0);
  const version = useChanges(pendingVersion, () => restAfter(took.current));
  const { query } = route.value;
  const open = query.get('cause') ?? '';
  const pod = query.get('pod') ?? '';
  const { value, error, again } = useLoaded<Explained>((signal) => post('explain', { pending: true }, signal), [version]);
  if (error !== undefined && !value) return <section class="page"><h1>Why not</h1><ErrorBox error={error} retry={again} what="Pending pods could not be explained." /></section>;
  if (!value) return <section class="page"><h1>Why not</h1><Loading what="pending pods; each cure is tried on the current cluster" /></section>;
  took.current = value.seconds ?? 0;
  const causes = value.causes ?? [];
  const missing = value.podsNotCreated ?? [];
  const notCreated = missing.reduce((sum, row) => sum + row.missing, 0);
  const pods = causes.reduce((sum, cause) => sum + cause.pods, 0) - notCreated;
  const loose = causes.reduce((sum, cause) => sum + (cause.claims ?? 0), 0);
  const oldest = causes.map((cause) => cause.oldest ?? '').filter((time) => time !== '').sort()[0];
  const opened = open !== '' ? open : pod !== '' ? causes.find((cause) => cause.members?.some((member) => `${member.namespace}/${member.name}` === pod))?.key ?? '' : causes.length === 1 ? causes[0]!.key : '';
  // A link to a pod that no cause names: one of very many, or one that waits no more.
  const [space, name] = pod.split('/');
  const alone = space && name && !causes.some((cause) => cause.members?.some((member) => member.namespace === space && member.name === name));
  return (
    <section class="page" aria-labelledby="title">
      <h1 id="title">Why not</h1>
      {alone && <div class="cause open"><div class="cause-body"><OneOutcome kind="pod" namespace={space} name={name} /></div></div>}
      {causes.length === 0 ? (
        <Empty title="No pod is pending">Every pod has a node and its devices.</Empty>
      ) : (
        <p class="lead">{count(pods, 'pod')}{loose > 0 && ` and ${count(loose, 'claim')} without a pod`} pending{notCreated > 0 && `, ${count(notCreated, 'pod')} not created`}, {count(causes.length, 'cause')}{oldest && <>, the oldest has waited <Age since={oldest} /></>}</p>
      )}
      {error !== undefined && <ErrorBox error={error} retry={again} what="The explanation below may be out of date." />}
      <ul class="causes">
        {causes.map((cause) => <CauseItem key={cause.key} cause={cause} open={cause.key === opened} outcome={value.outcomes.find((outcome) => outcome.cause === cause.key)} missing={missing.filter((row) => row.cause === cause.key)} pod={pod} />)}
      </ul>
      {value.assumptions?.map((text) => <p key={text} class="dim">Assumed: {cut(text, 400)}</p>)}
      {pods > 0 && <p class="dim">Explained in {((value.seconds ?? 0) * 1000).toFixed(0)} ms for the cluster as it is now; nothing was changed. <button type="button" class="small" onClick={again}>explain again</button></p>}
    </section>
  );
}

function CauseItem({ cause, open, outcome, missing, pod }: { cause: Cause; open: boolean; outcome: Outcome | undefined; missing: NotCreated[]; pod: string }) {
  const members = useMemo(() => [...(cause.members ?? [])].sort((a, b) => natural(a.name, b.name)), [cause]);
  const [all, setAll] = useState(false);
  const selected = members.find((member) => `${member.namespace}/${member.name}` === pod);
  const current = selected ?? members.find((member) => outcome?.name === member.name && outcome.namespace === member.namespace);
  // The answer is what one came for: it stays in sight below them.
  const few = members.slice(0, narrow.value ? 2 : 12);
  const shown = all ? members : current && !few.includes(current) ? [...few, current] : few;
  return (
    <li class={open ? 'cause open' : 'cause'}>
      <button type="button" class="cause-head" aria-expanded={open} onClick={() => adjust({ cause: open ? '-' : cause.key, pod: undefined })}>
        <span class="twist" aria-hidden="true">{open ? '▾' : '▸'}</span>
        <span class="sentence">{cause.sentence}</span>
        <span class="pods">{cause.pods > 0 && count(cause.pods, 'pod')}{cause.pods > 0 && cause.claims ? ', ' : ''}{cause.claims ? count(cause.claims, 'claim') : ''}</span>
      </button>
      {open && (
        <div class="cause-body">
          {missing.length > 0 && <ul class="plain">{missing.map((row) => <li key={`${row.namespace}/${row.owners?.join()}`}><strong class="mono">{row.namespace}/{row.owners?.[row.owners.length - 1]}</strong> {row.missing} of {count(row.wanted, 'pod')} cannot be created: {cut(row.reason, 400)}</li>)}</ul>}
          {members.length > 1 || (members[0] && !outcome) ? (
            <ul class="members" aria-label="Pods">
              {shown.map((member) => (
                <li key={`${member.namespace}/${member.name}`}>
                  <button type="button" aria-pressed={member === current} onClick={() => adjust({ cause: cause.key, pod: `${member.namespace}/${member.name}` })}>
                    {member.namespace}/{member.name} <span class="dim"><Age since={member.since} /></span>
                  </button>
                </li>
              ))}
              {shown.length < members.length && <li><button type="button" class="link" onClick={() => setAll(true)}>show all {members.length}</button></li>}
              {all && cause.pods > members.length && <li class="dim">and {cause.pods - members.length} more, for the same reason</li>}
            </ul>
          ) : null}
          {selected && (outcome?.name !== selected.name || outcome.namespace !== selected.namespace) ? <OneOutcome kind={selected.kind === 'ResourceClaim' ? 'claim' : 'pod'} namespace={selected.namespace} name={selected.name} /> : outcome && <OutcomeDetails outcome={outcome} />}
        </div>
      )}
    </li>
  );
}

function OneOutcome({ kind, namespace, name }: { kind: 'pod' | 'claim'; namespace: string; name: string }) {
  const { value, error, again } = useLoaded<Explained>((signal) => post('explain', { target: `${kind}/${namespace}/${name}` }, signal), [kind, namespace, name]);
  if (error !== undefined) return <ErrorBox error={error} retry={again} what={`${kind === 'pod' ? 'Pod' : 'Claim'} ${namespace}/${name} could not be explained.`} />;
  if (!value) return <Loading what={`${kind} ${name}`} />;
  return <>{value.outcomes.map((outcome) => (outcome.state === 'Refused' || outcome.answer ? <OutcomeDetails key={outcome.name} outcome={outcome} /> : <NotPending key={outcome.name} outcome={outcome} />))}</>;
}

function NotPending({ outcome }: { outcome: Outcome }) {
  const what = outcome.kind === 'Pod' ? 'Pod' : 'Claim';
  return (
    <div class="outcome">
      <h2 class="mono">{outcome.namespace}/{outcome.name}</h2>
      <p class="answer">{what} {outcome.name} {outcome.state !== 'Existing' && outcome.node ? `would go to node ${outcome.node} now` : `is not pending${outcome.node ? `: it is on node ${outcome.node}` : ''}`}.</p>
    </div>
  );
}

export function OutcomeDetails({ outcome }: { outcome: Outcome }) {
  const groups = [...(outcome.groups ?? outcome.explanation?.groups ?? [])].sort((a, b) => Number(b.nearest ?? false) - Number(a.nearest ?? false));
  const before = outcome.explanation?.before ?? [];
  return (
    <div class="outcome">
      <h2 class="mono">{outcome.namespace}/{outcome.name} {outcome.since && <span class="dim">pending for <Age since={outcome.since} /></span>}</h2>
      <p class="answer">{outcome.answer ?? outcome.explanation?.message ?? 'There is no explanation.'}</p>
      <Cures outcome={outcome} />
      {before.length > 0 && groups.length === 0 && <ul class="tree">{before.map((reason, i) => <ReasonItem key={i} reason={reason} />)}</ul>}
      {groups.length > 0 && (
        <>
          <h3>Nodes</h3>
          <ul class="tree">{groups.map((group, i) => <GroupItem key={i} group={group} open={group.nearest === true || groups.length === 1} />)}</ul>
        </>
      )}
      <p class="actions">
        <Link class="button" href={address('whatif')}>try something in what if</Link>
        <CopyButton text={`dray explain ${outcome.kind.toLowerCase() === 'pod' ? 'pod' : 'claim'}/${outcome.name} -n ${outcome.namespace}`} label="copy dray command" />
      </p>
    </div>
  );
}

const kVerified = { sufficient: { mark: '✓', word: 'sufficient', title: 'Tried: with this change alone the pod gets a node.' }, insufficient: { mark: '✗', word: 'not sufficient', title: 'Tried: with this change alone the pod stays pending.' }, unknown: { mark: '?', word: 'not tried', title: 'There was no time left to try it.' } } as const;

function Cures({ outcome }: { outcome: Outcome }) {
  const cures = outcome.cures ?? [];
  const sorted = [...cures].sort((a, b) => rank(a) - rank(b));
  const hints = outcome.hints ?? [];
  if (cures.length === 0 && hints.length === 0) return <p class="dim">None of the changes that were tried is enough by itself.</p>;
  return (
    <>
      <h3>What would help</h3>
      {hints.length > 0 && <ul class="plain">{hints.map((hint) => <li key={hint}>First: {hint}</li>)}</ul>}
      <ul class="cures">
        {sorted.map((cure) => {
          const verified = kVerified[cure.verified] ?? kVerified.unknown;
          return (
            <li key={cure.text} class={`cure c-${cure.verified}`}>
              <span class="verdict" title={verified.title}><span aria-hidden="true">{verified.mark}</span> {verified.word}</span>
              <span class="cure-text">
                {cut(cure.text, 400)}
                {cure.verified === 'sufficient' && cure.node && !cure.text.includes(cure.node) && <span class="dim"> It would then go to {cure.newNode ? 'a new node' : cure.node}.</span>}
                {cure.shortBy ? <span class="dim"> Still short of {cure.shortBy}.</span> : cure.still ? <span class="dim"> {sentence(cure.still)}</span> : null}
              </span>
              {cure.plan && info.value?.can?.includes('plan') !== false && (
                <Link class="button small" href={address('whatif', [], { from: 'cure' })} onClickCapture={() => rememberPlan(cure.plan!, cure.text)}>see it</Link>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
const rank = (cure: Cure): number => ['sufficient', 'unknown', 'insufficient'].indexOf(cure.verified);

function GroupItem({ group, open: first }: { group: NodeGroup; open: boolean }) {
  const [open, setOpen] = useState(first);
  const reasons = group.reasons ?? [];
  const names = group.examples ?? [];
  const title = group.nodes === 1 && names[0] ? names[0] : `${count(group.nodes, 'node')}${names.length > 0 ? `: ${names.slice(0, 3).join(', ')}${group.nodes > Math.min(3, names.length) ? ' …' : ''}` : ''}`;
  return (
    <li>
      <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="twist" aria-hidden="true">{open ? '▾' : '▸'}</span> {title}
      </button>
      {group.nearest && <> <span class="state-tag t-reserved">nearest</span></>}
      {!open && <span class="dim"> {cut(reasons.map(wordsOf).join('; '), 120)}</span>}
      {open && <ul>{reasons.map((reason, i) => <ReasonItem key={i} reason={reason} />)}
        {names[0] && <li><Link href={address('fleet', [], { sel: `node:${names[0]}` })}>show {names[0]} on the fleet</Link></li>}</ul>}
    </li>
  );
}

// Of devices, what exactly; else the plugin's words.
const wordsOf = (reason: Reason): string => (reason.devices?.summary ? reason.devices.summary.replace(/^claim \S+: /, '') : reason.text);

// A line per reason, below it what its devices dropped out for.
function ReasonItem({ reason }: { reason: Reason }) {
  const claims = reason.devices?.claims ?? [];
  return (
    <li>
      {cut(wordsOf(reason), 400)}
      {claims.length > 0 && (
        <ul>
          {claims.map((claim) => (claim.requests ?? []).map((request) => (request.alternatives ?? []).map((row, i) => (
            <li key={`${request.name}/${i}`} class={request.inConflict ? '' : 'faint'}>
              request <code>{request.name}</code>{row.deviceClass && ` (class ${row.deviceClass})`}: needs {row.needed}, {row.usable} of {row.ofClass} devices usable
              {row.drops && row.drops.length > 0 && (
                <ul>
                  {row.drops.map((drop, k) => (
                    <li key={k}>
                      {count(drop.devices, 'device')} {kDropWords.get(drop.reason) ?? drop.reason.replaceAll('_', ' ')}
                      {drop.subject ? ` ${drop.subject}` : ''}{drop.asked ? `: ${drop.asked} asked` : ''}{drop.available ? `, ${drop.available} left` : ''}
                      {drop.expression && <pre class="cel">{cut(drop.expression)}</pre>}
                      {drop.message && <span class="dim"> {cut(drop.message)}</span>}
                      {drop.holders?.slice(0, 6).map((holder) => <div key={holder.claim} class="dim">{count(holder.devices, 'device')} {holder.planned ? 'would first go to' : 'in use by'} {holder.who || holder.claim}</div>)}
                      {!drop.holders && drop.examples && <span class="dim"> ({drop.examples.slice(0, 4).map((device) => device.device).join(', ')}{drop.devices > 4 ? ' …' : ''})</span>}
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))))}
          {claims.map((claim) => (claim.constraints ?? []).filter((row) => row.inConflict).map((row) => (
            <li key={`${row.type} ${row.attribute}`}>constraint <code>{row.type} {row.attribute}</code>{row.values && `: ${row.values.slice(0, 6).map((value) => value.value).join(', ')}`}</li>
          )))}
        </ul>
      )}
    </li>
  );
}

// Codes of docs/explanations.md.
const kDropWords = new Map<string, string>([
  ['selector_false', 'that do not match'], ['expression_error', 'on which the expression fails'], ['other_node', 'of other nodes'], ['capacity_missing', 'without the capacity'],
  ['capacity_policy', 'that cannot give this amount of'], ['capacity_too_small', 'with too little'], ['in_use', 'in use'], ['in_use_by_shares', 'still shared'], ['capacity_in_use', 'with too little left of'],
  ['groups', 'that cannot be mixed with what is in use on the card'], ['counters', 'whose card has too little left of'], ['counters_overdrawn', 'of a card that is overdrawn'],
  ['taint', 'tainted'], ['attribute_missing', 'without the attribute'], ['binding_conditions_off', 'with binding conditions, which are off'], ['groups_off', 'with compatibility groups, which are off'],
  ['counters_off', 'that draw on counters, which are off'], ['node_operations', 'whose driver skips node operations'],
]);

// [ and ]: the previous or next pending pod, wherever one is.
export function nextPending(by: number): void {
  const pods = [...claims.pending.values()].sort((a, b) => a.since - b.since || (a.name < b.name ? -1 : 1)).map((pod) => `${pod.namespace}/${pod.name}`);
  if (pods.length === 0) return;
  const { view, query } = route.peek();
  const at = view === 'pending' ? pods.indexOf(query.get('pod') ?? '') : -1;
  const next = at < 0 ? (by > 0 ? 0 : pods.length - 1) : (at + by + pods.length) % pods.length;
  follow(address('pending', [], { pod: pods[next]! }));
}
