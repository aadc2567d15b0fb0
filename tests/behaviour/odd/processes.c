/* Starts processes and threads in unusual ways: see test_odd_programs.py.
 *
 *	processes [threads COUNT | sleepers COUNT]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *program;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static volatile long sum;
static _Thread_local long own;

static void *add(void *number)
{
	int i;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < 10; i++) {
		pthread_mutex_lock(&mutex);
		sum += (long)number;
		pthread_mutex_unlock(&mutex);
		own += syscall(SYS_gettid) > 0;
		sched_yield();
	}
	return (void *)own;
}

static void threads(int count)
{
	pthread_t *all = calloc(count, sizeof(*all));
	pthread_attr_t small;
	long i, calls = 0;
	void *result;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&barrier, NULL, count);
	for (i = 0; i < count; i++) {
		if (pthread_create(&all[i], &small, add, (void *)i)) {
			printf("no thread %ld\n", i);
			exit(1);
		}
	}
	for (i = 0; i < count; i++) {
		pthread_join(all[i], &result);
		calls += (long)result;
	}
	printf("%d threads: %ld %ld\n", count, sum, calls);
}

static void sleepers(int count)
{
	int ends[2], i, status, good = 0;
	char byte;

	if (pipe(ends))
		exit(1);
	for (i = 0; i < count; i++) {
		int child = fork();

		if (child < 0) {
			perror("fork");
			break;
		}
		if (child == 0) {
			close(ends[1]);
			_exit(read(ends[0], &byte, 1) == 0 ? i % 100 : 100);
		}
	}
	close(ends[1]);
	while (wait(&status) > 0)
		good += WIFEXITED(status) && WEXITSTATUS(status) < 100;
	printf("%d processes, %d ended as they should\n", i, good);
}

static void spawn(void)
{
	char *echo[] = {"echo", "spawned", NULL}, *missing[] = {"no-such-program", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int child, status, error;
	sigset_t all;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, 1, 9);
	posix_spawn_file_actions_adddup2(&actions, 9, 1);
	posix_spawnattr_init(&attributes);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&child, "echo", &actions, &attributes, echo, environ);
	waitpid(child, &status, 0);
	printf("posix_spawn: %d, %d\n", error, status);
	printf("posix_spawn: %s\n", strerror(posix_spawnp(&child, "no-such-program", NULL, NULL, missing,
							   environ)));
}

static void borrow(void)
{
	volatile int changed = 0;
	int status, i;

	for (i = 0; i < 200; i++) {
		int child = vfork();

		if (child == 0) {
			changed += getppid() > 0;
			if (i % 50 == 0)
				execlp("true", "true", NULL);
			_exit(i % 100);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != (i % 50 ? i % 100 : 0))
			printf("wrong status %x of %d\n", status, i);
	}
	printf("vfork: %d\n", changed);
}

static int in_clone(void *argument)
{
	*(int *)argument += 1;
	syscall(SYS_exit, 3);
	return 0;
}

static void cloned(void)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	struct clone_args {
		unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} arguments = {.exit_signal = SIGCHLD};
	int shared = 0, status, child;

	child = clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, &shared);
	waitpid(child, &status, 0);
	printf("clone with the memory: %d, %x\n", shared, status);
	child = clone(in_clone, stack + sizeof(stack), CLONE_FS | SIGCHLD, &shared);
	waitpid(child, &status, 0);
	printf("clone with a copy: %d, %x\n", shared, status);
	child = syscall(SYS_clone3, &arguments, sizeof(arguments));
	if (child == 0)
		_exit(5);
	printf("clone3: %d\n", waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1);
}

static void *execute(void *argument)
{
	execl(program, program, "executed", NULL);
	return NULL;
}

/* execve() in another thread than the first one, while others wait */
static void exec_of_thread(void)
{
	pthread_t thread;
	int status;

	if (fork() == 0) {
		pthread_create(&thread, NULL, execute, NULL);
		pthread_join(thread, NULL);
		_exit(1);
	}
	wait(&status);
	printf("exec of a thread: %x\n", status);
}

/* All stop and continue. */
static void stopped(void)
{
	int children[20], i, status, stops = 0, ends = 0;

	for (i = 0; i < 20; i++) {
		children[i] = fork();
		if (children[i] == 0)
			for (;;)
				syscall(SYS_getppid);
	}
	for (i = 0; i < 20; i++)
		kill(children[i], SIGSTOP);
	for (i = 0; i < 20; i++)
		stops += waitpid(children[i], &status, WUNTRACED) == children[i] && WIFSTOPPED(status);
	for (i = 0; i < 20; i++)
		kill(children[i], SIGCONT);
	for (i = 0; i < 20; i++)
		stops += waitpid(children[i], &status, WCONTINUED) == children[i] && WIFCONTINUED(status);
	usleep(1000);
	for (i = 0; i < 20; i++) {
		kill(children[i], SIGKILL);
		ends += waitpid(children[i], &status, 0) == children[i] && WTERMSIG(status) == SIGKILL;
	}
	printf("stopped and continued: %d, killed: %d\n", stops, ends);
}

static void without_code(void)
{
	long around = (long)without_code & ~0x3fffffff;
	int status;

	if (fork() == 0) {
		munmap((void *)around, 0x40000000);
		_exit(1);
	}
	wait(&status);
	printf("without code: %d %d\n", WIFSIGNALED(status), WTERMSIG(status));
}

int main(int argc, char **argv)
{
	program = argv[0];
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 2) {
		printf("%s\n", argv[1]);
		return 9;
	}
	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		threads(atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "sleepers") == 0)
		sleepers(atoi(argv[2]));
	if (argc > 1)
		return 0;
	spawn();
	borrow();
	cloned();
	exec_of_thread();
	stopped();
	without_code();
	return 0;
}
