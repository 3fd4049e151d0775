/* Counts the steps to the disk of one process, ends it at the n-th, and writes a log from which a power cut is replayed.
 *
 * Preloaded; does nothing until crash_arm is called. A step is a call that changes files or names under one folder. The
 * process is killed before the step, so that step n + 1 shows what step n leaves. One lock makes the order of the steps
 * of all threads that of the log. A log entry is a line "OP INODE OFFSET LENGTH NAME OTHER", and LENGTH bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char folder[PATH_MAX];
static volatile int armed;
static long steps, last;
static int log_to = -1;

void crash_arm(const char *prefix, long step, int log_descriptor) {
    snprintf(folder, sizeof folder, "%s/", prefix);
    last = step;
    log_to = log_descriptor;
    armed = 1;
}

long crash_steps(void) { return steps; }

static int inside(const char *path) { return strncmp(path, folder, strlen(folder)) == 0; }

static void of_descriptor(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void absolute(int at, const char *path, char *whole) {
    char start[PATH_MAX] = "";
    if (path[0] == '/') { snprintf(whole, PATH_MAX, "%s", path); return; }
    if (at == AT_FDCWD) { if (!getcwd(start, sizeof start)) start[0] = 0; } else of_descriptor(at, start);
    size_t room = PATH_MAX - strlen(start) - 2;
    strcpy(whole, start);
    strcat(whole, "/");
    strncat(whole, path, room);
}

static void end_here(void) {
    if (++steps == last) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
}

static void put(const void *bytes, size_t length) {
    const char *rest = bytes;
    while (length) {
        ssize_t done = syscall(SYS_write, log_to, rest, length);
        if (done <= 0) return;
        rest += done;
        length -= done;
    }
}

static void note(const char *op, long inode, long offset, const char *name, const char *other, const void *bytes, long n) {
    char line[3 * PATH_MAX];
    if (log_to < 0) return;
    int length = snprintf(line, sizeof line, "%s %ld %ld %ld %s %s\n", op, inode, offset, bytes ? n : 0, name, other);
    put(line, length);
    if (bytes) put(bytes, n);
}

static long inode_of(const char *path) {
    struct stat about;
    return lstat(path, &about) ? 0 : (long)about.st_ino;
}

static long inode_at(int descriptor) {
    struct stat about;
    return fstat(descriptor, &about) ? 0 : (long)about.st_ino;
}

#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define BEGIN int counted = armed, kept
#define COUNT if (counted) { pthread_mutex_lock(&lock); end_here(); }
#define END(result) if (counted) { pthread_mutex_unlock(&lock); } errno = kept; return result

static int opened(int (*next)(const char *, int, ...), int at, const char *path, int flags, mode_t mode) {
    char whole[PATH_MAX];
    BEGIN;
    if (counted) absolute(at, path, whole);
    counted = counted && inside(whole) && (flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE;
    long before = counted ? inode_of(whole) : 0;
    COUNT
    int result = next(counted && at != AT_FDCWD ? whole : path, flags, mode);
    kept = errno;
    if (counted && result >= 0) {
        if (!before) note("create", inode_at(result), 0, whole, "-", NULL, 0);
        if (before && (flags & O_TRUNC)) note("truncate", inode_at(result), 0, whole, "-", NULL, 0);
    }
    END(result);
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest);                            \
        NEXT(name); return opened(next, AT_FDCWD, path, flags, mode); }
OPEN(open)
OPEN(open64)

#define OPENAT(name, plain)                                                                                            \
    int name(int at, const char *path, int flags, ...) {                                                               \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest);                            \
        int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #plain);               \
        if (!armed || !(flags & (O_CREAT | O_TRUNC))) {                                                                \
            NEXT(name); return next(at, path, flags, mode); }                                                          \
        return opened(next, at, path, flags, mode); }
OPENAT(openat, open)
OPENAT(openat64, open64)

#define ON_DATA(descriptor, call, op, where, bytes)                                                                    \
    char path[PATH_MAX];                                                                                               \
    BEGIN;                                                                                                             \
    if (counted) { of_descriptor(descriptor, path); counted = inside(path); }                                          \
    COUNT                                                                                                              \
    __typeof__(call) result = call;                                                                                    \
    kept = errno;                                                                                                      \
    if (counted && result >= 0) note(op, inode_at(descriptor), where, path, "-", bytes, (long)result);                 \
    END(result)

ssize_t write(int descriptor, const void *bytes, size_t length) {
    NEXT(write);
    ON_DATA(descriptor, next(descriptor, bytes, length), "write", lseek(descriptor, 0, SEEK_CUR) - result, bytes);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t where) {
    NEXT(pwrite);
    ON_DATA(descriptor, next(descriptor, bytes, length, where), "write", (long)where, bytes);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t where) {
    NEXT(pwrite64);
    ON_DATA(descriptor, next(descriptor, bytes, length, where), "write", (long)where, bytes);
}
ssize_t writev(int descriptor, const struct iovec *pieces, int count) {  /* piece by piece: a short write is allowed */
    for (int piece = 0; piece < count; piece++)
        if (pieces[piece].iov_len) return write(descriptor, pieces[piece].iov_base, pieces[piece].iov_len);
    return 0;
}
int fsync(int descriptor) {
    NEXT(fsync);
    ON_DATA(descriptor, next(descriptor), "sync", 0L, NULL);
}
int fdatasync(int descriptor) {
    NEXT(fdatasync);
    ON_DATA(descriptor, next(descriptor), "sync", 0L, NULL);
}
int ftruncate(int descriptor, off_t length) {
    NEXT(ftruncate);
    ON_DATA(descriptor, next(descriptor, length), "truncate", (long)length, NULL);
}
int ftruncate64(int descriptor, off64_t length) {
    NEXT(ftruncate64);
    ON_DATA(descriptor, next(descriptor, length), "truncate", (long)length, NULL);
}

#define ON_NAMES(from, one, to, two, op, call)                                                                         \
    char whole[PATH_MAX], other[PATH_MAX] = "-";                                                                       \
    const char *volatile second = two;                                                                                 \
    BEGIN;                                                                                                             \
    absolute(from, one, whole);                                                                                        \
    if (second) absolute(to, second, other);                                                                                 \
    counted = counted && (inside(whole) || inside(other));                                                             \
    long inode = counted ? inode_of(whole) : 0;                                                                        \
    COUNT                                                                                                              \
    int result = call;                                                                                                 \
    kept = errno;                                                                                                      \
    if (counted && !result) note(op, inode ? inode : inode_of(whole), 0, whole, other, NULL, 0);                       \
    END(result)

#define NO_PATH ((const char *)0)
int rename(const char *one, const char *two) { NEXT(rename); ON_NAMES(AT_FDCWD, one, AT_FDCWD, two, "rename", next(one, two)); }
int renameat(int from, const char *one, int to, const char *two) {
    NEXT(renameat); ON_NAMES(from, one, to, two, "rename", next(from, one, to, two)); }
int renameat2(int from, const char *one, int to, const char *two, unsigned flags) {
    NEXT(renameat2); ON_NAMES(from, one, to, two, "rename", next(from, one, to, two, flags)); }
int link(const char *one, const char *two) { NEXT(link); ON_NAMES(AT_FDCWD, one, AT_FDCWD, two, "link", next(one, two)); }
int linkat(int from, const char *one, int to, const char *two, int flags) {
    NEXT(linkat); ON_NAMES(from, one, to, two, "link", next(from, one, to, two, flags)); }
int unlink(const char *one) { NEXT(unlink); ON_NAMES(AT_FDCWD, one, 0, NO_PATH, "unlink", next(one)); }
int unlinkat(int from, const char *one, int flags) {
    NEXT(unlinkat); ON_NAMES(from, one, 0, NO_PATH, "unlink", next(from, one, flags)); }
int rmdir(const char *one) { NEXT(rmdir); ON_NAMES(AT_FDCWD, one, 0, NO_PATH, "unlink", next(one)); }
int mkdir(const char *one, mode_t mode) { NEXT(mkdir); ON_NAMES(AT_FDCWD, one, 0, NO_PATH, "mkdir", next(one, mode)); }
int mkdirat(int from, const char *one, mode_t mode) {
    NEXT(mkdirat); ON_NAMES(from, one, 0, NO_PATH, "mkdir", next(from, one, mode)); }
int truncate(const char *one, off_t length) {
    NEXT(truncate); ON_NAMES(AT_FDCWD, one, 0, NO_PATH, "truncate", next(one, length)); }
