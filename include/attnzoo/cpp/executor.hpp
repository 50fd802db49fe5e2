/*
 * attnzoo/cpp/executor.hpp: executors. What they do about threads, the BLAS and fork() is told by attnzoo/executor.h.
 * Include attnzoo/attnzoo.hpp instead.
 */
#ifndef ATTNZOO_CPP_EXECUTOR_HPP
#define ATTNZOO_CPP_EXECUTOR_HPP

#include "handle.hpp"

#include <cstdint>

namespace attnzoo
{

/**
 * The threads and the scratch memory that forward calls use. Moves, and does not copy. No call may be running on it when it
 * ends. Threads: one executor may be used by several threads; their calls then take turns. Since 1.0.
 */
class executor : public detail::handle<attnzoo_executor, attnzoo_executor_destroy>
{
  public:
    /**
     * Starts the threads.
     *
     * thread_count  how many work on a call, the calling one included; 0 for as many as the process may use. At most 256.
     *
     * Throws error: invalid_argument if thread_count is out of range, system if a thread could not be started. Throws
     * std::bad_alloc. Since 1.0.
     */
    explicit executor(std::int32_t thread_count = 0) : handle(detail::create(attnzoo_executor_create, thread_count))
    {
    }

    /** Takes over an executor that the C interface made; nullptr gives an empty one. Since 1.0. */
    static executor adopt(attnzoo_executor *owned) noexcept
    {
        return executor(owned);
    }

    /** How many threads work on a call, the calling one included; 0 if it is empty. Threads: any. Since 1.0. */
    std::int32_t thread_count() const noexcept
    {
        return attnzoo_executor_thread_count(get());
    }

  private:
    explicit executor(attnzoo_executor *owned) noexcept : handle(owned)
    {
    }
};

} // namespace attnzoo

#endif
