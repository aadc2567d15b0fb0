/*
 * Runs the kernel under test as if the processor's XSTATE had another size.
 *
 *   fake_xstate SIZE PROGRAM ARGUMENT...
 *
 * The host's rule (Linux, arch/x86/kernel/fpu/regset.c): PTRACE_GETREGSET of NT_X86_XSTATE returns as
 * many bytes as fit, while PTRACE_SETREGSET takes the whole state or fails with -EFAULT. The whole
 * state is 576 bytes with SSE only, 832 with AVX, 2,696 with AVX-512 and protection keys, and 11,008
 * with AMX. Without XSAVE both calls fail with -ENODEV (SIZE 0). SIZE "broken" is a host that refuses
 * to take the state back.
 *
 * The program is linked statically, so its calls cannot be replaced by a preloaded library. A second
 * process traces it, stops it at these ptrace() calls (by seccomp) and changes them. The program keeps
 * the process id that its parent knows.
 *
 * Processes still use every register of the real processor. If the simulated state is smaller than the
 * real one, the part that the program cannot see is kept here and restored together with the state
 * that it belongs to, which is recognised by the bytes that the program did see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define NT_X86_XSTATE 0x202
#define LEGACY_BYTES 512
#define SOFTWARE_BYTES_AT 464 /* of the legacy part: no registers, each kernel writes its own */
#define FEATURES_AT 512
#define MAX_BYTES (1 << 14)
#define STATES 512

struct state {
	long pid;
	unsigned char bytes[MAX_BYTES];
};

static struct state states[STATES];
static unsigned int newest;
static size_t real_bytes;
static pid_t program;
static unsigned long scratch; /* in the program: an iovec, then a state */

static long trace(long request, unsigned long address, unsigned long data)
{
	long result = syscall(SYS_ptrace, request, program, address, data);

	if (result < 0 && request != PTRACE_PEEKDATA) {
		perror("fake_xstate: ptrace");
		exit(1);
	}
	return result;
}

static void read_memory(unsigned long from, void *to, size_t length)
{
	for (size_t at = 0; at < length; at += 8)
		trace(PTRACE_PEEKDATA, from + at, (unsigned long)to + at);
}

static void write_memory(unsigned long to, const void *from, size_t length)
{
	for (size_t at = 0; at < length; at += 8)
		trace(PTRACE_POKEDATA, to + at, *(unsigned long *)((char *)from + at));
}

static int same(const unsigned char *a, const unsigned char *b, size_t length)
{
	if (memcmp(a, b, SOFTWARE_BYTES_AT))
		return 0;
	return length <= LEGACY_BYTES || !memcmp(a + LEGACY_BYTES, b + LEGACY_BYTES, length - LEGACY_BYTES);
}

static struct state *find(long pid, const unsigned char *seen, size_t length)
{
	struct state *other = NULL;

	for (unsigned int age = 0; age < STATES; age++) {
		struct state *state = &states[(newest - age) % STATES];

		if (!state->pid || !same(state->bytes, seen, length))
			continue;
		if (state->pid == pid)
			return state;
		if (!other)
			other = state;
	}
	return other;
}

/* Let the program make a system call with these registers; return its result. */
static long call(struct user_regs_struct *registers)
{
	int status;

	trace(PTRACE_SETREGS, 0, (unsigned long)registers);
	trace(PTRACE_SYSCALL, 0, 0);
	waitpid(program, &status, __WALL);
	if (!WIFSTOPPED(status))
		exit(1);
	trace(PTRACE_GETREGS, 0, (unsigned long)registers);
	return (long)registers->rax;
}

static long regset(struct user_regs_struct registers, long request, size_t bytes)
{
	struct iovec whole = { (void *)(scratch + sizeof(whole)), bytes };

	write_memory(scratch, &whole, sizeof(whole));
	registers.rdi = (unsigned long)request;
	registers.rdx = NT_X86_XSTATE;
	registers.r10 = scratch;
	return call(&registers);
}

/* Get the whole state into `states`. */
static long get_all(struct user_regs_struct registers)
{
	struct state *state = &states[++newest % STATES];
	long result = regset(registers, PTRACE_GETREGSET, MAX_BYTES);
	struct iovec whole;

	read_memory(scratch, &whole, sizeof(whole));
	real_bytes = whole.iov_len;
	state->pid = (long)registers.rsi;
	read_memory(scratch + sizeof(whole), state->bytes, real_bytes);
	return result;
}

/* Set a state of which the program has seen the first bytes only. */
static long set_all(struct user_regs_struct registers, unsigned long from, size_t length)
{
	static unsigned char seen[MAX_BYTES], bytes[MAX_BYTES];
	unsigned long features = 3; /* x87 and SSE, AVX if the program knows it, and nothing beyond */
	struct state *state;

	read_memory(from, seen, length);
	state = find((long)registers.rsi, seen, length);
	if (state) {
		memcpy(bytes, state->bytes, real_bytes);
	} else {
		memset(bytes, 0, real_bytes);
		memcpy(bytes, seen, length);
		if (length >= 832)
			features |= *(unsigned long *)(seen + FEATURES_AT) & 4;
		memcpy(bytes + FEATURES_AT, &features, sizeof(features));
	}
	write_memory(scratch + sizeof(struct iovec), bytes, real_bytes);
	return regset(registers, PTRACE_SETREGSET, real_bytes);
}

static void make_scratch(struct user_regs_struct registers)
{
	registers.orig_rax = SYS_mmap;
	registers.rdi = 0;
	registers.rsi = MAX_BYTES + sizeof(struct iovec);
	registers.rdx = PROT_READ | PROT_WRITE;
	registers.r10 = MAP_PRIVATE | MAP_ANONYMOUS;
	registers.r8 = (unsigned long)-1;
	registers.r9 = 0;
	scratch = (unsigned long)call(&registers);
}

/* The program is about to make one of the ptrace() calls: make it another one. */
static void intercept(long size, int is_broken)
{
	struct user_regs_struct registers, after;
	struct iovec asked;
	long result;

	trace(PTRACE_GETREGS, 0, (unsigned long)&registers);
	if (!real_bytes) { /* prepare, then let the program make its call again */
		if (!scratch)
			make_scratch(registers);
		else if (registers.rdi == PTRACE_GETREGSET || registers.rdi == PTRACE_GETFPREGS)
			get_all(registers);
		after = registers;
		after.rax = SYS_ptrace;
		after.rip -= 2;
		trace(PTRACE_SETREGS, 0, (unsigned long)&after);
		return;
	}
	if (registers.rdi == PTRACE_GETFPREGS || registers.rdi == PTRACE_SETFPREGS) {
		if (size != 0)
			return;
		if (registers.rdi == PTRACE_GETFPREGS) {
			result = get_all(registers);
			write_memory(registers.r10, states[newest % STATES].bytes, LEGACY_BYTES);
		} else {
			result = set_all(registers, registers.r10, LEGACY_BYTES);
		}
	} else if (registers.rdx != NT_X86_XSTATE) {
		return;
	} else {
		read_memory(registers.r10, &asked, sizeof(asked));
		after = registers;
		after.orig_rax = (unsigned long)-1; /* no call, unless there is one below */
		if (is_broken && registers.rdi == PTRACE_SETREGSET) {
			call(&after);
			result = -EFAULT;
		} else if (is_broken) {
			return;
		} else if (size == 0) {
			call(&after);
			result = -ENODEV;
		} else if (registers.rdi == PTRACE_GETREGSET) {
			size_t length = asked.iov_len < (size_t)size ? asked.iov_len : (size_t)size;

			result = get_all(registers);
			write_memory((unsigned long)asked.iov_base, states[newest % STATES].bytes, length);
			asked.iov_len = length;
			write_memory(registers.r10, &asked, sizeof(asked));
		} else if (asked.iov_len < (size_t)size) {
			call(&after);
			result = -EFAULT;
		} else if ((size_t)size < real_bytes) {
			result = set_all(registers, (unsigned long)asked.iov_base, (size_t)size);
		} else {
			struct iovec real = { asked.iov_base, real_bytes };

			write_memory(registers.r10, &real, sizeof(real));
			after = registers;
			result = call(&after);
			write_memory(registers.r10, &asked, sizeof(asked));
		}
	}
	after = registers;
	after.orig_rax = (unsigned long)-1;
	after.rax = (unsigned long)result;
	trace(PTRACE_SETREGS, 0, (unsigned long)&after);
}

static void watch(long size, int is_broken, int started)
{
	int status;

	trace(PTRACE_SEIZE, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL);
	close(started);
	while (waitpid(program, &status, __WALL) == program && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status), event = status >> 16;

		if (event == PTRACE_EVENT_SECCOMP) {
			intercept(size, is_broken);
			trace(PTRACE_CONT, 0, 0);
		} else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
			trace(PTRACE_LISTEN, 0, 0);
		} else {
			trace(PTRACE_CONT, 0, event ? 0 : (unsigned long)signal);
		}
	}
}

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_GETREGSET, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_SETREGSET, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_GETFPREGS, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_SETFPREGS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};
	struct sock_fprog loaded = { sizeof(filter) / sizeof(filter[0]), filter };
	int ready[2];
	char byte;
	pid_t tracer;

	if (argc < 3 || pipe2(ready, O_CLOEXEC))
		return 2;
	program = getpid();
	tracer = fork();
	if (tracer == 0) {
		close(ready[0]);
		for (int descriptor = 3; descriptor < 64; descriptor++)
			if (descriptor != ready[1])
				close(descriptor);
		watch(atol(argv[1]), strcmp(argv[1], "broken") == 0, ready[1]);
		_exit(0);
	}
	close(ready[1]);
	prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
	while (read(ready[0], &byte, 1) < 0 && errno == EINTR)
		;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded);
	execv(argv[2], argv + 2);
	return 127;
}
