/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pipes and sockets in the condition that a call has to wait for. They end with the process. A
 * function that fails calls pattern_skip() and returns NOT_HERE.
 */
#ifndef DWELL_VERIFY_ENDS_H
#define DWELL_VERIFY_ENDS_H

/* A TCP connection on loopback. 0 or NOT_HERE. */
int inet_pair(int ends[2]);

/* Of a TCP connection; nothing comes. */
int quiet_socket(void);

/* Of a TCP connection whose other end is not read: as much has been written as there is room. */
int full_socket(void);

/* The write end of a pipe without room; *ret_other (may be NULL) is its read end. */
int full_pipe(int *ret_other);

/* The read end of a pipe that nothing is written to; *ret_other (may be NULL) is the other. */
int empty_pipe(int *ret_other);

/* The same, for prepare() of a call. */
int quiet_pipe(void);

/* Waits for a byte, as a call does. */
void read_byte(int fd);

/* Waits for what is not there yet: what is there is read at once. */
void read_news(int fd);

/* Writes until it would block. */
void fill(int fd);

/* 1 MiB, in memory. */
int some_file(void);

#endif
