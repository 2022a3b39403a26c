/* SPDX-License-Identifier: Apache-2.0
 * The sandbox holds: each test puts a child process into it, which tries what is forbidden, and what is needed. Where
 * the kernel has none the test says so and is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

enum { CHILD_OK = 0, CHILD_SKIPPED = 77 };
#define CHECK(condition) ((condition) ? (void)0 : child_failed(#condition, __LINE__))

static void child_failed(const char *condition, int line)
{
	dprintf(STDERR_FILENO, "line %d: not so: %s (%s)\n", line, condition, strerror(errno));
	_exit(1);
}

/* The status of a child that ran this. */
static int in_child(void (*run)(void *), void *arg)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run(arg);
		_exit(CHILD_OK);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void expect_ok(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPPED) {
		print_message("reason: this kernel or build has no such sandbox\n");
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

static void calls_or_skip(void)
{
	enum sandbox_result r = sandbox_calls();
	if (r == SANDBOX_MISSING)
		_exit(CHILD_SKIPPED);
	CHECK(r == SANDBOX_ON);
}

/* ---- system calls ---- */

static void *thread_lives(void *arg)
{
	char *memory = malloc(1 << 20);
	CHECK(memory);
	memset(memory, 1, 1 << 20);
	free(memory);
	CHECK(pthread_setname_np(pthread_self(), "later") == 0);
	return arg;
}

static void needed(void *arg)
{
	pthread_t thread;
	int pair[2];
	char byte = 'x';
	struct stat st;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0); /* before, as a server's listeners are */
	calls_or_skip();
	CHECK(pthread_create(&thread, NULL, thread_lives, NULL) == 0 && pthread_join(thread, NULL) == 0);
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
	CHECK(send(pair[0], &byte, 1, 0) == 1 && recv(pair[1], &byte, 1, 0) == 1);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED && mprotect(map, 4096, PROT_READ) == 0 && munmap(map, 4096) == 0);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(fd >= 0 && close(fd) == 0);
}

static void test_what_a_server_needs_goes_on(void **state)
{
	expect_ok(in_child(needed, NULL));
}

static void refused(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(9) };
	int before = socket(AF_INET, SOCK_STREAM, 0);
	calls_or_skip();
	errno = 0;
	CHECK(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EPERM);
	errno = 0;
	CHECK(connect(before, (struct sockaddr *)&to, sizeof to) < 0 && errno == EPERM);
	errno = 0;
	CHECK(bind(before, (struct sockaddr *)&to, sizeof to) < 0 && errno == EPERM);
	errno = 0;
	CHECK(listen(before, 1) < 0 && errno == EPERM);
	errno = 0;
	CHECK(mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	      errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
	      errno == EPERM);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	errno = 0;
	CHECK(mprotect(map, 4096, PROT_READ | PROT_EXEC) < 0 && errno == EPERM);
	CHECK(kill(getppid(), 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_tgkill, getppid(), getppid(), 0) < 0 && errno == EPERM);
	CHECK(symlink("/etc", "/tmp/never") < 0 && errno == EPERM);
	CHECK(chown("/tmp", 0, 0) < 0 && errno == EPERM);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_memfd_create, "x", 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_personality, 0) < 0 && errno == EPERM);
	CHECK(ioctl(0, 0x5412 /* TIOCSTI */, "x") < 0 && errno == EPERM);
}

static void test_what_it_does_not_need_is_refused(void **state)
{
	expect_ok(in_child(refused, NULL));
}

/* ---- what ends the process ---- */

static void do_execve(void)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	execve("/bin/true", argv, NULL);
}
static void do_fork(void)
{
	syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	_exit(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) < 0 && errno == EPERM ? 42 : 1);
}
static void do_ptrace(void)
{
	ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
static void do_peek(void)
{
	syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}
static void do_setuid(void)
{
	syscall(SYS_setuid, 0);
}
static void do_unshare(void)
{
	syscall(SYS_unshare, 0x10000000 /* a user namespace */);
}
static void do_mount(void)
{
	syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL);
}
static void do_bpf(void)
{
	syscall(SYS_bpf, 0, NULL, 0);
}
static void do_io_uring(void)
{
	syscall(SYS_io_uring_setup, 1, NULL);
}

static void *other_thread(void *arg)
{
	pthread_barrier_t *both = arg;
	pthread_barrier_wait(both); /* here before the filter */
	pthread_barrier_wait(both);
	do_execve();
	return NULL;
}

/* The filter is put on by one thread and holds in one that was there before. */
static void do_execve_elsewhere(void)
{
	_exit(1); /* see run_deadly */
}

static void run_deadly(void *arg)
{
	void (*attempt)(void) = *(void (**)(void))arg;
	pthread_barrier_t both;
	pthread_t thread;
	bool elsewhere = attempt == do_execve_elsewhere;
	pthread_barrier_init(&both, NULL, 2);
	if (elsewhere) {
		CHECK(pthread_create(&thread, NULL, other_thread, &both) == 0);
		pthread_barrier_wait(&both);
	}
	calls_or_skip();
	if (elsewhere) {
		pthread_barrier_wait(&both);
		pthread_join(thread, NULL);
	} else {
		attempt();
	}
	_exit(1); /* still here: it did not hold */
}

static void test_an_attack_ends_the_process(void **state)
{
	static void (*const attempts[])(void) = { do_execve, do_ptrace, do_peek,     do_setuid,		 do_unshare,
						  do_mount,  do_bpf,	do_io_uring, do_execve_elsewhere };
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		void (*attempt)(void) = attempts[i];
		int status = in_child(run_deadly, &attempt);
		if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPPED)
			expect_ok(status);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("attempt %zu ended with status %x", i, (unsigned)status);
	}
}

static void fork_refused(void *arg)
{
	calls_or_skip();
	do_fork();
}

static void test_no_process_is_started(void **state)
{
	int status = in_child(fork_refused, NULL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPPED)
		expect_ok(status);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/* ---- files ---- */

struct dirs {
	char own[64], read[64], other[64];
};

static void file_make(const char *dir, const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
}

static int file_open(const char *dir, const char *name, int flags)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	errno = 0;
	int fd = open(path, flags | O_CLOEXEC, 0600);
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return fd >= 0 ? 0 : -1;
}

static void *opens_other(void *arg)
{
	const struct dirs *d = arg;
	CHECK(file_open(d->other, "file", O_RDONLY) < 0 && errno == EACCES);
	CHECK(file_open(d->own, "later", O_WRONLY | O_CREAT) == 0);
	return NULL;
}

static void files_held(void *arg)
{
	const struct dirs *d = arg;
	char from[128], to[128];
	pthread_t thread;
	const struct sandbox_path paths[] = { { d->own, SANDBOX_OWN },
					      { d->read, SANDBOX_READ },
					      { "/does/not/exist", SANDBOX_OWN } };
	enum sandbox_result r = sandbox_files(paths, 3);
	if (r == SANDBOX_MISSING)
		_exit(CHILD_SKIPPED);
	CHECK(r == SANDBOX_ON);
	CHECK(file_open(d->own, "file", O_RDWR | O_TRUNC) == 0);
	CHECK(file_open(d->own, "new", O_WRONLY | O_CREAT | O_EXCL) == 0);
	snprintf(from, sizeof from, "%s/new", d->own);
	snprintf(to, sizeof to, "%s/sub", d->own);
	CHECK(mkdir(to, 0700) == 0);
	snprintf(to, sizeof to, "%s/sub/moved", d->own);
	CHECK(rename(from, to) == 0 && unlink(to) == 0);
	CHECK(file_open(d->read, "file", O_RDONLY) == 0);
	CHECK(file_open(d->read, "file", O_WRONLY) < 0 && errno == EACCES);
	CHECK(file_open(d->read, "new", O_WRONLY | O_CREAT) < 0 && errno == EACCES);
	CHECK(file_open(d->other, "file", O_RDONLY) < 0 && errno == EACCES);
	CHECK(file_open("/etc", "passwd", O_RDONLY) < 0 && errno == EACCES);
	CHECK(file_open("/root", "", O_RDONLY | O_DIRECTORY) < 0);
	snprintf(from, sizeof from, "%s/link", d->own);
	CHECK(symlink("/etc/passwd", from) < 0 && errno == EACCES);
	execl("/bin/true", "true", (char *)NULL);
	CHECK(errno == EACCES);
	CHECK(pthread_create(&thread, NULL, opens_other, arg) == 0 && pthread_join(thread, NULL) == 0);
}

static void test_files_elsewhere_are_out_of_reach(void **state)
{
	struct dirs d;
	char command[256];
	char *const each[] = { d.own, d.read, d.other };
	for (size_t i = 0; i < 3; i++) {
		snprintf(each[i], sizeof d.own, "/tmp/zaffre-sandbox-XXXXXX");
		assert_non_null(mkdtemp(each[i]));
		file_make(each[i], "file");
	}
	int status = in_child(files_held, &d);
	snprintf(command, sizeof command, "rm -r %s %s %s", d.own, d.read, d.other);
	assert_int_equal(system(command), 0);
	expect_ok(status);
}

static void memory_hidden(void *arg)
{
	sandbox_hide_memory();
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void test_memory_is_hidden(void **state)
{
	expect_ok(in_child(memory_hidden, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_server_needs_goes_on),
		cmocka_unit_test(test_what_it_does_not_need_is_refused),
		cmocka_unit_test(test_an_attack_ends_the_process),
		cmocka_unit_test(test_no_process_is_started),
		cmocka_unit_test(test_files_elsewhere_are_out_of_reach),
		cmocka_unit_test(test_memory_is_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
