// SPDX-License-Identifier: Apache-2.0
//
// What the unit tests look at: everything that needs no page.
export * as text from '../../src/text';
export * as states from '../../src/model/states';
export { Fleet, shapeOf } from '../../src/model/fleet';
export { Claims, holderText } from '../../src/model/claims';
export * as groups from '../../src/model/groups';
export * as search from '../../src/model/search';
export * as layout from '../../src/fleet/layout';
export * as palette from '../../src/fleet/palette';
export { address, parse } from '../../src/route';
