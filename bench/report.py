# SPDX-License-Identifier: Apache-2.0
"""One table, one JSON file, one chart."""
import dataclasses
import html
import json
import math
import os
import platform
import subprocess


@dataclasses.dataclass
class Row:
    name: str
    title: str
    ours: float
    peer: float | None
    peer_name: str
    ratio: float | None
    bar: float
    unit: str
    reached: bool
    ours_run: dict | None
    peer_run: dict | None


def number(value):
    if value is None:
        return ''
    return '{:,.0f}'.format(value) if value >= 100 else '{:.3g}'.format(value)


def cpu(run, key='server_cpu_us'):
    return '{:.1f}'.format(run[key]) if run and run.get(key) else ''


def cells(row):
    verdict = '' if not row.bar else 'yes' if row.reached else 'NO'
    bar = '' if not row.bar else ('at most ' if row.ratio is None else '') + number(row.bar)
    share = '{:.2f}'.format(row.ours_run['client_cores']) if row.ours_run and 'client_cores' in row.ours_run else ''
    return [row.name, row.title, number(row.ours) + row.unit, row.peer_name, number(row.peer) + (row.unit if row.peer is not None else ''),
            '' if row.ratio is None else '{:.2f}'.format(row.ratio), bar, verdict, cpu(row.ours_run), cpu(row.peer_run), share]


HEAD = ['row', 'work', 'ours', 'against', 'peer', 'ratio', 'bar', 'reached', 'CPU us', 'peer CPU us', 'generator cores']


def show(row):
    """Progress, while the run goes on."""
    c = cells(row)
    print('  %-44s %14s  %-18s %14s  ratio %-8s bar %-12s %s' % (c[1], c[2], c[3], c[4], c[5], c[6], c[7]), flush=True)


def table(rows):
    lines = [HEAD] + [cells(r) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    form = lambda line: '| ' + ' | '.join(c.ljust(w) if i in (0, 1, 3) else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))) + ' |'
    return '\n'.join([form(HEAD), '|' + '|'.join('-' * (w + 2) for w in widths) + '|'] + [form(cells(r)) for r in rows])


def chart(rows):
    """How far each row is from its bar, on a logarithmic axis; right of the line is better."""
    rows = [r for r in rows if r.bar]
    height, left, width = 26, 420, 460
    top = 46
    span = max([1.0] + [abs(math.log10(better(r))) for r in rows])
    middle = left + width / 2
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (left + width + 130, top + height * len(rows) + 20),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20" font-size="15">Distance from the bar: 1 is the bar, to the right is better</text>']
    for i, r in enumerate(rows):
        y = top + i * height
        x = middle + math.log10(better(r)) / span * width / 2
        label = '%s%s' % (r.title, ', against ' + r.peer_name if r.peer_name else '')
        out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 10, y + 14, html.escape(label)))
        out.append('<rect x="%.1f" y="%d" width="%.1f" height="16" fill="%s"/>' % (min(x, middle), y + 2, max(abs(x - middle), 1), '#2b6cb0' if r.reached else '#c05621'))
        out.append('<text x="%d" y="%d">%s (bar %s)</text>' % (left + width + 8, y + 14, number(r.ours if r.ratio is None else r.ratio), number(r.bar)))
    out.append('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="black"/>' % (middle, top - 8, middle, top + height * len(rows)))
    return '\n'.join(out + ['</svg>', ''])


def better(r):
    value = r.bar / r.ours if r.ratio is None else r.ratio / r.bar
    return min(max(value, 1e-3), 1e3)


def revision(folder):
    done = subprocess.run(['git', '-C', folder, 'rev-parse', '--short', 'HEAD'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def write(rows, folder, seconds, long_form):
    os.makedirs(folder, exist_ok=True)
    facts = {'cores': os.cpu_count(), 'kernel': platform.release(), 'revision': revision(os.path.dirname(folder)), 'long': long_form, 'seconds': round(seconds),
             'rows': [dataclasses.asdict(r) for r in rows]}
    with open(os.path.join(folder, 'results.json'), 'w', encoding='utf-8') as f:
        json.dump(facts, f, indent=1)
    with open(os.path.join(folder, 'chart.svg'), 'w', encoding='utf-8') as f:
        f.write(chart(rows))
    with open(os.path.join(folder, 'table.md'), 'w', encoding='utf-8') as f:
        f.write(table(rows) + '\n')
    print()
    print(table(rows))
    missed = [r for r in rows if r.bar and not r.reached]
    print('\n%d cores, %.0f s. %d of %d bars reached. build/bench-results/results.json, chart.svg' %
          (os.cpu_count(), seconds, sum(1 for r in rows if r.bar) - len(missed), sum(1 for r in rows if r.bar)))
