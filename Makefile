# SPDX-License-Identifier: GPL-2.0-or-later
# A short front to Meson; `make help` lists what there is.
BUILD ?= build
MESON_OPTIONS ?=
PYTHON ?= /usr/bin/python3

all: build

# Never part of another target, so that a build asks for nothing.
deps: ## install what building, testing and measuring need (needs root)
	@scripts/deps install

check-deps:
	@scripts/deps check build || scripts/deps install build

$(BUILD)/build.ninja:
	@meson setup $(BUILD) $(MESON_OPTIONS) > $(BUILD).setup.log 2>&1 || \
		{ cat $(BUILD).setup.log; exit 1; }
	@mv $(BUILD).setup.log $(BUILD)/setup.log

build: $(BUILD)/build.ninja ## build the program: build/dwell
	@ninja -C $(BUILD) --quiet

demo: check-deps ## install what building needs, build, watch a mixed workload
	@$(MAKE) --no-print-directory build
	@scripts/demo $(BUILD)

test: ## install what is missing, build, run every test
	@scripts/deps check test || scripts/deps install
	@$(MAKE) --no-print-directory build
	@tests/run --build $(BUILD)

check: ## what needs no root and two minutes: layers, formatting, unit tests, output of recordings
	@scripts/deps check test || scripts/deps install
	@$(MAKE) --no-print-directory build
	@tests/run --build $(BUILD) tree unit golden

soak: ## what takes hours: long fuzzing, hundreds of kills, packages …; PART= one of tests/soak
	@scripts/deps check test || scripts/deps install
	@scripts/deps check packaging || scripts/deps install packaging
	@$(MAKE) --no-print-directory build
	@tests/soak $(BUILD) $(PART)

golden-update: build ## rewrite the expected output of golden and screen tests, and show the difference
	@GOLDEN_UPDATE=1 DWELL_BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider tests/golden tests/screen
	@GOLDEN_UPDATE=1 DWELL_BUILD=$(BUILD) $(PYTHON) -m pytest -q -p no:cacheprovider tests/e2e/test_serve_page.py::test_the_picture_in_the_documentation_is_of_this_page
	@git --no-pager diff --stat tests docs/screens

bench: ## measure dwell beside its peers; needs root and a quiet machine
	@scripts/deps check test || scripts/deps install
	@$(MAKE) --no-print-directory build
	-@tests/bench/run $(BUILD)
	-@$(PYTHON) tests/bench/accuracy $(BUILD)
	-@$(PYTHON) tests/bench/blocked $(BUILD)
	-@$(PYTHON) tests/bench/programs $(BUILD)
	-@$(PYTHON) tests/bench/profile $(BUILD)
	-@$(PYTHON) tests/bench/matrix $(BUILD)
	-@$(PYTHON) tests/bench/polls $(BUILD)
	-@$(PYTHON) tests/bench/symbols $(BUILD)
	-@$(PYTHON) tests/bench/exports $(BUILD)
	-@$(PYTHON) tests/bench/memory $(BUILD)
	-@$(PYTHON) tests/bench/serve $(BUILD)
	-@$(PYTHON) tests/bench/loads $(BUILD)
	-@$(PYTHON) tests/bench/ab $(BUILD)
	-@$(PYTHON) tests/bench/guests $(BUILD)

guest-kernel: ## install what is missing, build a kernel with sched_ext for dwell guest; kept outside of the tree
	@scripts/guest-kernel --cached > /dev/null || scripts/deps check guest-kernel || scripts/deps install guest-kernel
	@scripts/guest-kernel
# Not part of `test`: it downloads some 40 MB, once.
cross-arm64: ## build for arm64 in build-arm64, with what `dwell guest` needs to boot it
	@scripts/arm64 fetch
	@scripts/arm64 build $(BUILD)-arm64

dist: ## a tarball of what is committed, in dist/
	@scripts/dist tarball

deb: ## install what is missing, build Debian packages of what is committed, in dist/
	@scripts/deps check packaging || scripts/deps install packaging
	@scripts/dist deb

install: build ## into /usr/local, or below DESTDIR=; elsewhere: make clean, then MESON_OPTIONS=--prefix=/usr
	@meson install -C $(BUILD) --no-rebuild

format: ## clang-format the tree in place
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean: ## remove the build
	@rm -rf $(BUILD) $(BUILD)-* dist

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: all deps check-deps build demo test check soak golden-update bench guest-kernel cross-arm64 dist deb install format clean help
