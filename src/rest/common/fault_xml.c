/* SPDX-License-Identifier: Apache-2.0
 * Faults of documents: what the error body says about an XML body that does not fit. */
#include "rest/common/fault_xml.h"

static enum err fault_document(struct request *r, const struct xml_error *e)
{
	r->fault.count = 0;
	fault_add(r, "LineNumber", arena_printf(r->arena, "%u", e->line));
	fault_add(r, "LinePosition", arena_printf(r->arena, "%u", e->column));
	fault_add(r, "Reason", e->reason);
	return ERR_INVALID_XML_DOCUMENT;
}

enum err rest_fault_xml_parse(struct request *r, struct xml_node **ret_root)
{
	struct xml_error error;
	enum err e = xml_parse(r->body, r->arena, ret_root, &error);
	return e == ERR_SYNTAX ? fault_document(r, &error) : e;
}

enum err rest_fault_xml_reason(struct request *r, const char *reason)
{
	struct xml_error e = { .line = 0, .column = 0, .reason = slice_str(reason) };
	return fault_document(r, &e);
}

enum err rest_fault_xml_child_text(struct request *r, const struct xml_node *n, const char *name, struct slice *ret)
{
	enum err e = xml_child_text(n, name, ret);
	return e == ERR_SYNTAX
		       ? rest_fault_xml_reason(r, "An element that holds text is repeated or has elements inside")
		       : e;
}

enum err rest_fault_xml_node(struct request *r, const char *node, struct slice value)
{
	r->fault.count = 0;
	fault_add(r, "XmlNodeName", slice_str(node));
	fault_add(r, "XmlNodeValue", value);
	return ERR_INVALID_XML_NODE_VALUE;
}
