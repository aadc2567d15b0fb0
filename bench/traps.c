/*
 * Measures what switches between a program and its kernel cost: see traps.py.
 *
 *     traps cycles_per_us
 *     traps REPEATS [NAME]...
 *
 * The first form prints the frequency of the time stamp counter. The second prints "NAME CYCLES" for each measure: the smallest of REPEATS series, per operation, in cycles of the
 * time stamp counter. No clock would do: in a machine none passes while a program runs.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
static int to_child[2], from_child[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void getppid_call(void)
{
	syscall(SYS_getppid);
}

static void clock_libc(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
}

static void clock_raw(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
}

static void map_page(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		fail("mmap");
	page[0] = 1;
	munmap(page, 4096);
}

#define PAGES 64

static void fault_pages(void)
{
	const size_t size = PAGES * 4096;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		fail("mmap");
	for (size_t at = 0; at < size; at += 4096)
		pages[at] = 1;
	munmap(pages, size);
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void spawn(char *const arguments[])
{
	pid_t pid;

	if (posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environment))
		fail(arguments[0]);
	waitpid(pid, NULL, 0);
}

static void exec_true(void)
{
	char *const arguments[] = {"/bin/true", NULL};

	spawn(arguments);
}

static void start_python(void)
{
	char *const arguments[] = {"python3", "-c", "pass", NULL};

	spawn(arguments);
}

static void ping_pong(void)
{
	char byte = 0;

	if (write(to_child[1], &byte, 1) != 1 || read(from_child[0], &byte, 1) != 1)
		fail("pipe");
}

static void begin_ping_pong(void)
{
	char byte;

	if (pipe(to_child) || pipe(from_child))
		fail("pipe");
	if (fork() == 0) {
		close(to_child[1]);
		while (read(to_child[0], &byte, 1) == 1 && write(from_child[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(to_child[0]);
}

static void end_ping_pong(void)
{
	close(to_child[1]);
	wait(NULL);
}

/* A series is shorter than what a machine takes for waiting (256 calls that do nothing). */
static const struct measure {
	const char *name;
	void (*operation)(void), (*begin)(void), (*end)(void);
	int series, per_operation, one_in;
} measures[] = {
	{"getppid", getppid_call, NULL, NULL, 50, 1, 1},
	{"clock_gettime", clock_libc, NULL, NULL, 50, 1, 1},
	{"clock_gettime_raw", clock_raw, NULL, NULL, 50, 1, 1},
	{"mmap_fault_munmap", map_page, NULL, NULL, 10, 1, 1},
	{"fault", fault_pages, NULL, NULL, 1, PAGES, 1},
	{"pipe_ping_pong", ping_pong, begin_ping_pong, end_ping_pong, 20, 1, 1},
	{"fork_exit_wait", fork_child, NULL, NULL, 1, 1, 1},
	{"exec_true", exec_true, NULL, NULL, 1, 1, 1},
	{"python", start_python, NULL, NULL, 1, 1, 8},
};

static void run(const struct measure *measure, int repeats)
{
	unsigned long long fastest = ~0ULL;

	if (measure->begin)
		measure->begin();
	for (int series = 0; series < repeats / measure->one_in || series == 0; series++) {
		unsigned long long cycles;

		/* Something that succeeds: the calls before it do not count as waiting. */
		close(dup(0));
		measure->operation();
		cycles = __rdtsc();
		for (int i = 0; i < measure->series; i++)
			measure->operation();
		cycles = __rdtsc() - cycles;
		if (cycles < fastest)
			fastest = cycles;
	}
	if (measure->end)
		measure->end();
	printf("%s %f\n", measure->name,
	       (double)fastest / measure->series / measure->per_operation);
	fflush(stdout);
}

static void print_frequency(void)
{
	struct timespec began, ended, wait = {.tv_nsec = 100 * 1000 * 1000};
	unsigned long long cycles;

	clock_gettime(CLOCK_MONOTONIC, &began);
	cycles = __rdtsc();
	nanosleep(&wait, NULL);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	cycles = __rdtsc() - cycles;
	printf("cycles_per_us %f\n", (double)cycles / ((ended.tv_sec - began.tv_sec) * 1e6 +
						      (ended.tv_nsec - began.tv_nsec) / 1e3));
}

int main(int count, char **arguments)
{
	const int repeats = count > 1 ? atoi(arguments[1]) : 10;
	cpu_set_t cpu;

	if (count == 2 && strcmp(arguments[1], "cycles_per_us") == 0) {
		print_frequency();
		return 0;
	}
	/* On one processor, as a machine is. */
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		int is_wanted = count < 3;

		for (int j = 2; j < count; j++)
			is_wanted |= strcmp(arguments[j], measures[i].name) == 0;
		if (is_wanted)
			run(&measures[i], repeats);
	}
	return 0;
}
