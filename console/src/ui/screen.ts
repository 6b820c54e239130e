// SPDX-License-Identifier: Apache-2.0
import { signal } from '@preact/signals';

const query = matchMedia('(max-width: 640px)');
export const narrow = signal(query.matches);
query.addEventListener('change', () => {
  narrow.value = query.matches;
});
