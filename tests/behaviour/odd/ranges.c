/* Maps memory in unusual places: see test_odd_programs.py. Prints the same in all modes.
 *
 *	ranges [touch MEGABYTES STEP]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L
#define GIGABYTE (1L << 30)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static sigjmp_buf behind;

static void on_fault(int number, siginfo_t *info, void *context)
{
	printf("  signal %d, code %d, at %p\n", number, info->si_code, info->si_addr);
	siglongjmp(behind, 1);
}

static void place(unsigned long at, long size)
{
	char *got = mmap((void *)at, size, READ_WRITE, ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	printf("%lx, %ld KB: %s\n", at, size >> 10, got == MAP_FAILED ? strerror(errno) : "mapped");
	if (got == MAP_FAILED)
		return;
	got[0] = 1;
	got[size - 1] = 2;
	printf("  %d system calls\n", (getppid() > 0) + (syscall(SYS_gettid) > 0));
	if (fork() == 0)
		_exit(got[0] + got[size - 1] + (getppid() > 0));
	else {
		int status;

		wait(&status);
		printf("  child %d\n", WEXITSTATUS(status));
	}
	munmap(got, size);
	if (sigsetjmp(behind, 1) == 0)
		got[0] = 1;
}

/* A system call gets addresses that are not the program's: each must fail. */
static void pass(unsigned long at)
{
	int ends[2];
	long n;

	if (pipe(ends))
		exit(1);
	n = write(ends[1], (char *)at, 8);
	printf("%lx: write %s", at, n < 0 ? strerrorname_np(errno) : "succeeds");
	n = write(ends[1], "12345678", 8) == 8 ? read(ends[0], (char *)at, 8) : 0;
	printf(", read %s\n", n < 0 ? strerrorname_np(errno) : "succeeds");
	close(ends[0]);
	close(ends[1]);
}

static void sparse(void)
{
	char *huge = mmap(NULL, 200 * GIGABYTE, READ_WRITE, ANONYMOUS, -1, 0);
	long i, good = 0;

	if (huge == MAP_FAILED) {
		printf("200 GB: %s\n", strerror(errno));
		return;
	}
	for (i = 0; i < 200; i++)
		huge[i * GIGABYTE + i * PAGE] = i;
	for (i = 0; i < 200; i++)
		good += (unsigned char)huge[i * GIGABYTE + i * PAGE] == i;
	printf("200 GB: %ld pages\n", good);
	mprotect(huge + GIGABYTE, 100 * GIGABYTE, PROT_NONE);
	if (sigsetjmp(behind, 1) == 0)
		huge[2 * GIGABYTE + 2 * PAGE] = 1;
	madvise(huge, 200 * GIGABYTE, MADV_DONTNEED);
	printf("  dropped: %d\n", huge[150 * GIGABYTE + 150 * PAGE]);
	munmap(huge, 200 * GIGABYTE);
}

/* Use every STEP-th page of an area, in both directions. */
static int touch(long megabytes, long step)
{
	long pages = megabytes * 256, i, wrong = 0;
	long *area = mmap(NULL, pages * PAGE, READ_WRITE, ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return 1;
	for (i = 0; i < pages; i += step)
		area[i * 512] = i * 7;
	for (i -= step; i >= 0; i -= step)
		wrong += area[i * 512] != i * 7;
	printf("%ld MB: %ld pages wrong\n", megabytes, wrong);
	return 0;
}

int main(int argc, char **argv)
{
	static const unsigned long places[] = {
		0x1000, 0x10000, 0x50000, 0x60000, 0x6f000, 0x72000, 0x80000, 0x10000000,
		0x1000000000, 0x7f00000000, 0x7fbffff000, 0x7fc0000000, 0x100000000000, 0xffffffffff600000,
	};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned int i;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 4)
		return touch(atol(argv[2]), atol(argv[3]));
	sigaction(SIGSEGV, &action, NULL);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		place(places[i], PAGE);
		place(places[i], 64 * PAGE);
		pass(places[i]);
	}
	pass(0x100000000000 + 0x100000);
	pass(0x100000000000 + GIGABYTE);
	pass(0x8000000000000000);
	sparse();
	return 0;
}
