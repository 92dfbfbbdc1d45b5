/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When `dwell serve` pushes what. */
#ifndef DWELL_SERVE_SERVER_PUSH_H
#define DWELL_SERVE_SERVER_PUSH_H

#include "serve/server.h"

/* Reads the files with secrets, and forks. */
int server_push_open(struct server *server, struct error *error) must_check;

/* Adds its descriptor to the loop. */
int server_push_begin(struct server *server, struct error *error) must_check;

/* At the end of each interval. */
void server_push_interval(struct server *server);

/* Whether the job was a profile that is to be pushed; `fd` is the caller's. */
bool server_push_job_end(struct server *server, const struct job_end *end, int fd);

/* The last figures. */
void server_push_finish(struct server *server);

void server_push_metrics(const struct server *server, struct metrics_service *service);

#endif
