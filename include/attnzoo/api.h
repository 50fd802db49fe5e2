/*
 * attnzoo/api.h: what every other header of the library needs, and nothing a user calls.
 * It is included by the others; include attnzoo/attnzoo.h instead.
 */
#ifndef ATTNZOO_API_H
#define ATTNZOO_API_H

#include <stdint.h>

/* Empty for users of the library; the library's own build turns it into an export. */
#ifndef ATTNZOO_API
#define ATTNZOO_API
#endif

#ifdef __cplusplus
#define ATTNZOO_BEGIN_DECLARATIONS extern "C" {
#define ATTNZOO_END_DECLARATIONS }
#else
#define ATTNZOO_BEGIN_DECLARATIONS
#define ATTNZOO_END_DECLARATIONS
#endif

#endif
