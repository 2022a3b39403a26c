// SPDX-License-Identifier: Apache-2.0
// A line chart of samples.js, drawn by uPlot in the colours of the page.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { onSample, series } from './samples.js';

const HEIGHT = 112;
// UTC, as everywhere in the page.
const clock = (seconds, digits) => new Date(seconds * 1000).toISOString().slice(11, digits);
const figure = (value) => (value === null || value === undefined ? '–' : value.toFixed(value < 10 ? 2 : 0));
// A minute at least, however short the server has been running.
function span() {
	const end = series.time.at(-1) ?? Date.now() / 1000;
	return [Math.min(series.time[0] ?? end, end - 60), end];
}
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// What stands under the pointer is told beside the name of each line; without a pointer the newest.
export function Chart({ title, lines }) {
	const ref = useRef(), head = useRef();
	useEffect(() => {
		const box = ref.current;
		const tell = (plot) => {
			const at = plot.cursor.idx ?? plot.data[0].length - 1;
			lines.forEach((_, i) => (head.current.querySelectorAll('.key b')[i].textContent = figure(plot.data[i + 1]?.[at])));
			head.current.querySelector('.at').textContent = plot.cursor.idx === null || plot.cursor.idx === undefined ? '' : `${clock(plot.data[0][at], 19)}Z`;
		};
		const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--soft'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 }, font: '11px system-ui' };
		const plot = new uPlot(
			{
				width: box.clientWidth, height: HEIGHT,
				legend: { show: false },
				hooks: { setCursor: [tell], setData: [tell] },
				cursor: { points: { size: 6 }, drag: { x: false, y: false } },
				scales: { x: { time: true, range: () => span() }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
				axes: [{ ...axis, size: 24, space: 70, values: (_, splits, __, ___, step) => splits.map((at) => clock(at, step < 60 ? 19 : 16)) }, { ...axis, size: 40, space: 28, values: (_, values) => values.map((v) => (v >= 1000 ? `${v / 1000}k` : v)) }],
				series: [{ label: 'time' }, ...lines.map(([, label, tone, fill]) => ({ label, stroke: colour(tone), width: 1.6, fill: fill ? colour(fill) : undefined, points: { show: false } }))],
			},
			[[], ...lines.map(() => [])],
			box,
		);
		// Copies: uPlot keeps what it is given, and the samples go on growing.
		const draw = () => plot.setData([[...series.time], ...lines.map(([name]) => [...series[name]])]);
		draw();
		const stop = onSample(draw);
		const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }));
		resized.observe(box);
		return () => {
			stop();
			resized.disconnect();
			plot.destroy();
		};
	}, []);
	return (
		<section class="card chart">
			<header ref={head}>
				<h2>{title} <span class="at" /></h2>
				<div>{lines.map(([name, label, tone]) => <span key={name} class={`key ${tone.slice(2)}`}>{label} <b /></span>)}</div>
			</header>
			<div ref={ref} />
		</section>
	);
}
