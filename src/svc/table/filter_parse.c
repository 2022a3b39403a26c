/* SPDX-License-Identifier: Apache-2.0
 * $filter text to tree: a lexer and a recursive descent of bounded depth. Positions in errors are behind the token that
 * did not fit, as the service reports them. */
#include "svc/table/filter.h"

#include "base/limits.h"
#include "base/sys/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_LITERAL, TOKEN_OPEN, TOKEN_CLOSE };

struct token {
	enum token_kind kind;
	struct slice text;	/* WORD */
	struct edm_value value; /* LITERAL */
};

struct parser {
	struct slice text;
	size_t at; /* behind the current token */
	struct token token;
	struct arena *arena;
	struct filter *filter;
	unsigned depth;
	bool lower; /* text literals in lower case */
};

static bool is_word_start(unsigned char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || c == '_' || c >= 0x80;
}

static bool is_digit(unsigned char c)
{
	return (unsigned char)(c - '0') < 10;
}

static unsigned char peek(const struct parser *p, size_t ahead)
{
	return p->at + ahead < p->text.len ? (unsigned char)p->text.ptr[p->at + ahead] : 0;
}

/* 'text' at p->at, quotes doubled inside; the result is in the arena only if it had any. */
static enum err lex_quoted(struct parser *p, struct slice *ret)
{
	size_t start = ++p->at, doubled = 0;
	for (;; p->at++) {
		if (p->at >= p->text.len)
			return ERR_SYNTAX;
		if (p->text.ptr[p->at] != '\'')
			continue;
		if (peek(p, 1) != '\'')
			break;
		p->at++;
		doubled++;
	}
	struct slice raw = slice_make(p->text.ptr + start, p->at - start);
	p->at++;
	*ret = raw;
	if (!doubled && !p->lower)
		return ERR_OK;
	char *plain = arena_alloc(p->arena, raw.len + 1);
	if (!plain)
		return ERR_NO_MEMORY;
	size_t n = 0;
	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];
		plain[n++] = p->lower && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		i += c == '\'';
	}
	*ret = slice_make(plain, n);
	return ERR_OK;
}

static int hex_digit(unsigned char c)
{
	if (is_digit(c))
		return c - '0';
	unsigned char l = (unsigned char)((c | 0x20) - 'a');
	return l < 6 ? l + 10 : -1;
}

static enum err value_binary(struct parser *p, struct slice hex)
{
	if (hex.len % 2)
		return ERR_SYNTAX;
	char *bytes = arena_alloc(p->arena, hex.len / 2 + 1);
	if (!bytes)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < hex.len; i += 2) {
		int hi = hex_digit((unsigned char)hex.ptr[i]), lo = hex_digit((unsigned char)hex.ptr[i + 1]);
		if (hi < 0 || lo < 0)
			return ERR_SYNTAX;
		bytes[i / 2] = (char)(hi << 4 | lo);
	}
	p->token.value = (struct edm_value){ .type = EDM_BINARY, .bytes = slice_make(bytes, hex.len / 2) };
	return ERR_OK;
}

/* What stands before a quote names the literal's type. */
static enum err lex_typed(struct parser *p, struct slice prefix)
{
	struct slice text;
	p->token.kind = TOKEN_LITERAL;
	TRY(lex_quoted(p, &text));
	if (slice_eq(prefix, SLICE("datetime"))) {
		p->token.value.type = EDM_DATETIME;
		return edm_datetime_parse(text, &p->token.value.ticks) ? ERR_OK : ERR_SYNTAX;
	}
	if (slice_eq(prefix, SLICE("guid"))) {
		struct uuid *u = ARENA_NEW(p->arena, struct uuid);
		if (!u)
			return ERR_NO_MEMORY;
		if (!uuid_parse(text, u))
			return ERR_SYNTAX;
		p->token.value = (struct edm_value){ .type = EDM_GUID, .bytes = slice_make(u->bytes, sizeof u->bytes) };
		return ERR_OK;
	}
	if (slice_eq(prefix, SLICE("X")) || slice_eq(prefix, SLICE("binary")))
		return value_binary(p, text);
	return ERR_SYNTAX;
}

static enum err lex_word(struct parser *p)
{
	size_t start = p->at;
	while (is_word_start(peek(p, 0)) || is_digit(peek(p, 0)))
		p->at++;
	struct slice word = slice_make(p->text.ptr + start, p->at - start);
	if (peek(p, 0) == '\'')
		return lex_typed(p, word);
	struct edm_value *v = &p->token.value;
	p->token.kind = TOKEN_LITERAL;
	if (slice_eq_nocase(word, SLICE("true")) || slice_eq_nocase(word, SLICE("false"))) {
		*v = (struct edm_value){ .type = EDM_BOOLEAN, .boolean = word.len == 4 };
	} else if (slice_eq(word, SLICE("NaN"))) {
		*v = (struct edm_value){ .type = EDM_DOUBLE, .number = (double)NAN };
	} else if (slice_eq(word, SLICE("INF")) || slice_eq(word, SLICE("Infinity"))) {
		*v = (struct edm_value){ .type = EDM_DOUBLE, .number = (double)INFINITY };
	} else {
		p->token.kind = TOKEN_WORD;
		p->token.text = word;
	}
	return ERR_OK;
}

static bool value_number(struct slice text, bool real, struct edm_value *ret)
{
	int64_t i;
	if (!real) {
		if (!slice_to_i64(text, &i))
			return false;
		*ret = (struct edm_value){ .type = EDM_INT64, .integer = i };
		return true;
	}
	char copy[64], *end;
	if (text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	*ret = (struct edm_value){ .type = EDM_DOUBLE, .number = strtod(copy, &end) };
	return end == copy + text.len;
}

/* -?digits[.digits][e[+-]digits][L|d|f], or -INF. */
static enum err lex_number(struct parser *p)
{
	size_t start = p->at;
	bool real = false;
	p->token.kind = TOKEN_LITERAL;
	if (peek(p, 0) == '-')
		p->at++;
	struct slice rest = slice_from(p->text, p->at);
	if (slice_has_prefix(rest, SLICE("INF")) || slice_has_prefix(rest, SLICE("Infinity"))) {
		p->at += slice_has_prefix(rest, SLICE("INF")) ? 3 : 8;
		p->token.value = (struct edm_value){ .type = EDM_DOUBLE, .number = -(double)INFINITY };
		return ERR_OK;
	}
	while (is_digit(peek(p, 0)))
		p->at++;
	if (peek(p, 0) == '.' && is_digit(peek(p, 1))) {
		real = true;
		for (p->at++; is_digit(peek(p, 0));)
			p->at++;
	}
	if ((peek(p, 0) | 0x20) == 'e') {
		real = true;
		p->at++;
		if (peek(p, 0) == '+' || peek(p, 0) == '-')
			p->at++;
		while (is_digit(peek(p, 0)))
			p->at++;
	}
	struct slice text = slice_make(p->text.ptr + start, p->at - start);
	unsigned char suffix = peek(p, 0);
	bool is_long = suffix == 'L' || suffix == 'l';
	bool is_real = suffix == 'd' || suffix == 'D' || suffix == 'f' || suffix == 'F';
	p->at += is_long || is_real;
	if (is_word_start(peek(p, 0)) || is_digit(peek(p, 0)) || peek(p, 0) == '.' || (is_long && real))
		return ERR_SYNTAX;
	if (!value_number(text, real || is_real, &p->token.value))
		return ERR_SYNTAX;
	if (p->token.value.type == EDM_INT64 && !is_long) {
		if (p->token.value.integer < INT32_MIN || p->token.value.integer > INT32_MAX)
			return ERR_OUT_OF_RANGE_INPUT;
		p->token.value.type = EDM_INT32;
	}
	return ERR_OK;
}

static enum err next_token(struct parser *p)
{
	while (peek(p, 0) == ' ' || peek(p, 0) == '\t' || peek(p, 0) == '\r' || peek(p, 0) == '\n')
		p->at++;
	unsigned char c = peek(p, 0);
	if (p->at == p->text.len) {
		p->token.kind = TOKEN_END;
		return ERR_OK;
	}
	if (c == '(' || c == ')') {
		p->at++;
		p->token.kind = c == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
		return ERR_OK;
	}
	if (c == '\'') {
		struct slice text;
		p->token.kind = TOKEN_LITERAL;
		TRY(lex_quoted(p, &text));
		p->token.value = (struct edm_value){ .type = EDM_STRING, .bytes = text };
		return ERR_OK;
	}
	if (is_digit(c) || c == '-')
		return lex_number(p);
	if (is_word_start(c))
		return lex_word(p);
	p->at++;
	return ERR_SYNTAX;
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_WORD && slice_eq(p->token.text, slice_str(word));
}

static struct filter_node *node_new(struct parser *p, enum filter_kind kind, const struct filter_node *left,
				    const struct filter_node *right)
{
	struct filter_node *n = ARENA_NEW(p->arena, struct filter_node);
	if (n) {
		n->kind = kind;
		n->left = left;
		n->right = right;
	}
	return n;
}

static bool parse_op(const struct parser *p, enum filter_op *ret)
{
	static const char names[][3] = { "eq", "ne", "gt", "ge", "lt", "le" };
	for (unsigned i = 0; i < 6; i++)
		if (at_word(p, names[i])) {
			*ret = (enum filter_op)i;
			return true;
		}
	return false;
}

static unsigned property_index(struct parser *p, struct slice name)
{
	struct filter *f = p->filter;
	for (unsigned i = 0; i < f->property_count; i++)
		if (slice_eq(f->property[i], name))
			return i;
	f->property[f->property_count] = name;
	return (unsigned)f->property_count++;
}

static bool is_never_boolean(struct slice name)
{
	return slice_eq(name, SLICE("PartitionKey")) || slice_eq(name, SLICE("RowKey")) ||
	       slice_eq(name, SLICE("Timestamp"));
}

/* What stands without an operator: a property that is Boolean, or true or false. */
static enum err parse_alone(struct parser *p, const struct token *t, struct filter_node *n)
{
	if (t->kind == TOKEN_LITERAL) {
		n->kind = FILTER_CONSTANT;
		n->value = t->value;
		return t->value.type == EDM_BOOLEAN ? ERR_OK : ERR_SYNTAX;
	}
	n->kind = FILTER_TRUTH;
	n->property = property_index(p, t->text);
	return is_never_boolean(t->text) ? ERR_SYNTAX : ERR_OK;
}

/* property op literal, literal op property, or one of them alone. */
static enum err parse_comparison(struct parser *p, const struct filter_node **ret)
{
	static const enum filter_op mirrored[] = { FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE };
	struct token left = p->token;
	if (left.kind != TOKEN_WORD && left.kind != TOKEN_LITERAL)
		return ERR_SYNTAX;
	if (++p->filter->comparison_count > FILTER_COMPARISONS_MAX)
		return ERR_LIMIT;
	struct filter_node *n = node_new(p, FILTER_COMPARE, NULL, NULL);
	if (!n)
		return ERR_NO_MEMORY;
	TRY(next_token(p));
	if (!parse_op(p, &n->op)) {
		*ret = n;
		return parse_alone(p, &left, n);
	}
	TRY(next_token(p));
	if (left.kind == TOKEN_WORD && p->token.kind == TOKEN_LITERAL) {
		n->property = property_index(p, left.text);
		n->value = p->token.value;
	} else if (left.kind == TOKEN_LITERAL && p->token.kind == TOKEN_WORD) {
		n->property = property_index(p, p->token.text);
		n->value = left.value;
		n->op = mirrored[n->op];
	} else {
		return ERR_SYNTAX;
	}
	*ret = n;
	return next_token(p);
}

static enum err parse_or(struct parser *, const struct filter_node **ret);

static enum err parse_not(struct parser *p, const struct filter_node **ret)
{
	const struct filter_node *inner;
	if (++p->depth > FILTER_DEPTH_MAX)
		return ERR_LIMIT;
	if (at_word(p, "not")) {
		TRY(next_token(p));
		TRY(parse_not(p, &inner));
		*ret = node_new(p, FILTER_NOT, inner, NULL);
		if (!*ret)
			return ERR_NO_MEMORY;
	} else if (p->token.kind == TOKEN_OPEN) {
		TRY(next_token(p));
		TRY(parse_or(p, ret));
		if (p->token.kind != TOKEN_CLOSE)
			return ERR_SYNTAX;
		TRY(next_token(p));
	} else {
		TRY(parse_comparison(p, ret));
	}
	p->depth--;
	return ERR_OK;
}

static enum err parse_and(struct parser *p, const struct filter_node **ret)
{
	const struct filter_node *right;
	TRY(parse_not(p, ret));
	while (at_word(p, "and")) {
		TRY(next_token(p));
		TRY(parse_not(p, &right));
		*ret = node_new(p, FILTER_AND, *ret, right);
		if (!*ret)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static enum err parse_or(struct parser *p, const struct filter_node **ret)
{
	const struct filter_node *right;
	TRY(parse_and(p, ret));
	while (at_word(p, "or")) {
		TRY(next_token(p));
		TRY(parse_and(p, &right));
		*ret = node_new(p, FILTER_OR, *ret, right);
		if (!*ret)
			return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static enum err parse_all(struct parser *p, struct filter **ret, size_t *ret_position)
{
	p->filter = ARENA_NEW(p->arena, struct filter);
	if (!p->filter)
		return ERR_NO_MEMORY;
	enum err e = next_token(p);
	if (!e)
		e = parse_or(p, &p->filter->root);
	if (!e && p->token.kind != TOKEN_END)
		e = ERR_SYNTAX;
	if (e)
		*ret_position = p->at < p->text.len ? p->at : p->text.len;
	else
		*ret = p->filter;
	assert(e || (p->depth == 0 && p->filter->property_count <= FILTER_COMPARISONS_MAX));
	return e;
}

enum err filter_parse(struct slice text, struct arena *arena, struct filter **ret, size_t *ret_position)
{
	struct parser p = { .text = text, .arena = arena };
	return parse_all(&p, ret, ret_position);
}

enum err filter_parse_lower(struct slice text, struct arena *arena, struct filter **ret, size_t *ret_position)
{
	struct parser p = { .text = text, .arena = arena, .lower = true };
	return parse_all(&p, ret, ret_position);
}
