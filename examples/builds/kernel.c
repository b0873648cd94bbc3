/* Four small computations. PADDING, a number of bytes, moves the code of this file in memory, as any change of a program
 * does: builds of the same source then differ as builds of a larger program do. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PADDING
#define TEXT(of) TEXT_OF(of)
#define TEXT_OF(of) #of
__asm__(".text\n.skip " TEXT(PADDING) "\n");
#endif

/* The minimal standard generator (Park and Miller 1988). */
static uint32_t state = 20261120;
static uint32_t draw(void) {
    state = (uint32_t)((uint64_t)state * 16807 % 2147483647);
    return state;
}

static void *space(size_t count, size_t size) {
    void *got = calloc(count, size);
    if (!got) abort();
    return got;
}

/* How many primes there are below n. */
static uint64_t sieve(uint32_t n) {
    unsigned char *composite = space(n, 1);
    uint64_t primes = 0;
    for (uint32_t i = 2; i < n; i++) {
        if (composite[i]) continue;
        primes++;
        for (uint64_t j = (uint64_t)i * i; j < n; j += i) composite[j] = 1;
    }
    free(composite);
    return primes;
}

/* A product of two n by n matrices of small whole numbers, which doubles hold exactly. */
static uint64_t matrix(uint32_t n) {
    double *a = space(n * n, sizeof *a), *b = space(n * n, sizeof *b), *c = space(n * n, sizeof *c);
    for (uint32_t i = 0; i < n * n; i++) a[i] = draw() % 100, b[i] = draw() % 100;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            for (uint32_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n * n; i++) sum = sum * 31 + (uint64_t)c[i];
    free(a), free(b), free(c);
    return sum;
}

/* Heapsort of n numbers. */
static void sink(uint32_t *heap, uint32_t root, uint32_t end) {
    for (uint32_t child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && heap[child] < heap[child + 1]) child++;
        if (heap[root] >= heap[child]) return;
        uint32_t larger = heap[child];
        heap[child] = heap[root];
        heap[root] = larger;
    }
}

static uint64_t heapsort_sum(uint32_t n) {
    uint32_t *heap = space(n, sizeof *heap);
    for (uint32_t i = 0; i < n; i++) heap[i] = draw();
    for (uint32_t i = n / 2; i-- > 0;) sink(heap, i, n);
    for (uint32_t end = n; end-- > 1;) {
        uint32_t largest = heap[0];
        heap[0] = heap[end];
        heap[end] = largest;
        sink(heap, 0, end);
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) sum = sum * 31 + heap[i];
    free(heap);
    return sum;
}

/* FNV-1a over n drawn bytes. */
static uint64_t hash(uint32_t n) {
    uint64_t sum = 14695981039346656037u;
    for (uint32_t i = 0; i < n; i++) sum = (sum ^ (draw() & 255)) * 1099511628211u;
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    uint32_t n = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t result;
    if (!strcmp(argv[1], "sieve")) result = sieve(n);
    else if (!strcmp(argv[1], "matrix")) result = matrix(n);
    else if (!strcmp(argv[1], "heapsort")) result = heapsort_sum(n);
    else if (!strcmp(argv[1], "hash")) result = hash(n);
    else return 2;
    printf("%s %lu %llu\n", argv[1], (unsigned long)n, (unsigned long long)result);
    return 0;
}
