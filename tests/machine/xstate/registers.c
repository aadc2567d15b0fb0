/*
 * Checks that a process's extended registers survive everything that can happen to it: system calls
 * and page faults beside other threads and processes, fork, signals, and a debugger.
 *
 * Each check loads a pattern into all registers that the processor has, lets something happen, stores
 * the registers and compares, in one piece of assembly so that the compiler cannot use them between.
 *
 *   gcc -O1 -o registers registers.c -lpthread
 *   ./registers [sse|avx|avx512]     prints one line for each check; status 1 if one fails
 */
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define XSTATE_MAGIC1 0x46505853U
#define XSTATE_MAGIC2 0x46505845U

enum { SSE, AVX, AVX512 };
static int level;
static int failures;

/* 32 registers of 64 bytes, then 8 mask registers; what a level lacks stays zero. */
struct registers {
	unsigned char vector[32][64];
	uint64_t mask[8];
} __attribute__((aligned(64)));

static struct registers pattern(unsigned char seed)
{
	struct registers r;
	int count = level == AVX512 ? 32 : 16, width = level == SSE ? 16 : level == AVX ? 32 : 64;

	memset(&r, 0, sizeof(r));
	for (int i = 0; i < count; i++)
		for (int j = 0; j < width; j++)
			r.vector[i][j] = (unsigned char)(seed + 7 * i + j);
	if (level == AVX512)
		for (int i = 1; i < 8; i++)
			r.mask[i] = 0x0101010101010101UL * (unsigned char)(seed + i);
	return r;
}

#define EACH16(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
#define EACH16_31(F) F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
#define EACH_MASK(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define LOAD_X(n) "movdqu " #n "*64(%[in]), %%xmm" #n "\n"
#define STORE_X(n) "movdqu %%xmm" #n ", " #n "*64(%[out])\n"
#define LOAD_Y(n) "vmovdqu " #n "*64(%[in]), %%ymm" #n "\n"
#define STORE_Y(n) "vmovdqu %%ymm" #n ", " #n "*64(%[out])\n"
#define LOAD_Z(n) "vmovdqu64 " #n "*64(%[in]), %%zmm" #n "\n"
#define STORE_Z(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%[out])\n"
#define LOAD_K(n) "kmovq 2048+" #n "*8(%[in]), %%k" #n "\n"
#define STORE_K(n) "kmovq %%k" #n ", 2048+" #n "*8(%[out])\n"

#define BETWEEN(load, store)                                                                       \
	__asm__ volatile(load "movq %[number], %%rax\n"                                            \
			      "testq %%rax, %%rax\n js 1f\n syscall\n jmp 2f\n"                    \
			      "1: movb (%%rdi), %%al\n"                                            \
			      "2: movq %%rax, %[result]\n" store                                   \
			 : [result] "=m"(result)                                                    \
			 : [in] "r"(&before), [out] "r"(&after), [number] "m"(number), "D"(a),      \
			   "S"(b), "d"(c)                                                           \
			 : "rax", "rcx", "r11", "memory")

/* Makes a system call (number -1: reads the byte at a) between loading and comparing; returns its result. */
static long between(const char *what, unsigned char seed, long number, long a, long b, long c)
{
	struct registers before = pattern(seed), after;
	long result = 0;

	memset(&after, 0, sizeof(after));
	if (level == AVX512)
		BETWEEN(EACH16(LOAD_Z) EACH16_31(LOAD_Z) EACH_MASK(LOAD_K),
			EACH16(STORE_Z) EACH16_31(STORE_Z) EACH_MASK(STORE_K));
	else if (level == AVX)
		BETWEEN(EACH16(LOAD_Y), EACH16(STORE_Y));
	else
		BETWEEN(EACH16(LOAD_X), EACH16(STORE_X));
	if (memcmp(&before, &after, sizeof(before))) {
		failures++;
		printf("%s: changed (pid %d)\n", what, getpid());
		fflush(stdout);
	}
	return result;
}

static void *thread(void *seed)
{
	for (int i = 0; i < 300; i++) {
		between("threads", (unsigned char)((long)seed * 40 + i), SYS_sched_yield, 0, 0, 0);
		if (i % 50 == 0) {
			struct timespec pause = { 0, 100000 };
			between("threads", (unsigned char)((long)seed * 50 + i), SYS_nanosleep, (long)&pause, 0, 0);
		}
	}
	return NULL;
}

static void check_threads(void)
{
	pthread_t threads[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void check_faults(void)
{
	size_t length = 200 * 4096;
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < length; at += 4096)
		between("page faults", (unsigned char)at, -1, (long)memory + at, 0, 0);
	munmap(memory, length);
}

static void check_fork(void)
{
	for (int i = 0; i < 20; i++) {
		long child = between("fork", (unsigned char)i, SYS_fork, 0, 0, 0);

		if (child == 0) {
			failures = 0;
			for (int j = 0; j < 20; j++)
				between("child", (unsigned char)(i + j + 100), SYS_sched_yield, 0, 0, 0);
			_exit(failures != 0);
		}
		int status;
		between("parent", (unsigned char)(i + 9), SYS_sched_yield, 0, 0, 0);
		waitpid((pid_t)child, &status, 0);
		if (status)
			failures++;
	}
}

static volatile int frames, stack_is_small;

static void handler(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;
	unsigned char *frame = (unsigned char *)user->uc_mcontext.fpregs;
	uint32_t magic1, bytes, magic2;

	(void)number, (void)info;
	if ((uintptr_t)frame % 64)
		failures++, printf("frame: not aligned\n");
	memcpy(&magic1, frame + 464, 4);
	memcpy(&bytes, frame + 480, 4);
	if (magic1 == XSTATE_MAGIC1) {
		memcpy(&magic2, frame + bytes, 4);
		if (magic2 != XSTATE_MAGIC2)
			failures++, printf("frame: no mark at its end\n");
	} else if (level != SSE) {
		failures++, printf("frame: no extended registers\n");
	}
	/* xmm5 of pattern(77), as the interrupted code left it. */
	if (number == SIGUSR1 && frame[160 + 5 * 16] != (unsigned char)(77 + 35))
		failures++, printf("frame: another xmm5\n");
	frames++;
	if (stack_is_small)
		__asm__ volatile("pcmpeqd %%xmm5, %%xmm5" ::: "xmm5");
	else
		between("handler", 200, SYS_sched_yield, 0, 0, 0);
}

static void check_signals(void)
{
	static unsigned char stack[8192]; /* as small as many programs have it */
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 50; i++)
		between("signals", 77, SYS_kill, getpid(), SIGUSR1, 0);
	sigaltstack(&alternate, NULL);
	stack_is_small = 1;
	action.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 50; i++)
		between("signals on a stack of their own", 77, SYS_kill, getpid(), SIGUSR1, 0);
	if (frames != 100)
		failures++, printf("signals: %d of 100 arrived\n", frames);
}

static void damage(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number, (void)info;
	memset((unsigned char *)user->uc_mcontext.fpregs + 24, 0xff, 4);   /* reserved bits of MXCSR */
	memset((unsigned char *)user->uc_mcontext.fpregs + 512, 0xff, 64); /* the header */
}

static void check_damaged_frame(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct sigaction action = { .sa_sigaction = damage, .sa_flags = SA_SIGINFO };

		sigaction(SIGUSR1, &action, NULL);
		raise(SIGUSR1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		failures++, printf("damaged frame: status %x\n", status);
}

static void check_debugger(void)
{
	struct user_fpregs_struct seen;
	int status;
	pid_t child = fork();

	if (child == 0) {
		failures = 0;
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		between("debugged", 33, SYS_kill, getpid(), SIGSTOP, 0);
		/* The second time xmm3 is another one: one byte of the pattern differs, no more. */
		struct registers before = pattern(34), after;
		long number = SYS_kill, a = getpid(), b = SIGSTOP, c = 0, result;

		memset(&after, 0, sizeof(after));
		if (level == AVX512)
			BETWEEN(EACH16(LOAD_Z) EACH16_31(LOAD_Z) EACH_MASK(LOAD_K),
				EACH16(STORE_Z) EACH16_31(STORE_Z) EACH_MASK(STORE_K));
		else if (level == AVX)
			BETWEEN(EACH16(LOAD_Y), EACH16(STORE_Y));
		else
			BETWEEN(EACH16(LOAD_X), EACH16(STORE_X));
		before.vector[3][0] = 0xee;
		_exit(failures || memcmp(&before, &after, sizeof(before)) != 0);
	}
	waitpid(child, &status, 0);
	between("debugger", 120, SYS_sched_yield, 0, 0, 0);
	if (ptrace(PTRACE_GETFPREGS, child, 0, &seen) || ((unsigned char *)seen.xmm_space)[5 * 16] != 33 + 35)
		failures++, printf("debugger: sees another xmm5\n");
	ptrace(PTRACE_CONT, child, 0, 0);
	waitpid(child, &status, 0);
	between("debugger", 121, SYS_sched_yield, 0, 0, 0);
	if (ptrace(PTRACE_GETFPREGS, child, 0, &seen))
		failures++, printf("debugger: %s\n", strerror(errno));
	((unsigned char *)seen.xmm_space)[3 * 16] = 0xee;
	if (ptrace(PTRACE_SETFPREGS, child, 0, &seen))
		failures++, printf("debugger: cannot write: %s\n", strerror(errno));
	seen.mxcsr = 0xffffffff;
	if (ptrace(PTRACE_SETFPREGS, child, 0, &seen) == 0)
		failures++, printf("debugger: may write reserved bits\n");
	ptrace(PTRACE_CONT, child, 0, 0);
	waitpid(child, &status, 0);
	if (status)
		failures++, printf("debugger: its process saw something else (status %x)\n", status);
}

static void run(const char *name, void (*check)(void))
{
	int before = failures;

	check();
	printf("%s: %s\n", name, failures == before ? "ok" : "FAILED");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *most = argc > 1 ? argv[1] : "avx512";

	if (strcmp(most, "avx512") == 0 && __builtin_cpu_supports("avx512bw"))
		level = AVX512;
	else if (strcmp(most, "sse") != 0 && __builtin_cpu_supports("avx"))
		level = AVX;
	printf("registers: %s\n", level == AVX512 ? "avx512" : level == AVX ? "avx" : "sse");
	run("threads", check_threads);
	run("page faults", check_faults);
	run("fork", check_fork);
	run("signals", check_signals);
	run("damaged frame", check_damaged_frame);
	run("debugger", check_debugger);
	return failures != 0;
}
