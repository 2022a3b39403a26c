/* SPDX-License-Identifier: Apache-2.0
 * Faults of XML bodies, with the details the service gives. Each returns the error to answer. */
#ifndef REST_FAULT_XML_H
#define REST_FAULT_XML_H

#include "rest/core/request.h"
#include "wire/xml.h"

/* Parses the request's body; InvalidXmlDocument with line, position and reason if it is none. */
enum err rest_fault_xml_parse(struct request *, struct xml_node **ret_root) MUST_CHECK;
/* InvalidXmlDocument: well-formed, but not what this operation takes. */
enum err rest_fault_xml_reason(struct request *, const char *reason) MUST_CHECK;
/* xml_child_text; InvalidXmlDocument if the child is no plain text or not the only one of its name. */
enum err rest_fault_xml_child_text(struct request *, const struct xml_node *, const char *name,
				   struct slice *ret) MUST_CHECK;
/* InvalidXmlNodeValue with the node and its value. */
enum err rest_fault_xml_node(struct request *, const char *node, struct slice value) MUST_CHECK;

#endif
