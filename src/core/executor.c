/*
 * core/executor.c: attnzoo/executor.h. The threads are parallel/pool.c's.
 */
#include "core/handles.h"

#include <stdlib.h>

attnzoo_status attnzoo_executor_create(attnzoo_executor **executor, int32_t thread_count)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(executor);
    attnzoo_executor *made = malloc(sizeof *made);
    if (made == NULL)
        return attnzoo_base_fail_memory(sizeof *made);
    made->kind = ATTNZOO_KIND_EXECUTOR;
    attnzoo_status status = attnzoo_pool_create(&made->pool, thread_count);
    if (status != ATTNZOO_STATUS_OK) {
        free(made);
        return status;
    }
    *executor = made;
    return ATTNZOO_STATUS_OK;
}

void attnzoo_executor_destroy(attnzoo_executor *executor)
{
    if (executor == NULL || executor->kind != ATTNZOO_KIND_EXECUTOR)
        return;
    executor->kind = 0;
    attnzoo_pool_destroy(executor->pool);
    free(executor);
}

int32_t attnzoo_executor_thread_count(const attnzoo_executor *executor)
{
    return executor == NULL || executor->kind != ATTNZOO_KIND_EXECUTOR ? 0 : attnzoo_pool_thread_count(executor->pool);
}
