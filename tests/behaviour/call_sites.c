/* Makes system calls in ways that code which is replaced must survive: see test_traps.py. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define LOW ((void *)0x60000)

typedef long (*function)(long first, long second);

/* mov $39 (getpid), %eax; syscall; cmp $-4095, %rax; ret: what compilers make */
static const unsigned char plain[] = {
	0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3};
/* The same, but %rdi says how often to continue directly behind the system call */
static const unsigned char jumped_into[] = {
	0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff,
	0x48, 0xff, 0xcf, 0x79, 0xf5, 0xc3};
/* movl $0x27, -0x48(%rsp); syscall: the end of the first one looks like mov $nr, %eax */
static const unsigned char misleading[] = {
	0x89, 0xf8, 0xc7, 0x44, 0x24, 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0,
	0xff, 0xff, 0x75, 0x05, 0xb8, 0xff, 0xff, 0xff, 0xff, 0x03, 0x44, 0x24, 0xb8, 0xc3};
/* The red zone, rbx, r12 and the flags over a system call */
static const unsigned char kept[] = {
	0x48, 0x89, 0x7c, 0x24, 0xf8, 0x48, 0x89, 0x74, 0x24, 0x80, 0xb8, 39, 0, 0, 0, 0xf9,
	0x0f, 0x05, 0x48, 0x89, 0xc2, 0x48, 0x89, 0xd0, 0x48, 0x19, 0xc0,
	0x48, 0x03, 0x44, 0x24, 0xf8, 0x48, 0x03, 0x44, 0x24, 0x80, 0xc3};
/* A system call and nothing but padding behind it: `mov %rdi, %rax; syscall; ret` */
static const unsigned char short_one[] = {
	0x48, 0x89, 0xf8, 0x0f, 0x05, 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};

static int file;

static unsigned char *map_code(int protection)
{
	return mmap(NULL, PAGE, protection, MAP_PRIVATE, file, 0);
}

static unsigned char *code_of(const unsigned char *bytes, size_t length)
{
	unsigned char page[PAGE];

	memset(page, 0xcc, sizeof(page));
	memcpy(page + 256, bytes, length);
	if (file)
		close(file);
	file = open("code", O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (write(file, page, sizeof(page)) != sizeof(page))
		exit(1);
	return map_code(PROT_READ | PROT_EXEC);
}

static long call(unsigned char *page, long first, long second)
{
	return ((function)(page + 256))(first, second);
}

#define CODE(bytes) code_of(bytes, sizeof(bytes))

static void simple(void)
{
	unsigned char *page = CODE(plain), *again = map_code(PROT_READ | PROT_EXEC);
	int i, good = 0, status;

	for (i = 0; i < 10; i++)
		good += call(page, 0, 0) == getpid() && call(again, 0, 0) == getpid();
	printf("mapped twice: %d\n", good);
	again = mremap(again, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (i = good = 0; i < 10; i++)
		good += call(page, 0, 0) == getpid() && call(again, 0, 0) == getpid();
	printf("moved: %d\n", good);
	if (fork() == 0)
		_exit(call(page, 0, 0) == getpid() && call(again, 0, 0) == getpid() ? 7 : 1);
	wait(&status);
	printf("child: %d\n", WEXITSTATUS(status));
}

static void jumps(void)
{
	unsigned char *page = CODE(jumped_into);
	int i;

	for (i = 0; i < 5; i++)
		printf("%s", call(page, i, 0) == getpid() ? "." : "!");
	page = CODE(misleading);
	for (i = 0; i < 5; i++)
		printf("%s", call(page, SYS_getppid, 0) == getppid() + 39 ? "." : "!");
	page = CODE(kept);
	for (i = 0; i < 5; i++)
		printf("%s", call(page, 1000, i) == 999 + i ? "." : "!");
	page = CODE(short_one);
	for (i = 0; i < 5; i++)
		printf("%s", call(page, SYS_getpid, 0) == getpid() ? "." : "!");
	printf("\n");
}

static void changes(void)
{
	unsigned char *page = CODE(plain), *writable;
	long first = call(page, 0, 0), second = call(page, 0, 0);

	/* Another system call in the same file: getppid */
	if (pwrite(file, "\x6e", 1, 256 + 1) != 1)
		exit(1);
	page = map_code(PROT_READ | PROT_EXEC);
	printf("changed file: %d\n", call(page, 0, 0) == getppid() && first == second);
	writable = map_code(PROT_READ | PROT_WRITE | PROT_EXEC);
	first = call(writable, 0, 0);
	writable[257] = 39;
	printf("changed page: %d\n", first == getppid() && call(writable, 0, 0) == getpid());
	mprotect(writable, PAGE, PROT_READ | PROT_EXEC);
	printf("protected: %d\n", call(writable, 0, 0) == getpid() && call(writable, 0, 0) == getpid());
}

static volatile int seen;

static void on_signal(int number, siginfo_t *info, void *context)
{
	seen++;
}

static void *interrupt(void *target)
{
	usleep(10000);
	pthread_kill(*(pthread_t *)target, SIGUSR1);
	usleep(10000);
	return NULL;
}

static void interrupted(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
	pthread_t self = pthread_self(), other;
	int ends[2], i;

	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < 3; i++) {
		char byte = 0;
		long n;

		if (pipe(ends))
			exit(1);
		pthread_create(&other, NULL, interrupt, &self);
		if (flags) {
			if (fork() == 0) {
				usleep(30000);
				_exit(write(ends[1], "x", 1) != 1);
			}
		}
		n = read(ends[0], &byte, 1);
		printf("%s%ld%s", i ? ", " : "read: ", n, n < 0 ? strerror(errno) : "");
		pthread_join(other, NULL);
		close(ends[0]);
		close(ends[1]);
	}
	while (wait(NULL) > 0)
		;
	printf("; %d signals\n", seen);
}

static void low_addresses(void)
{
	unsigned char *page = CODE(plain);
	char *low;
	long before = call(page, 0, 0) + call(page, 0, 0);

	munmap((void *)0x10000, 0x100000);
	printf("unmapped: %d\n", call(page, 0, 0) * 2 == before);
	low = mmap(LOW, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0);
	if (low == LOW)
		memset(low, 7, 20 * PAGE);
	printf("mapped: %d %d\n", low == LOW ? low[5 * PAGE] : 7, call(page, 0, 0) * 2 == before);
	if (fork() == 0)
		_exit(call(page, 0, 0) == getpid() ? 7 : 1);
	wait(&seen);
	printf("child: %d\n", WEXITSTATUS(seen));
}

static void flags(void)
{
	unsigned long after;
	int i, good = 0;

	for (i = 0; i < 5; i++) {
		/* Alignment checks and the direction flag are the program's own business. */
		asm volatile("pushfq\n orl $0x40400, (%%rsp)\n popfq\n"
			     "mov $39, %%eax\n syscall\n"
			     "pushfq\n popq %0\n pushfq\n andl $~0x40400, (%%rsp)\n popfq\n"
			     : "=r"(after) : : "rax", "rcx", "r11", "memory", "cc");
		good += (after & 0x40400) == 0x40400;
	}
	printf("flags: %d\n", good);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	simple();
	jumps();
	changes();
	interrupted(0);
	interrupted(SA_RESTART);
	flags();
	low_addresses();
	return 0;
}
