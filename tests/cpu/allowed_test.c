/*
 * tests/cpu/allowed_test.c: CPU quotas of control groups, as containers set them, bound the number of threads. Links the
 * library's objects with an open() that hands out files written here and an affinity of eight CPUs, so that nothing
 * depends on the machine or on what the test runs inside of.
 */
#include "cpu/cpu.h"

#include "support/testing.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { CPUS = 8, FILES = 4 };

struct fake_file {
    const char *path;
    const char *text;
};

/* What is below /proc/self/cgroup and /sys/fs/cgroup; nothing else is there. */
static const struct fake_file *fake_files;
static bool is_affinity_known = true;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);

static bool is_same_path(const char *left, const char *right)
{
    for (; *left != '\0' || *right != '\0'; left++, right++) {
        while (left[0] == '/' && left[1] == '/')
            left++;
        while (right[0] == '/' && right[1] == '/')
            right++;
        if (*left != *right)
            return false;
    }
    return true;
}

int __wrap_open(const char *path, int flags, ...)
{
    if (strstr(path, "cgroup") == NULL)
        return __real_open(path, flags); /* nothing here makes files, which alone would take a mode */
    for (int i = 0; i < FILES && fake_files[i].path != NULL; i++)
        if (is_same_path(path, fake_files[i].path)) {
            int ends[2];
            assert_int_equal(pipe(ends), 0);
            ssize_t length = (ssize_t)strlen(fake_files[i].text);
            assert_true(write(ends[1], fake_files[i].text, (size_t)length) == length);
            close(ends[1]);
            return ends[0];
        }
    errno = ENOENT;
    return -1;
}

int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    (void)process;
    if (!is_affinity_known) {
        errno = EINVAL; /* a kernel for more CPUs than the set holds */
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (size_t cpu = 0; cpu < CPUS; cpu++)
        CPU_SET_S(cpu, size, set);
    return 0;
}

static const char group[] = "1:name=systemd:/elsewhere\n0::/box/job\n";
static const char inner[] = "/sys/fs/cgroup/box/job/cpu.max";
static const char outer[] = "/sys/fs/cgroup/box/cpu.max";
static const char top[] = "/sys/fs/cgroup/cpu.max";
static const char legacy_quota[] = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
static const char legacy_period[] = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

static const struct {
    struct fake_file files[FILES];
    int32_t count;
} CASES[] = {
    {{{0}}, CPUS},
    /* Part of a CPU takes a thread of its own; more than there are changes nothing. */
    {{{"/proc/self/cgroup", group}, {inner, "300000 100000\n"}}, 3},
    {{{"/proc/self/cgroup", group}, {inner, "150000 100000\n"}}, 2},
    {{{"/proc/self/cgroup", group}, {inner, "10000 100000\n"}}, 1},
    {{{"/proc/self/cgroup", group}, {inner, "1600000 100000\n"}}, CPUS},
    {{{"/proc/self/cgroup", group}, {inner, "max 100000\n"}}, CPUS},
    /* The groups above count, too: the lowest of all. */
    {{{"/proc/self/cgroup", group}, {inner, "max 100000\n"}, {outer, "200000 100000\n"}}, 2},
    {{{"/proc/self/cgroup", group}, {inner, "100000 50000\n"}, {outer, "600000 100000\n"}}, 2},
    {{{"/proc/self/cgroup", group}, {inner, "500000 100000\n"}, {top, "400000 100000\n"}}, 4},
    /* In a container the process' group is the top. */
    {{{"/proc/self/cgroup", "0::/\n"}, {top, "250000 100000\n"}}, 3},
    /* Version 1. */
    {{{legacy_quota, "500000\n"}, {legacy_period, "100000\n"}}, 5},
    {{{legacy_quota, "-1\n"}, {legacy_period, "100000\n"}}, CPUS},
    {{{legacy_quota, "500000\n"}}, CPUS},
    /* What says nothing. */
    {{{"/proc/self/cgroup", group}, {inner, ""}}, CPUS},
    {{{"/proc/self/cgroup", group}, {inner, "0 100000\n"}}, CPUS},
    {{{"/proc/self/cgroup", group}, {inner, "100000 0\n"}}, CPUS},
    {{{"/proc/self/cgroup", "nonsense"}, {top, "100000 100000\n"}}, CPUS},
};

enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static void p46_quotas_of_control_groups_are_heeded(void **state)
{
    (void)state;
    for (int i = 0; i < CASE_COUNT; i++) {
        fake_files = CASES[i].files;
        int32_t count = attnzoo_cpu_allowed_count();
        if (count != CASES[i].count)
            fail_msg("case %d: %d CPUs, not %d", i, (int)count, (int)CASES[i].count);
    }
}

/* Read anew each time, for a container may be given more or less while it runs. */
static void p46_executors_of_0_threads_have_as_many_as_the_quota(void **state)
{
    (void)state;
    attnzoo_executor *executor = NULL;
    fake_files = CASES[0].files;
    assert_ok(attnzoo_executor_create(&executor, CPUS));
    int32_t most = attnzoo_executor_thread_count(executor); /* what the BLAS bears */
    attnzoo_executor_destroy(executor);
    for (int i = 0; i < CASE_COUNT; i++) {
        fake_files = CASES[i].files;
        assert_ok(attnzoo_executor_create(&executor, 0));
        int32_t count = attnzoo_executor_thread_count(executor);
        attnzoo_executor_destroy(executor);
        assert_int_equal(count, CASES[i].count < most ? CASES[i].count : most);
    }
}

static void cpus_that_are_online_count_where_no_affinity_is_told(void **state)
{
    (void)state;
    fake_files = CASES[0].files;
    is_affinity_known = false;
    int32_t count = attnzoo_cpu_allowed_count();
    is_affinity_known = true;
    assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p46_quotas_of_control_groups_are_heeded),
        cmocka_unit_test(cpus_that_are_online_count_where_no_affinity_is_told),
        cmocka_unit_test(p46_executors_of_0_threads_have_as_many_as_the_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
