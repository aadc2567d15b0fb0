/*
 * What a program sees of the kernel's memory and of its own protection keys: the same in all modes.
 *
 *	keys read|write ADDRESS		uses memory that is not the program's
 *	keys register			prints its keys after whatever could change them
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only keys that nothing uses are opened: 15, and in the child 14. */
#define OF_PARENT 0x15555554u
#define OF_CHILD 0x05555554u

static unsigned read_keys(void)
{
	unsigned keys, none;

	__asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(keys), "=d"(none) : "c"(0));
	return keys;
}

static void write_keys(unsigned keys)
{
	__asm__ volatile(".byte 0x0f, 0x01, 0xef" : : "a"(keys), "c"(0), "d"(0) : "memory");
}

static void show(const char *after)
{
	printf("%08x after %s\n", read_keys(), after);
	fflush(stdout);
}

static void fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	printf("signal %d, code %d, address %p, error %llx, trap %llx\n", signal, info->si_code,
	       info->si_addr, at->uc_mcontext.gregs[REG_ERR], at->uc_mcontext.gregs[REG_TRAPNO]);
	fflush(stdout);
	_exit(0);
}

static void signalled(int signal)
{
	show("entering a handler");
	write_keys(OF_CHILD);
}

static void show_keys(void)
{
	int to_child[2], to_parent[2], i;
	char byte = 0;
	pid_t child;

	show("the start");
	write_keys(OF_PARENT);
	for (i = 0; i < 3; i++)	/* by a signal, then by a jump */
		getppid();
	show("system calls");
	*(volatile char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	show("a page fault");
	signal(SIGUSR1, signalled);
	raise(SIGUSR1);
	show("a handler");
	write_keys(OF_PARENT);
	if (pipe(to_child) || pipe(to_parent))
		exit(1);
	child = fork();
	if (child == 0) {
		show("fork");
		write_keys(OF_CHILD);
		for (i = 0; i < 3; i++)
			if (read(to_child[0], &byte, 1) != 1 || write(to_parent[1], &byte, 1) != 1)
				exit(1);
		show("switches in the child");
		exit(0);
	}
	for (i = 0; i < 3; i++)
		if (write(to_child[1], &byte, 1) != 1 || read(to_parent[0], &byte, 1) != 1)
			exit(1);
	waitpid(child, NULL, 0);
	show("switches in the parent");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned a, b, c, d;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(c & 1 << 4)) {
		puts("no keys");
		return 0;
	}
	if (strcmp(argv[1], "register") == 0) {
		show_keys();
		return 0;
	}
	sigaction(SIGSEGV, &action, NULL);
	if (strcmp(argv[1], "read") == 0)
		printf("%d\n", *(volatile char *)strtoul(argv[2], NULL, 0));
	else
		*(volatile char *)strtoul(argv[2], NULL, 0) = 0;
	puts("nothing has happened");
	return 0;
}
