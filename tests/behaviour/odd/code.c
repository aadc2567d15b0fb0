/*
 * Makes code at run time and changes it, with system calls in it, and jumps into what the kernel replaces
 * in in-process mode: see test_odd_programs.py. Prints what it prints on the computer.
 */
#define _GNU_SOURCE
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
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define READ_EXECUTE (PROT_READ | PROT_EXEC)
#define ALL (READ_WRITE | PROT_EXEC)

typedef long (*function)(long first, long second);

/* mov $39 (getpid), %eax; syscall; cmp $-4095, %rax; ret */
static const unsigned char plain[] = {
	0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3};

static void check(const char *what, int is_good)
{
	printf("%s: %s\n", what, is_good ? "good" : "WRONG");
}

static unsigned char *memory(int protection)
{
	return mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long call(unsigned char *code)
{
	return ((function)code)(0, 0);
}

/* Code in a page that is always writable: each call has other code. */
static void self_modifying(void)
{
	unsigned char *page = memory(ALL);
	int i, good = 0;

	memcpy(page, plain, sizeof(plain));
	for (i = 0; i < 1000; i++) {
		page[1] = i % 2 ? 39 : 110;	/* getppid */
		good += call(page) == (i % 2 ? getpid() : getppid());
	}
	check("self-modifying", good == 1000);
	/* mov $constant, %eax; ret, over what was a system call */
	memcpy(page, "\xb8\x7b\0\0\0\xc3", 6);
	check("overwritten", call(page) == 123);
	memcpy(page + 5, plain + 5, sizeof(plain) - 5);
	memcpy(page, plain, 5);
	check("written again", call(page) == getpid());
}

/* As JIT compilers do: write, then execute, never both. */
static void write_or_execute(void)
{
	unsigned char *page = memory(READ_WRITE);
	int i, good = 0;

	for (i = 0; i < 200; i++) {
		mprotect(page, PAGE, READ_WRITE);
		memcpy(page, plain, sizeof(plain));
		page[1] = i % 2 ? 39 : 110;
		mprotect(page, PAGE, READ_EXECUTE);
		good += call(page) == (i % 2 ? getpid() : getppid()) && call(page) > 0;
	}
	check("write or execute", good == 200);
}

/* One file mapped twice: written through one mapping, executed through the other */
static void mapped_twice(int sharing, const char *what)
{
	int file = memfd_create("code", 0), i, good = 0;
	unsigned char *writable, *code;

	if (ftruncate(file, PAGE))
		exit(1);
	writable = mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0);
	memcpy(writable, plain, sizeof(plain));
	code = mmap(NULL, PAGE, READ_EXECUTE, sharing, file, 0);
	for (i = 0; i < 100; i++) {
		writable[1] = i / 10 % 2 ? 39 : 110;
		good += call(code) == (i / 10 % 2 ? getpid() : getppid());
	}
	check(what, good == 100);
	close(file);
}

static unsigned char *mapped(const unsigned char *bytes, size_t length, int *file)
{
	unsigned char page[2 * PAGE];

	memset(page, 0xcc, sizeof(page));
	memcpy(page + 256, bytes, length);
	*file = open("mapped-code", O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (write(*file, page, sizeof(page)) != sizeof(page))
		exit(1);
	return (unsigned char *)mmap(NULL, 2 * PAGE, READ_EXECUTE, MAP_PRIVATE, *file, 0) + 256;
}

#define MAPPED(bytes, file) mapped(bytes, sizeof(bytes), file)

/* write() to a file that is being executed */
static void written_file(void)
{
	int file, i, good = 0;
	unsigned char *code = MAPPED(plain, &file);

	for (i = 0; i < 100; i++) {
		unsigned char number = i / 10 % 2 ? 39 : 110;

		if (pwrite(file, &number, 1, 257) != 1)
			exit(1);
		good += call(code) == (i / 10 % 2 ? getpid() : getppid());
	}
	check("written file", good == 100);
	close(file);
}

/* The address of a jump is in a register, so nobody sees where it goes: to directly behind the call. */
static void jump_behind(void)
{
	/* mov $39, %eax; syscall; cmp $-4095, %rax; ret; lea -14(%rip), %rdx; mov %rdi, %rax; jmp *%rdx */
	static const unsigned char bytes[] = {
		0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3,
		0x48, 0x8d, 0x15, 0xf2, 0xff, 0xff, 0xff, 0x48, 0x89, 0xf8, 0xff, 0xe2};
	int file, i, good = 0;
	unsigned char *code = MAPPED(bytes, &file);

	for (i = 0; i < 20; i++) {
		good += call(code) == getpid();
		good += ((function)(code + 14))(0x123456789abc + i, 0) == 0x123456789abc + i;
	}
	check("computed jump behind a call", good == 40);
	close(file);
}

/* The bytes 0f 05 in the middle of another instruction, which is executed in both ways */
static void call_in_data(void)
{
	/* mov $0xc3c3050f, %eax; ret; mov $39, %eax; jmp to 0f 05 */
	static const unsigned char bytes[] = {
		0xb8, 0x0f, 0x05, 0xc3, 0xc3, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xb8, 39, 0, 0, 0, 0xeb, 0xee};
	int file, i, good = 0;
	unsigned char *code = MAPPED(bytes, &file);

	for (i = 0; i < 20; i++) {
		good += (unsigned int)call(code) == 0xc3c3050f;
		good += call(code + 12) == getpid();
	}
	check("call in an operand", good == 40);
	close(file);
}

/* Data beside code is read as it is, also bytes that look like a call. */
static void data_beside(void)
{
	static const unsigned char bytes[] = {
		0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3,
		0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff};
	int file, i, good = 0;
	unsigned char *code = MAPPED(bytes, &file);

	for (i = 0; i < 20; i++)
		good += call(code) == getpid() && memcmp(code + 14, bytes + 14, 8) == 0;
	check("data beside a call", good == 20);
	close(file);
}

/* The end of a page divides what would be replaced. */
static void at_the_end(void)
{
	unsigned char page[2 * PAGE];
	int file = open("mapped-code", O_RDWR | O_CREAT | O_TRUNC, 0700), offset, i, good = 0;
	unsigned char *code;

	for (offset = PAGE - 14; offset < PAGE; offset++) {
		memset(page, 0xcc, sizeof(page));
		memcpy(page + offset, plain, sizeof(plain));
		if (pwrite(file, page, sizeof(page), 0) != sizeof(page))
			exit(1);
		code = mmap(NULL, 2 * PAGE, READ_EXECUTE, MAP_PRIVATE, file, 0);
		for (i = 0; i < 5; i++)
			good += call(code + offset) == getpid();
		munmap(code, 2 * PAGE);
	}
	check("at the end of a page", good == 14 * 5);
	close(file);
}

static void *many_calls(void *code)
{
	long i, good = 0, process = getpid();

	for (i = 0; i < 300; i++) {
		good += call(code) == process;
		if (i % 50 == 0)
			sched_yield();
	}
	return (void *)good;
}

/* Threads that execute a call while it is replaced */
static void by_threads(void)
{
	pthread_t threads[10];
	int file, i;
	unsigned char *code = MAPPED(plain, &file);
	long good = 0;
	void *result;

	for (i = 0; i < 10; i++)
		pthread_create(&threads[i], NULL, many_calls, code);
	for (i = 0; i < 10; i++) {
		pthread_join(threads[i], &result);
		good += (long)result;
	}
	check("threads", good == 3000);
	close(file);
}

/* The second return of fork(), vfork() and clone() is behind a replaced call, too. */
static void returns_twice(void)
{
	/* mov %edi, %eax; xor %edi, %edi; xor %esi, %esi; syscall; cmp $-4095, %rax; ret */
	static const unsigned char bytes[] = {
		0x89, 0xf8, 0x31, 0xff, 0x31, 0xf6, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3};
	int file, i, status, good = 0;
	unsigned char *code = MAPPED(bytes, &file);

	for (i = 0; i < 10; i++) {
		if (((function)code)(SYS_fork, 0) == 0)
			_exit(((function)code)(SYS_getppid, 0) > 0 ? i : 99);
		wait(&status);
		good += WEXITSTATUS(status) == i;
	}
	check("returns twice", good == 10);
	close(file);
}

static volatile long address;

static void note(int number, siginfo_t *info, void *context)
{
	address = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* Signal handlers see where a program is, and not where its replaced instructions are. */
static void seen_by_handlers(void)
{
	/* mov %edi, %eax; xor %edi, %edi; xor %esi, %esi; syscall; cmp $-4095, %rax; ret */
	static const unsigned char bytes[] = {
		0x89, 0xf8, 0x31, 0xff, 0x48, 0x31, 0xf6, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0xc3};
	struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
	int file, i, good = 0;
	unsigned char *code = MAPPED(bytes, &file);

	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < 10; i++) {
		address = 0;
		ualarm(1000, 0);
		((function)code)(SYS_pause, 0);
		good += address == (long)code + 9;
	}
	check("seen by handlers", good == 10);
	close(file);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	self_modifying();
	write_or_execute();
	mapped_twice(MAP_SHARED, "mapped twice, shared");
	mapped_twice(MAP_PRIVATE, "mapped twice, private");
	written_file();
	jump_behind();
	call_in_data();
	data_beside();
	at_the_end();
	by_threads();
	returns_twice();
	seen_by_handlers();
	return 0;
}
