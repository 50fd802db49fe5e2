/*
 * base/common.h: the first include of every source file of the library. It alone turns the public headers'
 * ATTNZOO_API into an export and chooses the system interfaces that the library may use. Nothing else lives here.
 */
#ifndef ATTNZOO_BASE_COMMON_H
#define ATTNZOO_BASE_COMMON_H

#ifdef ATTNZOO_API_H
#error "base/common.h must be included before any public header"
#endif

#ifndef _GNU_SOURCE
/* The C library's own name. NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#define _GNU_SOURCE 1
#endif

#define ATTNZOO_API __attribute__((visibility("default")))

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#endif
