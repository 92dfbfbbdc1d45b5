// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/batches.h"

#include <math.h>
#include <string.h>

#include "base/least.h"

static void halve(uint64_t values[BATCHES_MAX])
{
	for (int i = 0; i < BATCHES_MAX / 2; i++)
		values[i] = values[2 * i] + values[2 * i + 1];
	memset(values + BATCHES_MAX / 2, 0, BATCHES_MAX / 2 * sizeof(*values));
}

void series_halve(struct series *series)
{
	halve(series->ns);
}

bool batches_next(struct batches *batches, uint64_t duration_ns)
{
	bool merged = false;

	if (!batches->each)
		batches->each = 1;
	if (batches->count == BATCHES_MAX && batches->inside == batches->each) {
		halve(batches->duration_ns);
		batches->count = BATCHES_MAX / 2;
		batches->each *= 2;
		batches->inside = batches->each;
		merged = true;
	}
	if (!batches->count || batches->inside == batches->each) {
		batches->count++;
		batches->inside = 0;
	}
	batches->inside++;
	batches->duration_ns[batches->count - 1] += duration_ns;
	return merged;
}

uint64_t batches_duration_ns(const struct batches *batches)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < batches->count; i++)
		ns += batches->duration_ns[i];
	return ns;
}

uint64_t series_total_ns(const struct series *series)
{
	uint64_t ns = 0;

	for (int i = 0; i < BATCHES_MAX; i++)
		ns += series->ns[i];
	return ns;
}

void series_add(struct series *series, const struct batches *batches, uint64_t ns)
{
	if (batches->count)
		series->ns[batches->count - 1] += ns;
}

void series_add_back(struct series *series, const struct batches *batches, uint64_t ns)
{
	for (unsigned int i = batches->count; i > 0 && ns; i--) {
		uint64_t part_ns = least(ns, batches->duration_ns[i - 1]);

		series->ns[i - 1] += part_ns;
		ns -= part_ns;
	}
}

uint64_t series_move_back(struct series *into, struct series *from, const struct batches *batches,
			  uint64_t ns)
{
	uint64_t moved_ns = 0;

	for (unsigned int i = batches->count; i > 0 && moved_ns < ns; i--) {
		uint64_t part_ns = least(ns - moved_ns, batches->duration_ns[i - 1]);

		part_ns = least(part_ns, from->ns[i - 1]);
		into->ns[i - 1] += part_ns;
		from->ns[i - 1] -= part_ns;
		moved_ns += part_ns;
	}
	return moved_ns;
}

void series_scale(struct series *series, double factor)
{
	for (int i = 0; i < BATCHES_MAX; i++)
		series->ns[i] = (uint64_t)((double)series->ns[i] * factor + 0.5);
}

void series_sum(struct series *into, const struct series *more)
{
	for (int i = 0; i < BATCHES_MAX; i++)
		into->ns[i] += more->ns[i];
}

/* L. Kish, Survey Sampling (1965): (sum of weights)^2 / sum of their squares. */
static double weight_of(const struct batches *batches)
{
	double sum = 0, squares = 0;

	for (unsigned int i = 0; i < batches->count; i++) {
		double duration = (double)batches->duration_ns[i];

		sum += duration;
		squares += duration * duration;
	}
	return squares > 0 ? sum * sum / squares : 0;
}

unsigned int batches_weight(const struct batches *batches)
{
	return (unsigned int)lround(weight_of(batches));
}

/*
 * How many independent values are worth as much as `weight` ones whose neighbours correlate by `r`:
 * G. V. Bayley and J. M. Hammersley, "The 'effective' number of independent observations in an
 * autocorrelated time series", Supplement to the Journal of the Royal Statistical Society 8 (1946).
 * Of few values r comes out too small, by (1 + 4 r) / n in the mean: M. G. Kendall, "Note on bias
 * in the estimation of autocorrelation", Biometrika 41 (1954).
 */
static double independent(double weight, double r)
{
	double corrected = weight > 4 ? (weight * r + 1) / (weight - 4) : r + 1 / weight;

	corrected = corrected < 0 ? 0 : fmin(corrected, 0.99);
	return fmax(weight * (1 - corrected) / (1 + corrected), 2);
}

/*
 * How sure the variance is, is another question than how sure the mean is: with a degree of freedom
 * or two no difference would ever be significant. A third of the batches is where simulated series
 * of equal means (AR(1) with r from 0 to 0.95, 8 to 200 intervals) are taken for different hardly
 * more often than with as many as there are independent values, and those of different means are
 * found.
 */
void series_measure(const struct series *series, const struct batches *batches,
		    struct welch_set *set, size_t *ret_independent)
{
	double all_ns = (double)batches_duration_ns(batches), weight = weight_of(batches);
	double variance = 0, neighbours = 0, before = 0, count;

	*set = (struct welch_set){.mean = NAN, .min = NAN, .max = NAN, .variance = NAN};
	*ret_independent = 0;
	if (!(all_ns > 0))
		return;
	set->mean = series ? (double)series_total_ns(series) / all_ns : 0;
	for (unsigned int i = 0; i < batches->count; i++) {
		double duration = (double)batches->duration_ns[i], share, off;

		if (!(duration > 0))
			continue;
		share = series ? (double)series->ns[i] / duration : 0;
		off = share - set->mean;
		set->min = fmin(set->min, share);
		set->max = fmax(set->max, share);
		variance += duration / all_ns * off * off;
		neighbours += duration / all_ns * off * before;
		before = off;
	}
	set->count = *ret_independent = (size_t)lround(weight);
	if (weight < 1.5)
		return;
	/* the mean of equal values may be off them by rounding, and then seem to vary */
	set->variance = 0;
	if (!(set->min < set->max) || !(variance > 0))
		return;
	count = independent(weight, neighbours / variance);
	*ret_independent = (size_t)lround(count);
	/* those that depend on each other differ less than all there could be */
	variance *= count / (count - 1);
	set->count = (size_t)lround(fmax(count, (weight - 1) / 3 + 1));
	set->variance = variance / count * (double)set->count;
}

double series_p(const struct welch_set *a, const struct welch_set *b)
{
	double p = welch_p(a, b);

	if (isnan(p) && a->variance == 0 && b->variance == 0)
		return a->mean == b->mean ? 1 : 0;
	return p;
}
