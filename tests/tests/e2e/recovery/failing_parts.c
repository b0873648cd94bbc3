// Fails writes and syncs of files whose path contains $FAIL_PATH, while the file $FAIL_WHILE is there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int fd) {
    char link[64], path[4096];
    const char *part = getenv("FAIL_PATH"), *when = getenv("FAIL_WHILE");
    if (!part || !when || access(when, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(fd) if (fails(fd)) { errno = EIO; return -1; }

ssize_t write(int fd, const void *bytes, size_t count) { FAIL(fd) return REAL(write)(fd, bytes, count); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { FAIL(fd) return REAL(pwrite)(fd, bytes, count, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { FAIL(fd) return REAL(pwrite64)(fd, bytes, count, at); }
int fsync(int fd) { FAIL(fd) return REAL(fsync)(fd); }
int fdatasync(int fd) { FAIL(fd) return REAL(fdatasync)(fd); }
