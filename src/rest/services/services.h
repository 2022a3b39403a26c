/* SPDX-License-Identifier: Apache-2.0
 * All services that speak REST, by enum service: what the configuration of a server names. */
#ifndef REST_SERVICES_H
#define REST_SERVICES_H

#include "rest/core/service.h"

#define SERVICE(id, name, ...) extern const struct rest_service rest_service_##name;
#include "base/services.def"
#undef SERVICE

extern const struct rest_service *const rest_services[SERVICE_COUNT];

#endif
