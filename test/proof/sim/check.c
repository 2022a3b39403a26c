/* SPDX-License-Identifier: Apache-2.0
 * linear_check [FILE]: reads a history (linear.h has the form) and says whether some order explains it.
 * Exit status 0 yes, 1 no (with the key and its operations), 2 not a history, 3 could not tell. */
#include "linear.h"

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
	struct linear_history *h = linear_history_new();
	char *line = NULL;
	size_t cap = 0, number = 0;
	ssize_t n;
	if (!in) {
		fprintf(stderr, "cannot open %s\n", argv[1]);
		return 2;
	}
	while ((n = getline(&line, &cap, in)) >= 0) {
		struct slice text = slice_make(line, (size_t)n);
		number++;
		if (text.len && text.ptr[text.len - 1] == '\n')
			text.len--;
		if (linear_history_add_line(h, text) != ERR_OK) {
			fprintf(stderr, "line %zu is not an operation: %.*s\n", number, SLICE_FMT(text));
			return 2;
		}
	}
	struct buf why;
	buf_init(&why, 64 * 1024 * 1024);
	enum linear_answer answer = linear_history_check(h, &why);
	if (answer == LINEAR_VIOLATION)
		printf("%.*s", SLICE_FMT(buf_slice(&why)));
	else
		printf("%zu operations: %s\n", linear_history_count(h),
		       answer == LINEAR_OK ? "linearizable" : "too many open outcomes to tell");
	buf_fini(&why);
	linear_history_free(h);
	free(line);
	fclose(in);
	return answer == LINEAR_OK ? 0 : answer == LINEAR_VIOLATION ? 1 : 3;
}
