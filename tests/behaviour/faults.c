/* Prints what programs see of page faults of all kinds: see test_traps.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static sigjmp_buf back;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	long error = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR];

	printf("signal %d code %d error %ld\n", signal, info->si_code, error & 7);
	siglongjmp(back, 1);
}

static void try(const char *what, volatile char *at, int writes)
{
	printf("%s: ", what);
	if (sigsetjmp(back, 1))
		return;
	if (writes)
		*at = 'w';
	printf("%d\n", *at);
}

static char *map(size_t pages, int protection, int flags, int fd)
{
	return mmap(NULL, pages * PAGE, protection, flags, fd, 0);
}

static long deep(int depth)
{
	volatile char frame[PAGE];

	frame[0] = depth;
	return depth ? deep(depth - 1) + frame[0] : 0;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	const int all = PROT_READ | PROT_WRITE;
	char page[PAGE], *memory, *shared, *copy;
	volatile double kept = 1.5;
	int fd = open("pages", O_RDWR | O_CREAT | O_TRUNC, 0600);

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	memset(page, 'f', sizeof(page));
	if (write(fd, page, sizeof(page)) != sizeof(page))
		return 1;

	memory = map(4, all, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	try("anonymous, read", memory, 0);
	try("anonymous, written", memory, 1);
	try("anonymous, written first", memory + PAGE, 1);
	mprotect(memory, PAGE, PROT_READ);
	try("protected, read", memory, 0);
	try("protected, written", memory, 1);
	mprotect(memory, PAGE, all);
	try("allowed again", memory, 1);
	munmap(memory + 2 * PAGE, PAGE);
	try("unmapped, read", memory + 2 * PAGE, 0);
	try("unmapped, written", memory + 2 * PAGE, 1);

	copy = map(1, all, MAP_PRIVATE, fd);
	shared = map(2, all, MAP_SHARED, fd);
	try("copy, read", copy, 0);
	try("shared, read", shared, 0);
	try("copy, written", copy, 1);
	try("shared, not changed by that", shared, 0);
	try("shared, written", shared + 1, 1);
	try("copy, not changed by that", copy + 1, 0);
	try("behind the end of the file", shared + PAGE, 0);
	if (pread(fd, page, 2, 0) == 2)
		printf("file %c%c\n", page[0], page[1]);

	memory[PAGE] = 'p';
	fflush(stdout);
	if (fork() == 0) {
		try("child, read", memory + PAGE, 0);
		try("child, written", memory + PAGE, 1);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	try("parent, not changed by that", memory + PAGE, 0);
	memory[PAGE] = 'q';
	try("parent, written", memory + PAGE, 0);
	printf("stack %ld, kept %g\n", deep(300), kept * 2);
	return 0;
}
