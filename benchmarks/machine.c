/*
 * benchmarks/machine.c: asks Linux and the library what the numbers are measured on. Where the system has no /proc or
 * /sys, those lines are left out.
 */
#define _POSIX_C_SOURCE 200809L

#include "machine.h"

#include <attnzoo/attnzoo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void put_text(json_t *object, const char *name, const char *text)
{
    if (text[0] != '\0' && json_object_set_new(object, name, json_string(text)) != 0)
        fprintf(stderr, "%s is left out: it is no UTF-8\n", name);
}

/* The rest of the first line that begins so, without blanks and colon around; "" if there is none. */
static void read_line(const char *path, const char *beginning, char *text, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    while (file != NULL && text[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        const char *rest = line + strlen(beginning);
        if (strncmp(line, beginning, strlen(beginning)) != 0)
            continue;
        rest += strspn(rest, " \t:");
        snprintf(text, size, "%.*s", (int)strcspn(rest, "\n"), rest);
    }
    if (file != NULL)
        fclose(file);
}

static json_t *list_environment(void)
{
    static const char *const beginnings[] = {"OPENBLAS_", "OMP_", "GOTO_NUM_THREADS=", "BLIS_", "ATTNZOO_"};
    json_t *object = json_object();
    for (char **variable = environ; *variable != NULL; variable++)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
            const char *sign = strchr(*variable, '=');
            char name[64];
            if (sign == NULL || strncmp(*variable, beginnings[i], strlen(beginnings[i])) != 0)
                continue;
            snprintf(name, sizeof name, "%.*s", (int)(sign - *variable), *variable);
            put_text(object, name, sign + 1);
        }
    return object;
}

json_t *benchmark_describe_machine(void)
{
    char text[256];
    time_t now = time(NULL);
    struct tm utc;
    json_t *machine = json_object();
    strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&now, &utc));
    put_text(machine, "date", text);
    read_line("/proc/cpuinfo", "model name", text, sizeof text);
    put_text(machine, "cpu", text);
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    put_text(machine, "cores", text);
    read_line("/sys/devices/system/cpu/cpu0/cache/index2/size", "", text, sizeof text);
    put_text(machine, "level_2_cache", text);
    read_line("/sys/devices/system/cpu/cpu0/cache/index3/size", "", text, sizeof text);
    put_text(machine, "level_3_cache", text);
    put_text(machine, "library", attnzoo_build_information());
    put_text(machine, "compiler", BENCHMARK_COMPILER);
    put_text(machine, "compiler_flags", BENCHMARK_COMPILER_FLAGS);
    json_object_set_new(machine, "environment", list_environment());
    return machine;
}

void benchmark_print_machine(json_t *machine)
{
    const char *name;
    json_t *value;
    json_object_foreach(machine, name, value) if (json_is_string(value))
        printf("- %s: %s\n", name, json_string_value(value));
    json_object_foreach(json_object_get(machine, "environment"), name, value)
        printf("- %s=%s\n", name, json_string_value(value));
}
