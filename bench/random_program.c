/*
 * Makes random system calls and page faults, and prints what came of each: see modes.py.
 *
 *	random_program SEED ACTIONS [DEPTH]
 *
 * The same arguments give the same actions. Many have wrong arguments on purpose.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096L
#define PAGES 64
#define MOST_DEPTH 2
#define KERNEL ((char *)0x100000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char **environ;

static uint64_t state;
static char *arena, *program;
static int depth;
static volatile int alarms, faults;
static sigjmp_buf behind_fault;

static unsigned int draw(unsigned int below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static void show(const char *what, long result)
{
	printf("%d %s %ld %s\n", depth, what, result, result < 0 ? strerrorname_np(errno) : "");
}

/* Correct addresses and wrong ones: also of the machine's kernel in in-process mode */
static char *place(void)
{
	switch (draw(9)) {
	case 0: return NULL;
	case 1: return (char *)1;
	case 2: return KERNEL + draw(1 << 30);
	case 3: return (char *)-PAGE;
	case 4: return (char *)(0x7fc0000000 - draw(64));
	default: return arena + draw(PAGES * PAGE);
	}
}

static char *page(void)
{
	return arena + draw(PAGES) * PAGE;
}

static int protection(void)
{
	static const int all[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC};

	return all[draw(COUNT(all))];
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	faults++;
	printf("%d signal %d code %d at %p\n", depth, number, info->si_code, info->si_addr);
	siglongjmp(behind_fault, 1);
}

static void on_alarm(int number)
{
	alarms++;
}

static void touch(void)
{
	volatile char *at = page() + draw(PAGE);
	int count = draw(PAGES), kind = draw(3), i;

	if (sigsetjmp(behind_fault, 1))
		return;
	for (i = 0; i < count && (char *)at < arena + PAGES * PAGE; i++, at += PAGE)
		if (kind)
			*at = *at + i;
		else
			alarms += *at == 77;
	show("touch", i);
}

/* Where no program has memory; the kernel's jumps are from 0x60000 on, and differ between modes. */
static void wild(void)
{
	char *at = (char *)(draw(4) ? draw(0x60000) : (uint64_t)draw(1 << 30) << 33 | 1ul << 62);

	if (sigsetjmp(behind_fault, 1))
		return;
	if (draw(3) == 0)
		((void (*)(void))at)();
	*(volatile char *)at = 1;
	show("wild", 0);
}

static void map(void)
{
	char *at = page();
	long size = (1 + draw(20)) * PAGE;
	int shared = draw(2) ? MAP_PRIVATE : MAP_SHARED, file;

	if (at + size > arena + PAGES * PAGE)
		size = PAGE;
	switch (draw(6)) {
	case 0:
		show("mmap", mmap(at, size, protection(), shared | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at);
		break;
	case 1:
		file = open("/tmp/random-file", O_RDWR | O_CREAT, 0600);
		show("truncate", ftruncate(file, draw(30) * PAGE / 2));
		show("mmap", mmap(at, size, protection(), shared | MAP_FIXED, file, 0) != at);
		close(file);
		break;
	case 2:
		show("munmap", munmap(at, size));
		break;
	case 3:
		show("mprotect", mprotect(at, size, protection()));
		break;
	case 4:
		show("madvise", madvise(at, size, draw(2) ? MADV_DONTNEED : MADV_WILLNEED));
		break;
	case 5:
		show("mremap", mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page()) == MAP_FAILED);
		break;
	}
}

static void call(void)
{
	static const int numbers[] = {
		SYS_read, SYS_write, SYS_stat, SYS_fstat, SYS_lseek, SYS_pread64, SYS_pwrite64, SYS_readv,
		SYS_access, SYS_pipe, SYS_dup2, SYS_getitimer, SYS_getsockname, SYS_uname, SYS_getcwd,
		SYS_getrlimit, SYS_getrusage, SYS_sysinfo, SYS_times, SYS_rt_sigprocmask, SYS_sigaltstack,
		SYS_statfs, SYS_gettimeofday, SYS_clock_getres, SYS_mincore, SYS_ioctl, SYS_fcntl,
		SYS_getdents64, SYS_getrandom, SYS_epoll_wait, SYS_recvmsg, SYS_sendto, SYS_prctl, 1000, -1,
	};
	long number = numbers[draw(COUNT(numbers))];
	long first = draw(2) ? (long)place() : (long)draw(12), second = (long)place();
	char name[40];

	if (number == SYS_prctl)
		first = 16;	/* PR_GET_NAME */
	/* Standard input, output and errors stay as they are. */
	if (number == SYS_dup2)
		second = 20 + draw(9);
	if ((number == SYS_write || number == SYS_pwrite64) && first < 3)
		first = 9;
	if (number == SYS_ioctl || number == SYS_fcntl || number == SYS_epoll_wait)
		second = draw(5);
	snprintf(name, sizeof(name), "call %ld", number);
	show(name, syscall(number, first, second, draw(2) ? (long)place() : draw(9000), 8, 0, 0));
}

static void clocks(void)
{
	struct timespec now, shortly = {0, draw(3000000)};
	int clock = draw(12);

	show("nanosleep", nanosleep(&shortly, NULL));
	if (clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID &&
	    clock_gettime(clock, &now) == 0)
		printf("%d clock %d: %ld.%09ld\n", depth, clock, now.tv_sec, now.tv_nsec);
}

static void timers(void)
{
	struct itimerval timer = {{0, draw(2) * 1500}, {0, 1 + draw(4000)}}, off = {};
	struct itimerspec later = {{0, 0}, {0, 1 + draw(2000000)}};
	int file = timerfd_create(CLOCK_MONOTONIC, 0), number = 0;
	uint64_t expired = 0;

	setitimer(ITIMER_REAL, &timer, NULL);
	timerfd_settime(file, 0, &later, NULL);
	while (number++ < 20 && read(file, &expired, 8) < 0)
		show("interrupted", -1);
	show("expired", expired);
	setitimer(ITIMER_REAL, &off, NULL);
	close(file);
	show("alarms", alarms);
}

static void pipes(void)
{
	static char bytes[70000];
	int ends[2], epoll = epoll_create1(0), size = draw(sizeof(bytes));
	struct epoll_event event = {.events = EPOLLIN};
	struct iovec parts[2] = {{bytes, 10}, {place(), draw(100)}};

	if (draw(2) ? pipe2(ends, O_NONBLOCK) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		return show("ends", -1);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	show("epoll", epoll_wait(epoll, &event, 1, draw(3)));
	show("write", write(ends[1], bytes, size));
	show("writev", writev(ends[1], parts, 2));
	show("read", read(ends[0], bytes, draw(sizeof(bytes))));
	show("read", read(ends[0], place(), 100));
	show("epoll", epoll_wait(epoll, &event, 1, 0));
	close(ends[0]);
	show("closed", write(ends[1], bytes, 1));
	close(ends[1]);
	close(epoll);
}

static void files(void)
{
	char name[40], bytes[3000];
	struct stat found;
	int file;

	snprintf(name, sizeof(name), "/tmp/random-%d", draw(5));
	file = open(name, O_RDWR | O_CREAT | (draw(4) ? 0 : O_TRUNC), 0640);
	memset(bytes, 'a' + draw(26), sizeof(bytes));
	show("pwrite", pwrite(file, bytes, draw(sizeof(bytes)), draw(100000)));
	show("pread", pread(file, place(), draw(5000), draw(100000)));
	if (fstat(file, &found) == 0)
		printf("%d %ld bytes, %ld blocks\n", depth, found.st_size, found.st_blocks);
	close(file);
	if (draw(3) == 0)
		show("unlink", unlink(name));
}

static void actions(int count);

static void children(void)
{
	uint64_t seed = draw(1 << 30);
	struct rusage used;
	int status, child = draw(4) ? fork() : vfork();

	if (child == 0) {
		if (draw(8) == 0)
			execl("/bin/echo", "echo", "an executed program", NULL);
		if (seed % 4 == 0)
			_exit(seed % 256);
		/* After vfork(), the memory is the parent's. */
		_exit(7);
	}
	if (child < 0)
		return show("fork", -1);
	if (wait4(child, &status, 0, &used) == child)
		printf("%d ended %x\n", depth, status);
}

static void family(void)
{
	uint64_t seed = draw(1 << 30);
	int count = draw(12), kill_it = draw(5), status, child;

	if (depth == MOST_DEPTH)
		return;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		state = seed;
		depth++;
		actions(count);
		exit(count);
	}
	if (kill_it == 0)
		show("kill", kill(child, draw(2) ? SIGKILL : SIGSTOP) | kill(child, SIGCONT));
	while (waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
		printf("%d child %x\n", depth, status);
		if (WIFSTOPPED(status))
			kill(child, SIGCONT);
	}
}

static void spawned(void)
{
	char seed[20], count[20], level[20];
	char *arguments[] = {program, seed, count, level, NULL};
	int status = 0, child, error;

	if (depth == MOST_DEPTH)
		return;
	snprintf(seed, sizeof(seed), "%u", draw(1 << 30));
	snprintf(count, sizeof(count), "%u", draw(15));
	snprintf(level, sizeof(level), "%d", depth + 1);
	error = posix_spawn(&child, program, NULL, NULL, arguments, environ);
	if (error == 0)
		waitpid(child, &status, 0);
	printf("%d spawned %d %x\n", depth, error, status);
}

static int sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *thread(void *argument)
{
	long number = (long)argument;
	struct timespec shortly = {0, number % 700000};
	int i;

	for (i = 0; i < 20; i++) {
		pthread_mutex_lock(&mutex);
		sum = sum * 31 + number;
		if (i % 7 == 0)
			nanosleep(&shortly, NULL);
		pthread_mutex_unlock(&mutex);
		if (i % 5 == 0)
			sched_yield();
	}
	return (void *)(long)sum;
}

static void threads(void)
{
	pthread_t all[8];
	int count = 1 + draw(COUNT(all)), i;
	void *result;

	for (i = 0; i < count; i++)
		pthread_create(&all[i], NULL, thread, (void *)(long)draw(1 << 30));
	for (i = 0; i < count; i++) {
		pthread_join(all[i], &result);
		printf("%d thread %lx\n", depth, (long)result & 0xffffffff);
	}
}

static void numbers(void)
{
	double value = draw(1 << 20);
	int i;

	for (i = 0; i < 50; i++) {
		value = value * 1.0000123 + 0.3 / (i + 1);
		if (i % 10 == 0)
			syscall(SYS_getppid);
	}
	printf("%d value %a\n", depth, value);
}

static void (*const all_actions[])(void) = {
	touch, touch, wild, map, map, map, call, call, call, call, clocks, timers, pipes, files,
	children, family, spawned, threads, numbers,
};

static void actions(int count)
{
	while (count--)
		all_actions[draw(COUNT(all_actions))]();
}

int main(int argc, char **argv)
{
	static char alternate[64 << 10];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct rusage used;

	program = argv[0];
	state = strtoull(argv[1], NULL, 10);
	depth = argc > 3 ? atoi(argv[3]) : 0;
	setvbuf(stdout, NULL, _IONBF, 0);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	action.sa_handler = on_alarm;
	action.sa_flags = draw(2) ? SA_RESTART : 0;
	sigaction(SIGALRM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	arena = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	actions(atoi(argv[2]));
	getrusage(RUSAGE_SELF, &used);
	printf("%d end: %ld KB, %ld faults, %d signals\n", depth, used.ru_maxrss, used.ru_minflt, faults);
	return 0;
}
