// SPDX-License-Identifier: Apache-2.0
//
// When to ask the process again for an answer about the cluster that has changed since.
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { claimsVersion, states, structure } from '../live';

const kSoon = 500; // changes come in bunches

// A number that grows when the cluster looks different: soon after `cause` has changed, after anything else not before `rest()`
// milliseconds have gone by since the last time. In a tab that nobody sees it waits until somebody does.
export function useChanges(cause: ReadonlySignal<number>, rest: () => number): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let timer = 0;
    let due = Infinity;
    let last = Date.now();
    let owed = false;
    let seen = cause.peek();
    const grow = (): void => {
      due = Infinity;
      owed = document.hidden;
      if (owed) return;
      last = Date.now();
      setVersion((v) => v + 1);
    };
    const at = (moment: number): void => {
      if (moment >= due) return;
      clearTimeout(timer);
      due = moment;
      timer = setTimeout(grow, Math.max(0, moment - Date.now())) as unknown as number;
    };
    const look = (): void => {
      const soon = Date.now() + kSoon;
      if (cause.peek() !== seen) {
        seen = cause.peek();
        at(soon);
      } else at(Math.max(soon, last + rest()));
    };
    const stops = [cause, claimsVersion, states, structure].map((one) => {
      let first = true; // subscribing calls at once
      return one.subscribe(() => {
        if (!first) look();
        first = false;
      });
    });
    const seenAgain = (): void => {
      if (owed && !document.hidden) grow();
    };
    document.addEventListener('visibilitychange', seenAgain);
    return () => {
      for (const stop of stops) stop();
      document.removeEventListener('visibilitychange', seenAgain);
      clearTimeout(timer);
    };
  }, []);
  return version;
}
