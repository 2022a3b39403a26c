// SPDX-License-Identifier: Apache-2.0
export interface KitState {
	now: string;
	advancedSeconds: number;
	faults: object[];
	states: string[] | null;
}
export interface FaultRule {
	action: 'busy' | 'error' | 'delay' | 'reset' | 'truncate';
	operation?: string;
	rate?: number;
	count?: number;
	delayMs?: number;
	retryAfter?: number;
}
export class TestKit {
	constructor(adminUrl: string);
	state(): Promise<KitState>;
	advance(seconds: number): Promise<KitState>;
	setClock(time: Date | string | number): Promise<KitState>;
	reset(account?: string): Promise<KitState>;
	save(name: string): Promise<KitState>;
	restore(name: string): Promise<KitState>;
	fault(rule: FaultRule): Promise<KitState>;
	clearFaults(): Promise<KitState>;
	leases(): Promise<object[]>;
	conflicts(): Promise<object[]>;
}
export interface Zaffre {
	connectionString: string;
	endpoints: { blob: string; queue: string; table: string; file?: string };
	account: string;
	key: string;
	location?: string;
	admin: string;
	test: TestKit;
	pid: number;
	stop(): Promise<void>;
}
export function start(options?: { location?: string; args?: string[]; timeoutMs?: number }): Promise<Zaffre>;
export function program(): string;
