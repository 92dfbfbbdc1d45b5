// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/cgroup_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/patience.h"

#define TIMEOUT_S 2 /* where the machine has a CPU for it */

/* Shared by the writer and the one who waits; the last of the two frees it. */
struct job {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char *path, *text;
	int result;
	bool done, abandoned;
};

static void job_free(struct job *job)
{
	pthread_cond_destroy(&job->changed);
	pthread_mutex_destroy(&job->lock);
	free(job->path);
	free(job->text);
	free(job);
}

static int write_file(const char *path, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static void *run(void *data)
{
	struct job *job = data;
	int result = write_file(job->path, job->text);
	bool abandoned;

	pthread_mutex_lock(&job->lock);
	job->result = result;
	job->done = true;
	abandoned = job->abandoned;
	pthread_cond_signal(&job->changed);
	pthread_mutex_unlock(&job->lock);
	if (abandoned)
		job_free(job);
	return NULL;
}

static struct job *job_new(const char *path, const char *text)
{
	struct job *job = calloc(1, sizeof(*job));
	pthread_condattr_t attr;

	if (!job)
		return NULL;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->changed, &attr);
	pthread_condattr_destroy(&attr);
	job->path = strdup(path);
	job->text = strdup(text);
	if (job->path && job->text)
		return job;
	job_free(job);
	return NULL;
}

/* The result, or -ETIMEDOUT with the job left to its thread. */
static int await(struct job *job)
{
	uint64_t began_ns = clock_monotonic_ns();
	struct timespec look;
	double factor = 1;
	int result;

	clock_gettime(CLOCK_MONOTONIC, &look);
	pthread_mutex_lock(&job->lock);
	while (!job->done && !patience_is_over(began_ns, TIMEOUT_S * NS_PER_S, &factor)) {
		look.tv_sec += TIMEOUT_S;
		pthread_cond_timedwait(&job->changed, &job->lock, &look);
	}
	result = job->done ? job->result : -ETIMEDOUT;
	job->abandoned = !job->done;
	pthread_mutex_unlock(&job->lock);
	return result;
}

int cgroup_write(const char *path, const char *text, struct error *error)
{
	struct job *job = job_new(path, text);
	uint64_t began_ns = clock_monotonic_ns();
	pthread_t thread;
	int result;

	if (!job || pthread_create(&thread, NULL, run, job) != 0) {
		if (job)
			job_free(job);
		return error_set(error, ENOMEM, "cannot write to %s: out of memory or threads",
				 path);
	}
	result = await(job);
	if (result == -ETIMEDOUT) {
		pthread_detach(thread);
		return error_set(error, ETIMEDOUT,
				 "writing '%s' to %s has not come to an end within %d s", text,
				 path, (int)((clock_monotonic_ns() - began_ns) / NS_PER_S));
	}
	pthread_join(thread, NULL);
	job_free(job);
	return result < 0 ? error_set(error, -result, "cannot write '%s' to %s: %s", text, path,
				      strerror(-result))
			  : 0;
}
