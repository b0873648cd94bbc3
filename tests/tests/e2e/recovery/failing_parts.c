// Fails writes and syncs of files whose path contains $FAIL_PATH, while the file $FAIL_WHILE is there. That says how: a number of
// errno.h, and what fails: w (writes), s (syncs) or d (syncs of directories), as in "28 ws".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int fd, char call) {
    char link[64], path[4096], calls[8] = "";
    const char *part = getenv("FAIL_PATH"), *when = getenv("FAIL_WHILE");
    int before = errno, number = 0;
    struct stat there;
    FILE *how = part && when ? fopen(when, "r") : NULL;
    errno = before;
    if (!how) return 0;
    int read = fscanf(how, "%d %7s", &number, calls);
    fclose(how);
    errno = before;
    if (read != 2) return 0;
    if (call == 's' && fstat(fd, &there) == 0 && S_ISDIR(there.st_mode)) call = 'd';
    if (!strchr(calls, call)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) ? number : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(fd, call) { int number = fails(fd, call); if (number) { errno = number; return -1; } }

ssize_t write(int fd, const void *bytes, size_t count) { FAIL(fd, 'w') return REAL(write)(fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { FAIL(fd, 'w') return REAL(pwrite)(fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { FAIL(fd, 'w') return REAL(pwrite64)(fd, bytes, count, at); }
int fsync(int fd) { FAIL(fd, 's') return REAL(fsync)(fd); }
int fdatasync(int fd) { FAIL(fd, 's') return REAL(fdatasync)(fd); }
