/* SPDX-License-Identifier: Apache-2.0
 * Inside the wire room: the blocks of MD5 for several streams at once, a template that md5_lanes.c includes once per
 * vector width and processor. One 32-bit element of a vector belongs to one stream, so 64 steps of a vector are 64
 * steps of every stream.
 *
 * The including file sets: KERNEL (name), KERNEL_TARGET (attribute), KERNEL_REGISTER(v) (asm operand), WIDTH (streams),
 * VEC (type), V(op) (the intrinsic of that width), LOAD_ROW(i, offset) (16 bytes of each of the streams i, i + 4, i + 8
 * ..., in this order), and MIX_F, MIX_G, MIX_H, MIX_I and ROTATE. They end with this file.
 *
 * A block comes as 16 words per stream and is needed as 16 vectors of one word each: four rows of 16 bytes are a 4x4
 * matrix in every 128-bit part, and two rounds of interleaving turn it. */

/* (a + word + constant) + mix(b, c, d), rotated, + b. Only b is of the step before: the first sum is ready long before
 * it, if the compiler does not add in another order, which the empty asm keeps it from. */
#define STEP(mix, a, b, c, d, index, constant, bits)                                                                   \
	a = V(add_epi32)(a, V(add_epi32)(x[index], V(set1_epi32)((int)(constant))));                                   \
	__asm__("" : KERNEL_REGISTER(a));                                                                              \
	a = mix(a, b, c, d);                                                                                           \
	a = V(add_epi32)(ROTATE(a, bits), b);

#define STEPS(mix, bits0, bits1, bits2, bits3, i0, k0, i1, k1, i2, k2, i3, k3)                                         \
	STEP(mix, a, b, c, d, i0, k0, bits0)                                                                           \
	STEP(mix, d, a, b, c, i1, k1, bits1)                                                                           \
	STEP(mix, c, d, a, b, i2, k2, bits2)                                                                           \
	STEP(mix, b, c, d, a, i3, k3, bits3)

/* state[0] holds A of every stream, and so on; `from` moves past what was hashed. */
KERNEL_TARGET static void KERNEL(uint32_t state[4][MD5_LANES_MAX], const unsigned char *from[MD5_LANES_MAX],
				 size_t block_count)
{
	VEC a = V(loadu)((const void *)state[0]), b = V(loadu)((const void *)state[1]);
	VEC c = V(loadu)((const void *)state[2]), d = V(loadu)((const void *)state[3]);
	for (size_t at = 0; at < block_count * MD5_BLOCK_BYTES; at += MD5_BLOCK_BYTES) {
		VEC x[16];
		for (size_t quarter = 0; quarter < 4; quarter++) {
			VEC r0 = LOAD_ROW(0, at + 16 * quarter), r1 = LOAD_ROW(1, at + 16 * quarter);
			VEC r2 = LOAD_ROW(2, at + 16 * quarter), r3 = LOAD_ROW(3, at + 16 * quarter);
			VEC low01 = V(unpacklo_epi32)(r0, r1), high01 = V(unpackhi_epi32)(r0, r1);
			VEC low23 = V(unpacklo_epi32)(r2, r3), high23 = V(unpackhi_epi32)(r2, r3);
			x[4 * quarter] = V(unpacklo_epi64)(low01, low23);
			x[4 * quarter + 1] = V(unpackhi_epi64)(low01, low23);
			x[4 * quarter + 2] = V(unpacklo_epi64)(high01, high23);
			x[4 * quarter + 3] = V(unpackhi_epi64)(high01, high23);
		}
		const VEC a0 = a, b0 = b, c0 = c, d0 = d;
		STEPS(MIX_F, 7, 12, 17, 22, 0, 0xd76aa478, 1, 0xe8c7b756, 2, 0x242070db, 3, 0xc1bdceee)
		STEPS(MIX_F, 7, 12, 17, 22, 4, 0xf57c0faf, 5, 0x4787c62a, 6, 0xa8304613, 7, 0xfd469501)
		STEPS(MIX_F, 7, 12, 17, 22, 8, 0x698098d8, 9, 0x8b44f7af, 10, 0xffff5bb1, 11, 0x895cd7be)
		STEPS(MIX_F, 7, 12, 17, 22, 12, 0x6b901122, 13, 0xfd987193, 14, 0xa679438e, 15, 0x49b40821)
		STEPS(MIX_G, 5, 9, 14, 20, 1, 0xf61e2562, 6, 0xc040b340, 11, 0x265e5a51, 0, 0xe9b6c7aa)
		STEPS(MIX_G, 5, 9, 14, 20, 5, 0xd62f105d, 10, 0x02441453, 15, 0xd8a1e681, 4, 0xe7d3fbc8)
		STEPS(MIX_G, 5, 9, 14, 20, 9, 0x21e1cde6, 14, 0xc33707d6, 3, 0xf4d50d87, 8, 0x455a14ed)
		STEPS(MIX_G, 5, 9, 14, 20, 13, 0xa9e3e905, 2, 0xfcefa3f8, 7, 0x676f02d9, 12, 0x8d2a4c8a)
		STEPS(MIX_H, 4, 11, 16, 23, 5, 0xfffa3942, 8, 0x8771f681, 11, 0x6d9d6122, 14, 0xfde5380c)
		STEPS(MIX_H, 4, 11, 16, 23, 1, 0xa4beea44, 4, 0x4bdecfa9, 7, 0xf6bb4b60, 10, 0xbebfbc70)
		STEPS(MIX_H, 4, 11, 16, 23, 13, 0x289b7ec6, 0, 0xeaa127fa, 3, 0xd4ef3085, 6, 0x04881d05)
		STEPS(MIX_H, 4, 11, 16, 23, 9, 0xd9d4d039, 12, 0xe6db99e5, 15, 0x1fa27cf8, 2, 0xc4ac5665)
		STEPS(MIX_I, 6, 10, 15, 21, 0, 0xf4292244, 7, 0x432aff97, 14, 0xab9423a7, 5, 0xfc93a039)
		STEPS(MIX_I, 6, 10, 15, 21, 12, 0x655b59c3, 3, 0x8f0ccc92, 10, 0xffeff47d, 1, 0x85845dd1)
		STEPS(MIX_I, 6, 10, 15, 21, 8, 0x6fa87e4f, 15, 0xfe2ce6e0, 6, 0xa3014314, 13, 0x4e0811a1)
		STEPS(MIX_I, 6, 10, 15, 21, 4, 0xf7537e82, 11, 0xbd3af235, 2, 0x2ad7d2bb, 9, 0xeb86d391)
		a = V(add_epi32)(a, a0);
		b = V(add_epi32)(b, b0);
		c = V(add_epi32)(c, c0);
		d = V(add_epi32)(d, d0);
	}
	V(storeu)((void *)state[0], a);
	V(storeu)((void *)state[1], b);
	V(storeu)((void *)state[2], c);
	V(storeu)((void *)state[3], d);
	for (size_t i = 0; i < WIDTH; i++)
		from[i] += block_count * MD5_BLOCK_BYTES;
}

#undef STEP
#undef STEPS
#undef KERNEL
#undef KERNEL_TARGET
#undef KERNEL_REGISTER
#undef WIDTH
#undef VEC
#undef V
#undef LOAD_ROW
#undef MIX_F
#undef MIX_G
#undef MIX_H
#undef MIX_I
#undef ROTATE
