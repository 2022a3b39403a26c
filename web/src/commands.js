// SPDX-License-Identifier: Apache-2.0
// Commands for the running server, the same that its unix socket takes: { status, text }, or what a JSON answer says.
import { ServiceError, ask, query } from './api.js';

export const command = (run, parameters = {}) => ask(`/api/command?${query({ run, ...parameters })}`, { method: 'POST', body: '' });

// One that answers with JSON; what is refused is thrown with the reason.
export async function commandJson(run, parameters) {
	const answer = await command(run, parameters);
	if (answer.status >= 300) throw new ServiceError(answer.status, 'Refused', answer.text.trim());
	return JSON.parse(answer.text);
}
