/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's type information, cut down to the structures that BPF programs name: libbpf looks
 * for each of those, by name, among all types that it is given, and the kernel has 75,000 or more.
 */
#ifndef DWELL_CAPTURE_CORE_BTF_H
#define DWELL_CAPTURE_CORE_BTF_H

#include "capture/kernel_btf.h"

/*
 * Enough of `kernel` for the fields that programs of `local` read (BPF_CORE_READ() and its kin),
 * under other ids: no ids of types, no enumerators. To be freed; NULL: errno says why.
 */
struct btf *core_btf_reduce(const struct kernel_btf *kernel, const struct btf *local);

#endif
