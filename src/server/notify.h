/* SPDX-License-Identifier: Apache-2.0
 * State for a service manager: "READY=1", "STOPPING=1". Does nothing when there is none. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

void notify_manager(const char *state);

#endif
