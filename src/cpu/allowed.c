/*
 * cpu/allowed.c: how many CPUs this process may use. Read afresh at each call, since affinity and quotas change.
 */
#include "cpu/cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, TEXT_SIZE = 4096 };

/* Reads a small file as text; no stdio, so that nothing is allocated. */
static bool read_text(const char *path, char text[TEXT_SIZE])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, TEXT_SIZE - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return true;
}

static int32_t affinity_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int32_t)online : 1;
}

static int32_t lower_to_quota(int32_t count, long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return count;
    long long whole = quota / period + (quota % period != 0);
    return whole < count ? (int32_t)whole : count;
}

/* Control groups, version 2: the quota of this process' group and of each group above it. */
static int32_t lower_to_group_quotas(int32_t count)
{
    char text[TEXT_SIZE];
    if (!read_text("/proc/self/cgroup", text))
        return count;
    char *group = strstr(text, "0::/");
    if (group == NULL || (group != text && group[-1] != '\n'))
        return count;
    group += strlen("0::");
    group[strcspn(group, "\n")] = '\0';
    for (;;) {
        char path[PATH_SIZE], limit[TEXT_SIZE];
        long long quota, period;
        int length = snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        /* The numbers here are the kernel's. NOLINTNEXTLINE(cert-err34-c) */
        if (length < (int)sizeof path && read_text(path, limit) && sscanf(limit, "%lld %lld", &quota, &period) == 2)
            count = lower_to_quota(count, quota, period);
        char *last = strrchr(group, '/');
        if (last == NULL)
            return count;
        *last = '\0';
    }
}

/* Control groups, version 1, as seen inside a container. */
static int32_t lower_to_legacy_quota(int32_t count)
{
    char quota_text[TEXT_SIZE], period_text[TEXT_SIZE];
    long long quota, period;
    /* NOLINTBEGIN(cert-err34-c) as above */
    if (read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota_text) && sscanf(quota_text, "%lld", &quota) == 1 &&
        read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period_text) && sscanf(period_text, "%lld", &period) == 1)
        return lower_to_quota(count, quota, period);
    /* NOLINTEND(cert-err34-c) */
    return count;
}

int32_t attnzoo_cpu_allowed_count(void)
{
    int32_t count = lower_to_legacy_quota(lower_to_group_quotas(affinity_count()));
    return count < 1 ? 1 : count;
}
