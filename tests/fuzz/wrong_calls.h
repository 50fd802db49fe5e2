/*
 * wrong_calls.h: calls on a subject that the library should refuse, or may take: each ends with a status, and where that is
 * an error, with a message, outputs untouched and the state as it was.
 */
#ifndef TESTS_FUZZ_WRONG_CALLS_H
#define TESTS_FUZZ_WRONG_CALLS_H

#include "subject.h"

/* Up to three faults in one forward call. */
void wrong_forward(struct subject *subject, struct random_source *source, attnzoo_executor *executor);

/* A module of other options and parameters, prepared and called if it can be. */
void wrong_module(struct subject *subject, struct random_source *source, attnzoo_executor *executor);

/* States of any size, fields read into and set from any view, copies, lengths. */
void wrong_state(struct subject *subject, struct random_source *source);

/* Contexts merged and positions filled in, in and from any views. */
void wrong_helpers(struct subject *subject, struct random_source *source);

/* Questions to introspection, of any number and name. */
void wrong_questions(struct random_source *source);

#endif
