/*
 * core/version.c: attnzoo/version.h.
 */
#include "base/common.h"
#include "blas/blas.h"
#include "cpu/cpu.h"

#include <attnzoo/version.h>
#include <pthread.h>
#include <stdio.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define VERSION_TEXT TEXT(ATTNZOO_VERSION_MAJOR) "." TEXT(ATTNZOO_VERSION_MINOR) "." TEXT(ATTNZOO_VERSION_PATCH)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char information[320];

int32_t attnzoo_version_number(void)
{
    return ATTNZOO_VERSION_NUMBER;
}

const char *attnzoo_version_string(void)
{
    return VERSION_TEXT;
}

static void write_information(void)
{
    snprintf(information, sizeof information,
             "libattnzoo " VERSION_TEXT "; CPU path %s; %s products; BLAS %s; compiler %s",
             attnzoo_cpu_path_name(attnzoo_cpu_path()), attnzoo_blas_work_without_copy() > 0 ? "small" : "large",
             attnzoo_blas_description(), __VERSION__);
}

const char *attnzoo_build_information(void)
{
    pthread_once(&once, write_information);
    return information;
}
