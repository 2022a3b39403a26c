// SPDX-License-Identifier: Apache-2.0
// The views, in the order of the menu. `shown` says whether this server has what a view is about.
import { Home } from './home.jsx';
import { Blobs } from './blobs.jsx';
import { Queues } from './queues.jsx';
import { Tables } from './tables.jsx';
import { Files } from './files.jsx';
import { TestKit } from './testkit.jsx';
import { Operate } from './operate.jsx';
import { Live } from './live.jsx';
import { Sas } from './sas.jsx';

const always = () => true;
export const views = [
	{ id: 'home', title: 'Home', key: 'h', glyph: '⌂', view: Home, shown: always },
	{ id: 'blobs', title: 'Blobs', key: 'b', glyph: '▤', view: Blobs, shown: always, byAccount: true },
	{ id: 'queues', title: 'Queues', key: 'q', glyph: '⇥', view: Queues, shown: always, byAccount: true },
	{ id: 'tables', title: 'Tables', key: 't', glyph: '▦', view: Tables, shown: always, byAccount: true },
	{ id: 'files', title: 'Files', key: 'f', glyph: '❐', view: Files, shown: (overview) => overview.endpoints.some((one) => one.service === 'file' && one.port), byAccount: true },
	{ id: 'live', title: 'Live', key: 'l', glyph: '∿', view: Live, shown: always, byAccount: true },
	{ id: 'access', title: 'Access', key: 'a', glyph: '§', view: Sas, shown: always, byAccount: true },
	{ id: 'testkit', title: 'Test kit', key: 'k', glyph: '⚗', view: TestKit, shown: (overview) => overview.mode === 'development' },
	{ id: 'operate', title: 'Operate', key: 'o', glyph: '⚙', view: Operate, shown: (overview) => overview.scope === '*' },
];
