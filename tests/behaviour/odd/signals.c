/* Uses signals in unusual ways, and prints the same as on the computer: see test_odd_programs.py. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static char alternate[256 << 10];
static sigjmp_buf behind;
static volatile int seen, depth;
static ucontext_t saved;

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static int is_on_alternate(void)
{
	char here;

	return &here >= alternate && &here < alternate + sizeof(alternate);
}

static void leave(int number, siginfo_t *info, void *context)
{
	seen += is_on_alternate();
	siglongjmp(behind, number);
}

/* setjmp() over signals: handlers on the alternate stack never return. */
static void leave_handlers(void)
{
	volatile int i, left = 0;

	handle(SIGSEGV, leave, SA_ONSTACK);
	for (i = 0; i < 2000; i++) {
		if (sigsetjmp(behind, 1) == 0)
			*(volatile char *)(long)(i * 8) = 1;
		else
			left++;
	}
	printf("left %d handlers, %d on the alternate stack\n", left, seen);
	seen = left = 0;
	handle(SIGUSR1, leave, SA_ONSTACK);
	for (i = 0; i < 1000; i++) {
		if (sigsetjmp(behind, 1) == 0)
			syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
		else
			left++;
	}
	printf("left %d handlers, %d on the alternate stack\n", left, seen);
}

static void nest(int number, siginfo_t *info, void *context)
{
	if (++depth < 20)
		raise(SIGUSR2);
	seen += is_on_alternate();
}

static void nest_handlers(void)
{
	seen = 0;
	handle(SIGUSR2, nest, SA_ONSTACK | SA_NODEFER);
	raise(SIGUSR2);
	printf("nested: %d, %d on the alternate stack\n", depth, seen);
	handle(SIGUSR2, nest, SA_RESETHAND);
	depth = 20;
	raise(SIGUSR2);
	if (fork() == 0)
		raise(SIGUSR2);
	wait((int *)&seen);
	printf("reset: killed by %d\n", WTERMSIG(seen));
}

/* Handlers change what the program continues with. */
static void change(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	user->uc_mcontext.gregs[REG_RIP] += 2;	/* behind ud2 */
	user->uc_mcontext.gregs[REG_RAX] = 4711;
	user->uc_mcontext.fpregs->_xmm[7].element[0] = 815;
}

static void change_registers(void)
{
	long result, vector;

	handle(SIGILL, change, 0);
	asm volatile("xor %%eax, %%eax\n pxor %%xmm7, %%xmm7\n ud2\n movq %%xmm7, %1\n"
		     : "=&a"(result), "=r"(vector) : : "xmm7", "memory");
	printf("changed: %ld %ld\n", result, vector);
}

/* rt_sigreturn() by hand: with a frame that no signal has made */
static void keep(int number, siginfo_t *info, void *context)
{
	memcpy(&saved, context, sizeof(saved));
}

static char other_stack[64 << 10] __attribute__((aligned(64)));

static void arrive(long value)
{
	printf("arrived with %ld\n", value);
	siglongjmp(behind, 7);
}

static void return_by_hand(void)
{
	static unsigned char state[16384] __attribute__((aligned(64)));
	static ucontext_t frame;

	handle(SIGUSR1, keep, 0);
	raise(SIGUSR1);
	frame = saved;
	frame.uc_mcontext.fpregs = NULL;
	frame.uc_mcontext.gregs[REG_RIP] = (long)arrive;
	frame.uc_mcontext.gregs[REG_RDI] = 42;
	frame.uc_mcontext.gregs[REG_RSP] = (long)other_stack + sizeof(other_stack) - 72;
	if (sigsetjmp(behind, 1) == 0)
		asm volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall\n" : : "r"(&frame) : "memory");
	printf("behind rt_sigreturn()\n");
	(void)state;
}

/* A frame that cannot be read ends the program. */
static void return_wrongly(void)
{
	int status;

	if (fork() == 0) {
		signal(SIGSEGV, SIG_DFL);
		asm volatile("mov $0x1000, %%esp\n mov $15, %%eax\n syscall\n" : : : "memory");
		_exit(0);
	}
	wait(&status);
	printf("wrong frame: killed by %d\n", WTERMSIG(status));
}

static void count(int number, siginfo_t *info, void *context)
{
	seen++;
}

static void *signal_main(void *main)
{
	int i;

	for (i = 0; i < 300; i++) {
		pthread_kill((pthread_t)main, SIGRTMIN);
		if (i % 10 == 0)
			usleep(1);
	}
	return NULL;
}

static void signal_threads(void)
{
	pthread_t thread;

	seen = 0;
	handle(SIGRTMIN, count, SA_RESTART);
	pthread_create(&thread, NULL, signal_main, (void *)pthread_self());
	pthread_join(thread, NULL);
	while (seen < 300)
		usleep(10);
	printf("%d queued signals\n", seen);
}

/* A signal whose handler has no stack to run on ends the program. */
static void overflow(void)
{
	int status;

	if (fork() == 0) {
		handle(SIGSEGV, leave, 0);
		asm volatile("mov $0x2000, %%esp\n push %%rax\n" : : : "memory");
		_exit(0);
	}
	wait(&status);
	printf("no stack: killed by %d\n", WTERMSIG(status));
}

int main(void)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaltstack(&stack, NULL);
	leave_handlers();
	nest_handlers();
	change_registers();
	return_by_hand();
	return_wrongly();
	signal_threads();
	overflow();
	return 0;
}
