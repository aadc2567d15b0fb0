/*
 * Shows the kernel under test a processor whose XSTATE has FAKE_XSTATE bytes.
 *
 * The host's rule (Linux, arch/x86/kernel/fpu/regset.c): PTRACE_GETREGSET of NT_X86_XSTATE returns as
 * many bytes as fit, while PTRACE_SETREGSET takes the whole state or fails with -EFAULT. The whole
 * state is 576 bytes with SSE only, 832 with AVX, 2,696 with AVX-512 and protection keys, and 11,008
 * with AMX. Without XSAVE both calls fail with -ENODEV (FAKE_XSTATE=0). FAKE_XSTATE=broken is a host
 * that refuses to take the state back.
 *
 * Programs still use every register of the real processor. If the simulated state is smaller than the
 * real one, this library keeps the part that the caller cannot see and restores it together with the
 * state that it belongs to, which it recognises by the bytes that the caller did see.
 *
 *   gcc -O2 -shared -fPIC -o fake_xstate.so fake_xstate.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define NT_X86_XSTATE 0x202
#define LEGACY_BYTES 512
#define SOFTWARE_BYTES_AT 464 /* of the legacy part: no registers, each kernel writes its own */
#define FEATURES_AT 512
#define MAX_BYTES (1 << 15)
#define STATES 512

struct state {
	pid_t pid;
	unsigned char bytes[MAX_BYTES];
};

static struct state states[STATES];
static unsigned int newest;
static size_t real_bytes;
static long (*real)(int, ...);

static int equal(const unsigned char *a, const unsigned char *b, size_t length)
{
	if (memcmp(a, b, SOFTWARE_BYTES_AT))
		return 0;
	return length <= LEGACY_BYTES || !memcmp(a + LEGACY_BYTES, b + LEGACY_BYTES, length - LEGACY_BYTES);
}

static struct state *find(pid_t pid, const unsigned char *seen, size_t length)
{
	struct state *other = NULL;

	for (unsigned int age = 0; age < STATES; age++) {
		struct state *state = &states[(newest - age) % STATES];

		if (!state->pid || !equal(state->bytes, seen, length))
			continue;
		if (state->pid == pid)
			return state;
		if (!other)
			other = state;
	}
	return other;
}

static long read_all(pid_t pid)
{
	struct state *state = &states[++newest % STATES];
	struct iovec all = { state->bytes, MAX_BYTES };

	memset(state->bytes, 0, MAX_BYTES);
	state->pid = pid;
	if (real(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &all) < 0)
		return -1;
	real_bytes = all.iov_len;
	return 0;
}

static long write_all(pid_t pid, const unsigned char *seen, size_t length)
{
	static unsigned char bytes[MAX_BYTES];
	struct iovec all = { bytes, real_bytes };
	struct state *state = length < real_bytes ? find(pid, seen, length) : NULL;
	unsigned long features = 0;

	if (state) {
		memcpy(bytes, state->bytes, real_bytes);
	} else {
		memset(bytes, 0, real_bytes);
		memcpy(bytes, seen, length < real_bytes ? length : real_bytes);
		if (length > LEGACY_BYTES)
			memcpy(&features, seen + FEATURES_AT, sizeof(features));
		/* x87 and SSE at least, AVX if the caller knows it, and nothing beyond. */
		if (length < real_bytes)
			features = 3 | (length >= 832 ? features & 4 : 0);
		memcpy(bytes + FEATURES_AT, &features, sizeof(features));
	}
	return real(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &all);
}

long ptrace(int request, ...)
{
	static long fake = -1;
	static int is_broken;
	va_list arguments;

	va_start(arguments, request);
	pid_t pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	if (!real) {
		const char *bytes = getenv("FAKE_XSTATE");

		real = (long (*)(int, ...))dlsym(RTLD_NEXT, "ptrace");
		fake = bytes ? atol(bytes) : -1;
		is_broken = bytes && strcmp(bytes, "broken") == 0;
	}
	if (is_broken && request == PTRACE_SETREGSET) {
		errno = EFAULT;
		return -1;
	}
	if (fake < 0 || is_broken)
		return real(request, pid, address, data);
	if (fake == 0) {
		if ((request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) &&
		    (long)address == NT_X86_XSTATE) {
			errno = ENODEV;
			return -1;
		}
		if (request == PTRACE_GETFPREGS && read_all(pid) == 0) {
			memcpy(data, states[newest % STATES].bytes, LEGACY_BYTES);
			return 0;
		}
		if (request == PTRACE_SETFPREGS && real_bytes)
			return write_all(pid, data, LEGACY_BYTES);
		return real(request, pid, address, data);
	}
	if ((request != PTRACE_GETREGSET && request != PTRACE_SETREGSET) ||
	    (long)address != NT_X86_XSTATE)
		return real(request, pid, address, data);

	struct iovec *asked = data;

	if (request == PTRACE_GETREGSET) {
		size_t length = asked->iov_len < (size_t)fake ? asked->iov_len : (size_t)fake;

		if (read_all(pid) < 0)
			return -1;
		memcpy(asked->iov_base, states[newest % STATES].bytes, length);
		asked->iov_len = length;
		return 0;
	}
	if (asked->iov_len < (size_t)fake) {
		errno = EFAULT;
		return -1;
	}
	return write_all(pid, asked->iov_base, fake);
}
