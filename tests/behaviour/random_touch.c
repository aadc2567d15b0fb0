/* Touches the pages of N MB in random order, reads them all again: see test_traps.py. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L

static long sum(const char *memory, const long *order, long pages)
{
	long total = 0;

	for (long i = 0; i < pages; i++)
		total += memory[order[i] * PAGE];
	return total;
}

int main(int count, char **arguments)
{
	long pages = atol(arguments[1]) * 256, total;
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long *order = malloc(pages * sizeof(*order));
	int status;

	for (long i = 0; i < pages; i++)
		order[i] = i;
	srand(1);
	for (long i = pages - 1; i > 0; i--) {
		long j = rand() % (i + 1), other = order[i];

		order[i] = order[j];
		order[j] = other;
	}
	for (long i = 0; i < pages; i++)
		memory[order[i] * PAGE] = 1;
	/* A child has the same pages; what it writes is not seen here. */
	if (fork() == 0) {
		for (long i = 0; i < pages; i += 1000)
			memory[order[i] * PAGE] = 2;
		_exit(sum(memory, order, pages) == pages + (pages + 999) / 1000 ? 7 : 1);
	}
	wait(&status);
	total = sum(memory, order, pages);
	printf("%ld of %ld pages, child %d\n", total, pages, WEXITSTATUS(status));
	return 0;
}
