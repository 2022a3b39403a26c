// SPDX-License-Identifier: Apache-2.0
// Small, seeded, good enough to choose sizes and moments: random(seed)(bound) is in [0, bound).
export function random(seed) {
	let x = seed >>> 0 || 1;
	return (bound) => {
		x ^= x << 13;
		x >>>= 0;
		x ^= x >>> 17;
		x ^= x << 5;
		x >>>= 0;
		return x % bound;
	};
}
