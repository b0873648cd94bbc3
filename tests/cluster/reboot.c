// Reboots the simulated host that it is executed in: reboot(2) in a PID namespace ends the namespace's first process by
// SIGHUP. It refuses to reboot the machine itself.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

// The inode number of the machine's own PID namespace (PROC_PID_INIT_INO of the kernel).
static const char MACHINE[] = "pid:[4026531836]";

// Whether the first process of this namespace is that of a simulated host.
static int in_simulated_host(void) {
    char namespace[64] = "", command[4096] = "";
    if (readlink("/proc/self/ns/pid", namespace, sizeof namespace - 1) < 0 || !strcmp(namespace, MACHINE))
        return 0;
    FILE *file = fopen("/proc/1/cmdline", "r");
    if (!file)
        return 0;
    size_t length = fread(command, 1, sizeof command - 1, file);
    fclose(file);
    // bash, the path of `hosts`, init, the number of the host
    size_t word = 0;
    for (size_t at = 0; word < 2 && at < length; at++)
        if (!command[at] && ++word == 2)
            return !strcmp(command + at + 1, "init");
    return 0;
}

int main(void) {
    if (!in_simulated_host()) {
        fprintf(stderr, "reboot: this is not a simulated host\n");
        return 1;
    }
    sync();
    reboot(RB_AUTOBOOT);
    fprintf(stderr, "reboot: %s\n", strerror(errno));
    return 1;
}
