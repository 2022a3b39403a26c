// SPDX-License-Identifier: Apache-2.0
// What is in a blob or a file: text, JSON laid out, a picture from memory, or the first bytes as hexadecimal. Never as a document of its
// own.
import { useEffect, useState } from 'preact/hooks';
import { bytes, pretty } from './format.js';
import { Problem, useLoad } from './ui.jsx';

export const PREVIEW_BYTES = 256 * 1024;
const IMAGE_BYTES = 20 * 1024 * 1024;
const HEX_BYTES = 1024;
const IMAGES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', bmp: 'image/bmp' };

export const asText = (data) => {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(data);
	} catch {
		return null;
	}
};
function hex(data) {
	let out = '';
	for (let at = 0; at < data.length; at += 16) {
		const row = [...data.slice(at, at + 16)];
		out += `${at.toString(16).padStart(6, '0')}  ${row.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(48)} ${row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : '·')).join('')}\n`;
	}
	return out;
}
// By its type; where that says nothing, by the end of its name.
function imageType(type, name) {
	if (Object.values(IMAGES).includes(type)) return type;
	return !type || type === 'application/octet-stream' ? IMAGES[/\.(\w+)$/.exec(name)?.[1].toLowerCase()] : undefined;
}

// read(most): the first bytes, at most so many. It is read once: give it a key that changes with what it shows.
export function Preview({ type, name = '', size, read }) {
	const [url, setUrl] = useState(null);
	const [broken, setBroken] = useState(false);
	const image = size > 0 && size < IMAGE_BYTES ? imageType(type, name) : undefined;
	const loaded = useLoad(() => read(image ? size : PREVIEW_BYTES), []);
	useEffect(() => {
		if (!image || !loaded.value) return undefined;
		const made = URL.createObjectURL(new Blob([loaded.value], { type: image }));
		setUrl(made);
		return () => URL.revokeObjectURL(made);
	}, [loaded.value]);
	if (loaded.error) return <Problem error={loaded.error} />;
	if (!loaded.value) return <p class="quiet">Loading …</p>;
	if (!loaded.value.length) return <p class="quiet">Empty.</p>;
	if (image && !broken) return url && <img class="preview" src={url} alt="" onError={() => setBroken(true)} />;
	const whole = asText(loaded.value) ?? (size > PREVIEW_BYTES ? asText(loaded.value.slice(0, -3)) : null);
	if (whole !== null && !whole.includes('\0'))
		return (
			<>
				<pre class="content">{(size <= PREVIEW_BYTES && /json/.test(type + name) && pretty(whole)) || whole}</pre>
				{size > PREVIEW_BYTES && <p class="quiet">The first {bytes(PREVIEW_BYTES)} of {bytes(size)}.</p>}
			</>
		);
	return (
		<>
			<pre class="content hex">{hex(loaded.value.slice(0, HEX_BYTES))}</pre>
			{size > HEX_BYTES && <p class="quiet">Not text: the first {bytes(HEX_BYTES)} of {bytes(size)}.</p>}
		</>
	);
}
