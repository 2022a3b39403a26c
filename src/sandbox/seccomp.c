/* SPDX-License-Identifier: Apache-2.0
 * The list of system calls. What is not on it (connecting, binding and listening too) fails with EPERM and is written
 * to the kernel's log, where that has an audit log: a call that a library begins to make with its next version must not
 * end a server that holds data. What only an attacker would call ends the process.
 *
 * Found by tracing the tests, and by reading: memory and threads of the C library, files of RocksDB and the segment
 * files, epoll and sockets of the loops, priorities and clocks. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALL(name) SCMP_SYS(name)

static const int allowed[] = {
	/* memory */
	CALL(brk),
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(msync),
	CALL(mincore),
	CALL(membarrier),
	/* threads and time */
	CALL(futex),
	CALL(set_robust_list),
	CALL(get_robust_list),
	CALL(rseq),
	CALL(exit),
	CALL(exit_group),
	CALL(gettid),
	CALL(getpid),
	CALL(getppid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(sched_setaffinity),
	CALL(getpriority),
	CALL(setpriority),
	CALL(ioprio_set),
	CALL(ioprio_get),
	CALL(getcpu),
	CALL(clock_gettime),
	CALL(clock_getres),
	CALL(clock_nanosleep),
	CALL(nanosleep),
	CALL(gettimeofday),
	CALL(time),
	CALL(getrusage),
	CALL(getrlimit),
	CALL(sysinfo),
	CALL(uname),
	CALL(times),
	CALL(getrandom),
	CALL(restart_syscall),
	/* signals */
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(rt_sigtimedwait),
	CALL(rt_sigpending),
	CALL(rt_sigsuspend),
	CALL(sigaltstack),
	/* files */
	CALL(open),
	CALL(openat),
	CALL(openat2),
	CALL(close),
	CALL(close_range),
	CALL(read),
	CALL(pread64),
	CALL(readv),
	CALL(preadv),
	CALL(preadv2),
	CALL(write),
	CALL(pwrite64),
	CALL(writev),
	CALL(pwritev),
	CALL(pwritev2),
	CALL(lseek),
	CALL(fsync),
	CALL(fdatasync),
	CALL(sync_file_range),
	CALL(fallocate),
	CALL(ftruncate),
	CALL(truncate),
	CALL(fadvise64),
	CALL(readahead),
	CALL(stat),
	CALL(lstat),
	CALL(fstat),
	CALL(newfstatat),
	CALL(statx),
	CALL(statfs),
	CALL(fstatfs),
	CALL(access),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(readlink),
	CALL(readlinkat),
	CALL(getcwd),
	CALL(getdents),
	CALL(getdents64),
	CALL(mkdir),
	CALL(mkdirat),
	CALL(rmdir),
	CALL(unlink),
	CALL(unlinkat),
	CALL(rename),
	CALL(renameat),
	CALL(renameat2),
	CALL(link),
	CALL(linkat),
	CALL(chmod),
	CALL(fchmod),
	CALL(fchmodat),
	CALL(umask),
	CALL(flock),
	CALL(dup),
	CALL(dup2),
	CALL(dup3),
	CALL(pipe2),
	CALL(copy_file_range),
	CALL(sendfile),
	CALL(splice),
	CALL(utimensat),
	/* sockets: those that are there, and those that come out of them */
	CALL(accept),
	CALL(accept4),
	CALL(recvfrom),
	CALL(recvmsg),
	CALL(recvmmsg),
	CALL(sendto),
	CALL(sendmsg),
	CALL(sendmmsg),
	CALL(shutdown),
	CALL(getsockname),
	CALL(getpeername),
	CALL(getsockopt),
	CALL(setsockopt),
	CALL(poll),
	CALL(ppoll),
	CALL(epoll_create1),
	CALL(epoll_ctl),
	CALL(epoll_wait),
	CALL(epoll_pwait),
	CALL(epoll_pwait2),
	CALL(eventfd2),
	CALL(timerfd_create),
	CALL(timerfd_settime),
	CALL(timerfd_gettime),
};

/* A server has no reason for any of these, ever. */
static const int deadly[] = {
	CALL(execve),
	CALL(execveat),
	CALL(fork),
	CALL(vfork),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(bpf),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(setns),
	CALL(unshare),
	CALL(setuid),
	CALL(setgid),
	CALL(setreuid),
	CALL(setregid),
	CALL(setresuid),
	CALL(setresgid),
	CALL(setgroups),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(userfaultfd),
	CALL(perf_event_open),
	CALL(io_uring_setup),
	CALL(swapon),
	CALL(swapoff),
	CALL(reboot),
	CALL(open_by_handle_at),
	CALL(pidfd_getfd),
};

/* 0, or a negative errno as libseccomp says it. A call that this machine does not have is no error. */
static int rule(scmp_filter_ctx filter, uint32_t action, int call, unsigned count, const struct scmp_arg_cmp *arg)
{
	int e = seccomp_rule_add_array(filter, action, call, count, arg);
	return e == -EDOM || e == -EOPNOTSUPP ? 0 : e;
}

static int allow_when(scmp_filter_ctx filter, int call, struct scmp_arg_cmp arg)
{
	return rule(filter, SCMP_ACT_ALLOW, call, 1, &arg);
}

/* Threads, not processes. The newer call has its flags in memory, where a filter cannot look: the C library takes the
 * older one when that does not exist. */
static int threads_only(scmp_filter_ctx filter)
{
	const unsigned thread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
	int e = allow_when(filter, CALL(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));
	return e ? e : rule(filter, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0, NULL);
}

/* Nothing is both written and run. Libraries that are loaded late are mapped to be read and run. */
static int no_written_code(scmp_filter_ctx filter)
{
	int e = allow_when(filter, CALL(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!e) {
		const struct scmp_arg_cmp code[] = { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, PROT_EXEC),
						     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0) };
		e = rule(filter, SCMP_ACT_ALLOW, CALL(mmap), 2, code);
	}
	return e ? e : allow_when(filter, CALL(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Calls that do many things, of which a few are needed. */
static int parts_of_calls(scmp_filter_ctx filter)
{
	static const int
		fcntls[] = { F_GETFD, F_SETFD,	   F_GETFL, F_SETFL, F_DUPFD_CLOEXEC,
			     F_SETLK, F_OFD_SETLK, F_GETLK, 1036 /* hints of a file's life, as RocksDB gives them */ };
	static const unsigned long ioctls[] = { FIONREAD, FIONBIO, FIOCLEX, 0x5401 /* TCGETS: is it a terminal */,
						FICLONE /* checkpoints share blocks */ };
	int e = allow_when(filter, CALL(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME, 0));
	if (!e) /* to the service manager */
		e = allow_when(filter, CALL(socket), SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	if (!e) /* abort() */
		e = allow_when(filter, CALL(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	if (!e) { /* a limit may be read, and lowered by nobody */
		const struct scmp_arg_cmp arg[] = { SCMP_A0(SCMP_CMP_EQ, 0, 0), SCMP_A2(SCMP_CMP_EQ, 0, 0) };
		e = rule(filter, SCMP_ACT_ALLOW, CALL(prlimit64), 2, arg);
	}
	for (size_t i = 0; i < sizeof fcntls / sizeof *fcntls && !e; i++)
		e = allow_when(filter, CALL(fcntl), SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)fcntls[i], 0));
	for (size_t i = 0; i < sizeof ioctls / sizeof *ioctls && !e; i++)
		e = allow_when(filter, CALL(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, ioctls[i]));
	return e;
}

static int filter_fill(scmp_filter_ctx filter)
{
	int e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!e)
		e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a search, not a list */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed && !e; i++)
		e = rule(filter, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
	for (size_t i = 0; i < sizeof deadly / sizeof *deadly && !e; i++)
		e = rule(filter, SCMP_ACT_KILL_PROCESS, deadly[i], 0, NULL);
	if (!e)
		e = threads_only(filter);
	if (!e)
		e = no_written_code(filter);
	return e ? e : parts_of_calls(filter);
}

enum sandbox_result sandbox_calls(void)
{
	if (SANDBOX_SANITIZED)
		return SANDBOX_MISSING;
	/* Asked first: a kernel without it is no failure. */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
		return SANDBOX_MISSING;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter) {
		errno = ENOMEM;
		return SANDBOX_FAILED;
	}
	int e = filter_fill(filter);
	if (!e)
		e = seccomp_load(filter);
	seccomp_release(filter);
	errno = -e;
	return e ? SANDBOX_FAILED : SANDBOX_ON;
}
