/* SPDX-License-Identifier: Apache-2.0
 * The table of services: the only file of rest that knows them all. */
#include "rest/services/services.h"

const struct rest_service *const rest_services[SERVICE_COUNT] = {
#define SERVICE(id, name, ...) [SERVICE_##id] = &rest_service_##name,
#include "base/services.def"
#undef SERVICE
};
