// SPDX-License-Identifier: Apache-2.0
export interface Zaffre {
	connectionString: string;
	endpoints: { blob: string; queue: string; table: string; file?: string };
	account: string;
	key: string;
	location: string;
	pid: number;
	stop(): Promise<void>;
}
export function start(options?: { location?: string; args?: string[]; timeoutMs?: number }): Promise<Zaffre>;
export function program(): string;
