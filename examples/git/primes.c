/* Counts the primes below a number by trial division, of which there are faster ways. */
#include <stdio.h>
#include <stdlib.h>

static int is_prime(unsigned number) {
    if (number < 2) return 0;
    for (unsigned divisor = 2; divisor <= number / 2; divisor++)
        if (number % divisor == 0) return 0;
    return 1;
}

int main(int argc, char **argv) {
    unsigned below = argc > 1 ? (unsigned)atoi(argv[1]) : 20000, count = 0;
    for (unsigned number = 0; number < below; number++) count += is_prime(number);
    printf("%u\n", count);
    return 0;
}
