/* SPDX-License-Identifier: Apache-2.0
 * Runs a target over every file of a corpus directory. An empty or missing directory is a failure: then nothing was
 * tested. */
#include <dirent.h>

#include "fuzz.h"

enum { FILE_BYTES_MAX = 16 << 20 };

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	CHECK(f);
	static uint8_t bytes[FILE_BYTES_MAX];
	size_t size = fread(bytes, 1, sizeof bytes, f);
	CHECK(!ferror(f));
	fclose(f);
	struct slice copy = fuzz_copy(slice_make(bytes, size));
	LLVMFuzzerTestOneInput((const uint8_t *)copy.ptr, copy.len);
	fuzz_free(copy);
}

int main(int argc, char **argv)
{
	size_t count = 0;
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		CHECK(d);
		for (struct dirent *e; (e = readdir(d));) {
			char path[4096];
			if (e->d_name[0] == '.')
				continue;
			CHECK(snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name) < (int)sizeof path);
			replay_file(path);
			count++;
		}
		closedir(d);
	}
	printf("%zu inputs\n", count);
	return count == 0;
}
