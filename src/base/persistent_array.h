// SPDX-License-Identifier: Apache-2.0
//
// PersistentArray: an array whose copies share what they have in common. Copying takes a counted
// pointer; changing one element of a shared array copies the blocks on the way to it, not the rest.
#pragma once
