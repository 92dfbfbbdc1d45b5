/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blame has two sides. */
#ifndef DWELL_MODEL_BLAME_SIDE_H
#define DWELL_MODEL_BLAME_SIDE_H

/* What a view says of because of whom threads waited. */
enum blame_side {
	BLAME_NONE,
	BLAME_SUFFERED, /* of each victim, because of whom */
	BLAME_CAUSED,	/* of each culprit, to whom */
};

#endif
