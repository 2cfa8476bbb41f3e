# tinderbox: the one door. `make help` lists the targets.
VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# FLAVOUR is plain (static, optimised), aarch64 (the same for that machine), a sanitizer: asan, tsan (dynamic,
# instrumented libzmq too), or coverage. The last three are by clang, which takes half the time for them.
FLAVOUR ?= plain
B ?= $(if $(filter plain,$(FLAVOUR)),build,build/$(FLAVOUR))
ARCH := $(if $(filter aarch64,$(FLAVOUR)),aarch64,$(shell uname -m))
TOOLS := $(if $(filter-out $(shell uname -m),$(ARCH)),$(ARCH)-linux-gnu-)
ifeq ($(origin CXX),default)
CXX := $(if $(filter asan tsan coverage,$(FLAVOUR)),clang++-16,$(TOOLS)g++)
endif
WERROR ?= -Werror

# Set-up: the packages, then libzmq.a and httplib.h from the cache; their places are in deps.mk.
ifneq ($(filter-out clean help uninstall image,$(or $(MAKECMDGOALS),all)),)
include $(B)/deps.mk
endif
$(B)/deps.mk: deploy/packages.sh $(if $(ZMQ_DIR),$(if $(wildcard $(ZMQ_DIR)/lib/libzmq.a $(HTTPLIB_DIR)/include/httplib.h),,FORCE))
	@mkdir -p $(@D) && CXX=$(CXX) deploy/packages.sh build $(FLAVOUR) > $@.$$$$ && mv $@.$$$$ $@
# What objects depend on: changes only when the libraries do.
$(B)/libraries: $(B)/deps.mk
	@cmp -s $< $@ || cp $< $@

OPT_aarch64 = $(OPT_plain)
LDFLAGS_aarch64 = $(LDFLAGS_plain)
OPT_plain := -O2 -ffunction-sections -fdata-sections -fno-plt -fno-pie
# Warnings are the plain build's and lint's. Without PIE: a test starts 90 processes, and each would relocate its own copy.
OPT_sanitized := -O0 -gline-tables-only -ffunction-sections -fno-pie -fno-omit-frame-pointer -w
OPT_asan := $(OPT_sanitized) -fsanitize=address,undefined -fno-sanitize-recover=undefined
OPT_tsan := $(OPT_sanitized) -fsanitize=thread
OPT_coverage := -O0 -ffunction-sections -w -fprofile-instr-generate -fcoverage-mapping
MARCH := $(if $(filter x86_64,$(ARCH)),-march=x86-64-v2)
CPPFLAGS += -I. -DMSGPACK_NO_BOOST -DSPDLOG_FMT_EXTERNAL -DFMT_HEADER_ONLY $(if $(ZMQ_DIR),-isystem $(ZMQ_DIR)/include -isystem $(HTTPLIB_DIR)/include)
# The last five misjudge std::string and std::variant in this compiler once they are inlined (GCC PR 105329),
# subobject-linkage takes a batch's sources for headers. clang-tidy looks for what is used uninitialised.
WARNINGS := -Wno-subobject-linkage -Wall -Wextra -Wno-missing-field-initializers -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
CXXFLAGS += -std=c++20 $(OPT_$(FLAVOUR)) $(MARCH) $(WARNINGS) $(WERROR)
LDFLAGS_plain := -static -Wl,-S -no-pie -Wl,--gc-sections
LDFLAGS_asan := -no-pie -Wl,--gc-sections -fsanitize=address,undefined
LDFLAGS_tsan := -no-pie -Wl,--gc-sections -fsanitize=thread
LDFLAGS_coverage := -fprofile-instr-generate -Wl,--gc-sections
# The thread sanitizer of this compiler cannot place its memory beside every randomised layout.
RUN_tsan := setarch $(ARCH) -R
LDFLAGS += $(LDFLAGS_$(FLAVOUR)) -Wl,--build-id=sha1 -pthread
ABSL := raw_hash_set hashtablez_sampler exponential_biased hash city low_level_hash synchronization graphcycles_internal \
  symbolize demangle_internal stacktrace debugging_internal malloc_internal time civil_time time_zone strings \
  strings_internal str_format_internal int128 throw_delegate bad_optional_access bad_variant_access base spinlock_wait \
  raw_logging_internal log_severity
PACKAGED := -lssl -lcrypto -lz -lzstd -llz4 -lxxhash -lpugixml -lyaml-cpp $(ABSL:%=-labsl_%)
LIBS := $(if $(ZMQ_DIR),$(ZMQ_DIR)/lib/libzmq.a) -Wl,--start-group $(PACKAGED) -Wl,--end-group -ldl

# Sources are found, not listed. The built-in applications go only into the stock binary.
SOURCES := $(wildcard main.cpp) $(sort $(shell find cmd core net conf -name '*.cpp' 2>/dev/null))
APP_SRC := $(filter cmd/apps/%,$(SOURCES))
LIB_SRC ?= $(filter-out $(APP_SRC),$(SOURCES))
TEST_SRC ?= $(sort $(shell find tests -name '*.cpp' -not -path tests/run.cpp -not -path 'tests/apps/*' -not -path 'tests/sim/*' -not -path 'tests/processes/*'))
TEST_BIN ?= $(B)/tests/run
SIM_SRC := $(sort $(shell find tests/sim -name '*.cpp'))
HEADERS := $(sort $(shell find cmd core net conf tests -name '*.hpp' 2>/dev/null))
# Compiled in batches of neighbours, in half the time: a folder's sources share their unnamed namespace. BATCH=1 compiles
# each alone.
BATCH ?= 4
OBJ ?= $(B)/obj
objects = $(patsubst %.cpp,%.o,$(shell deploy/batches.sh $(OBJ) $(BATCH) $(1)))
LIB_OBJ := $(call objects,$(LIB_SRC))
APP_OBJ := $(call objects,$(APP_SRC))
TEST_OBJ := $(B)/obj/tests/run.o $(call objects,$(TEST_SRC))
SIM_OBJ := $(call objects,$(SIM_SRC))
PCH := $(B)/obj/tests/pch.hpp
STD := $(B)/obj/net/standard.hpp
-include $(wildcard $(B)/obj/tests/apps/*.d $(B)/obj/bench/*.d $(B)/obj/bench/engine/*.d $(B)/obj/examples/*.d) $(LIB_OBJ:.o=.d) $(APP_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(SIM_OBJ:.o=.d) $(HEADERS:%=$(B)/headers/%.d) $(wildcard $(B)/tidy/bench/*.d) $(SOURCES:%=$(B)/tidy/%.d)

# A target appears whole or not at all, so that two makes can share one build folder.
compile = @mkdir -p $(@D); echo "  $(filter-out plain,$(FLAVOUR)) c++ $$(sed -n '1s|^// \([^ ]*\.cpp\)$$|\1|p' $< | grep . || echo $<)"; t=$@.$$$$; trap 'rm -f $$t $$t.d' EXIT; \
  $(CXX) $(CPPFLAGS) $(1) $(CXXFLAGS) -MMD -MP -MF $$t.d -MT $@ -c $< -o $$t && mv $$t.d $(@:.o=.d) && mv $$t $@
# A static link warns that getaddrinfo and dlopen may load the host's libraries; both are dealt with at run time.
link = @mkdir -p $(@D); echo "  link $@"; t=$@.$$$$; trap 'rm -f $$t $$t.err' EXIT; \
  $(CXX) $(LDFLAGS) $(1) $(LIBS) -o $$t 2> $$t.err || { cat $$t.err >&2; exit 1; }; mv $$t $@

##: build/tinderbox, build/libtinderbox.a, build/tinderbox.pc
.PHONY: all
all: $(B)/tinderbox $(B)/libtinderbox.a $(B)/tinderbox.pc

$(B)/tinderbox: $(LIB_OBJ) $(APP_OBJ)
	$(call link,$(LIB_OBJ) $(APP_OBJ))

# One relocatable object, so that an application that links the archive gets main and every self-registering
# part, and only then libzmq's objects: an outside build needs Debian's packages and this archive.
$(B)/libtinderbox.a: $(LIB_OBJ)
	@mkdir -p $(@D); echo "  ar $@"; t=$@.$$$$; trap 'rm -f $$t*' EXIT; $(TOOLS)ld -r -S $(LIB_OBJ) -o $$t.o; \
	  printf 'create %s.a\naddlib %s\naddmod %s\nsave\nend\n' $$t $(ZMQ_DIR)/lib/libzmq.a $$t.o | $(TOOLS)ar -M; mv $$t.a $@

$(B)/include/tinderbox.hpp: $(B)/libraries
	@mkdir -p $(@D); echo '#include "core/api/tinderbox.hpp"' > $@

pc = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(PACKAGED) -ldl|' -e 's|@MARCH@|$(MARCH)|' \
  -e 's|@PREFIX@|$(1)|' -e 's|@LIBDIR@|$(2)|' -e 's|@INCLUDES@|$(3)|' deploy/tinderbox.pc.in
$(B)/tinderbox.pc: deploy/tinderbox.pc.in Makefile $(B)/include/tinderbox.hpp
	@$(call pc,$(CURDIR),$(abspath $(B)),-I$(abspath $(B))/include -I$(CURDIR)) > $@

$(OBJ)/cmd/%.o $(B)/tidy/cmd/%.ok: EXTRA := -DTINDERBOX_VERSION='"$(VERSION)"'
$(B)/obj/tests/run.o: tests/run.cpp $(B)/libraries
	$(call compile,)
$(B)/obj/tests/apps/%.o: tests/apps/%.cpp $(B)/libraries
	$(call compile,)
$(OBJ)/tests/%.o: $(OBJ)/tests/%.cpp $(PCH).gch
	$(call compile,-include $(PCH) -Winvalid-pch)
$(OBJ)/%.o: $(OBJ)/%.cpp $(STD).gch
	$(call compile,-include $(STD) -Winvalid-pch $(EXTRA))
# Named, not found by pattern: make prefers a pattern rule whose prerequisites are there already.
$(PCH).gch $(STD).gch: $(B)/obj/%.hpp.gch: %.hpp $(B)/libraries
	@mkdir -p $(@D); cp $< $(@:.gch=).$$$$ && mv $(@:.gch=).$$$$ $(@:.gch=); echo "  pch $<"; t=$@.$$$$; \
	  $(CXX) $(CPPFLAGS) $(CXXFLAGS) -w -x c++-header $< -o $$t && mv $$t $@

TEST_LIB := $(filter-out $(OBJ)/main.o,$(LIB_OBJ))
$(TEST_BIN): $(TEST_OBJ) $(TEST_LIB)
	$(call link,$(TEST_OBJ) $(TEST_LIB))

# Applications that the scripts submit: linked as the stock binary is, with their own file in place of ours.
TEST_APPS := $(patsubst tests/apps/%.cpp,$(B)/tests/%,$(wildcard tests/apps/*.cpp))
$(TEST_APPS): $(B)/tests/%: $(B)/obj/tests/apps/%.o $(LIB_OBJ)
	$(call link,$< $(LIB_OBJ))

# Examples and applications that measure are built as one outside the tree is: against the library.
BENCH_APPS := $(B)/bench/task_bench $(B)/bench/executor_memory $(B)/bench/engine/engine
EXAMPLES := $(patsubst %.cpp,$(B)/%,$(wildcard examples/*.cpp))
$(B)/obj/bench/%.o: bench/%.cpp $(B)/include/tinderbox.hpp
	$(call compile,-I$(B)/include)
$(B)/obj/examples/%.o: examples/%.cpp $(B)/include/tinderbox.hpp
	$(call compile,-I$(B)/include)
$(BENCH_APPS) $(EXAMPLES): $(B)/%: $(B)/obj/%.o $(B)/libtinderbox.a
	$(call link,$^)

##: the unit tests; ONLY='[tag] or name' chooses some
.PHONY: unit
unit: $(TEST_BIN)
	@$(RUN_$(FLAVOUR)) $(TEST_BIN) $(if $(ONLY),'$(ONLY)')

$(B)/tests/sim: $(SIM_OBJ) $(TEST_LIB)
	$(call link,$(SIM_OBJ) $(TEST_LIB))

##: whole applications over virtual time: SEEDS= of them [FIRST=], or one with its trace: SEED=
.PHONY: sim
sim: $(B)/tests/sim
	@$(B)/tests/sim $(if $(SEED),--seed $(SEED) --trace,--seeds $(or $(SEEDS),1000) --first $(or $(FIRST),1))

##: compile one test with just the sources whose headers it reaches, and run it: TEST=tests/net/x_test.cpp [ONLY=…]
.PHONY: one
one: $(B)/libraries
	@reached=$$(CXX='$(CXX)' CPPFLAGS='$(CPPFLAGS)' tests/scripts/reach.sh $(TEST)); \
	  $(MAKE) unit BATCH=1 OBJ=$(B)/one TEST_SRC="$$(grep ^tests/ <<< "$$reached" | tr '\n' ' ')" \
	    LIB_SRC="$$(grep -v ^tests/ <<< "$$reached" | tr '\n' ' ')" TEST_BIN=$(B)/tests/one-$(basename $(notdir $(TEST)))

##: unit tests, layer and header checks, every tests/processes/…_test.sh; ends with `N passed, N failed`
.PHONY: test
test: test-packages all $(TEST_APPS) $(BENCH_APPS) $(EXAMPLES) $(TEST_BIN) $(B)/tests/sim
	+@MAKE='$(MAKE)' ONLY='$(ONLY)' tests/scripts/all.sh

##: the same against a real Kubernetes, started from nothing: ONLY='case' chooses some, KEEP=1 leaves it up
.PHONY: test-kubernetes
test-kubernetes: test-packages all $(TEST_APPS)
	@ONLY='$(ONLY)' tests/kubernetes/run.sh

##: start times, rates of pods and of submissions on a real Kubernetes: ONLY=scale, start or submits chooses one
.PHONY: bench-kubernetes
bench-kubernetes: test-packages all
	@ONLY='$(ONLY)' CASES=bench/kubernetes tests/kubernetes/run.sh

##: the objects of Apache Spark (PyPI's pyspark) and of tinderbox for the same confs, field by field, on a real Kubernetes
.PHONY: compare-kubernetes
compare-kubernetes: test-packages all
	@CASES=tests/kubernetes/compare tests/kubernetes/run.sh

##: sequence files that Apache Spark (PyPI's pyspark) reads of tinderbox, and tinderbox of Spark
.PHONY: compare-spark-files
compare-spark-files: all $(B)/tests/spark_files
	@tests/processes/spark_files/run.sh

##: real processes under kill -9, SIGSTOP, a broken network and full disks: MINUTES= (60) [SEED=] [CHAOS_INSIDE=alone]
.PHONY: chaos
chaos: test-packages all $(B)/tests/chaos
	@MINUTES=$(or $(MINUTES),60) $(if $(SEED),SEED=$(SEED)) tests/chaos/chaos.sh

##: breaks one rule of the scheduler at a time; a test must notice each
.PHONY: mutants
mutants: $(TEST_BIN)
	@tests/scripts/mutants.sh

##: the unit tests under the address and undefined-behaviour sanitizers
.PHONY: asan
asan:
	@$(MAKE) unit FLAVOUR=asan ONLY='$(ONLY)'

##: the unit tests that start threads under the thread sanitizer
.PHONY: tsan
tsan:
	@$(MAKE) unit FLAVOUR=tsan ONLY='$(ONLY)' TEST_SRC='$(filter-out tests/core/scheduler/% tests/conf/% tests/core/resources/%,$(TEST_SRC))'

##: branch coverage of core/scheduler by the tests of tests/core/scheduler; fails below 95 %
.PHONY: coverage
coverage:
	@tests/scripts/coverage.sh

##: the binary for aarch64, cross-built into build/aarch64, and run by an emulator
.PHONY: aarch64
aarch64:
	@$(MAKE) all FLAVOUR=aarch64
	@tests/processes/packaging/aarch64.sh build/aarch64/tinderbox

##: each header compiles alone
.PHONY: headers
headers: $(HEADERS:%=$(B)/headers/%.ok)
$(B)/headers/%.ok: % $(B)/libraries
	@mkdir -p $(@D); echo '#include "$<"' | $(CXX) $(CPPFLAGS) $(CXXFLAGS) -O0 -x c++ -fsyntax-only \
	  -MMD -MP -MF $(@:.ok=.d) -MT $@ - && touch $@

LINTED := $(SOURCES) $(wildcard bench/*.cpp)
##: clang-format, the layers, clang-tidy checks and clang's thread-safety analysis; files that changed since
.PHONY: lint
lint: lint-packages format-check layers $(LINTED:%=$(B)/tidy/%.ok)
.PHONY: format-check layers format
FORMATTED := $(SOURCES) $(HEADERS) $(sort $(shell find tests examples bench -name '*.cpp' 2>/dev/null))
format-check: lint-packages
	@bad=$$(clang-format-16 --dry-run $(FORMATTED) 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: warning: code should.*/\1/p' | sort -u); [ -z "$$bad" ] || \
	  { echo "not formatted (make format does it):" $$bad; exit 1; }
layers:
	@tests/scripts/layers.sh
##: rewrite every source by .clang-format
format: lint-packages
	@clang-format-16 -i $(FORMATTED)
TIDY_FLAGS := -std=c++20 $(MARCH) $(WARNINGS) -Wthread-safety -Wno-unknown-warning-option
$(B)/tidy/bench/%.ok: EXTRA := -I$(B)/include
$(patsubst %,$(B)/tidy/%.ok,$(wildcard bench/*.cpp)): $(B)/include/tinderbox.hpp
$(B)/tidy/%.ok: % .clang-tidy $(B)/libraries | lint-packages
	@mkdir -p $(@D); echo "  tidy $<"; $(CXX) $(CPPFLAGS) $(EXTRA) -std=c++20 -MM -MP -MF $(@:.ok=.d) -MT $@ $< && \
	  { clang-tidy-16 --quiet $< -- $(CPPFLAGS) $(EXTRA) $(TIDY_FLAGS) > $@.log 2>&1 || { cat $@.log; exit 1; }; } && touch $@

##: the cluster that counts the words of a book, start to stop
.PHONY: demo
demo: test-packages all
	@tests/scripts/demo.sh

##: the figures: `tinderbox bench`, those of the Driver machine alone, and the programs of bench/
.PHONY: bench
bench: test-packages all $(B)/tests/peers $(BENCH_APPS) $(EXAMPLES)
	@$(B)/tinderbox bench
	@for f in $$(find tests -name "*_bench.cpp" | sort); do $(MAKE) one TEST=$$f ONLY='[.bench]' || exit 1; done
	@for f in bench/*.sh; do [ ! -x "$$f" ] || "$$f" || exit 1; done

##: the Dockerfile built for real without an image registry, into build/image.tar, and checked
.PHONY: image
image:
	@deploy/packages.sh image
	@deploy/image.sh build/image.tar
	@tests/processes/packaging/image_test.sh build/image.tar

.PHONY: test-packages lint-packages
test-packages:
	@deploy/packages.sh test
lint-packages:
	@deploy/packages.sh lint

BIN := $(DESTDIR)$(PREFIX)/bin
LIB := $(DESTDIR)$(PREFIX)/lib
SHARE := $(DESTDIR)$(PREFIX)/share
INCLUDE := $(DESTDIR)$(PREFIX)/include/tinderbox
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
ETC := $(DESTDIR)$(SYSCONFDIR)/tinderbox
ROLE_LINKS := spark-submit spark-class $(addprefix tinderbox-,submit driver executor master worker init history)
UNITS := tinderbox-master.service tinderbox-worker.service

##: binary, role links, library, headers, systemd units, completion, man page: PREFIX= DESTDIR= SYSCONFDIR=
.PHONY: install
install: all
	@install -d $(BIN) $(LIB)/pkgconfig $(LIB)/systemd/system $(INCLUDE) $(SHARE)/man/man1 \
	  $(SHARE)/bash-completion/completions $(ETC)
	@install -s -m 755 $(B)/tinderbox $(BIN)/tinderbox
	@for l in $(ROLE_LINKS); do ln -sf tinderbox $(BIN)/$$l; done
	@install -m 644 $(B)/libtinderbox.a $(LIB)/libtinderbox.a
	@$(call pc,$(PREFIX),$(PREFIX)/lib,-I$(PREFIX)/include/tinderbox) > $(LIB)/pkgconfig/tinderbox.pc
	@install -m 644 $(B)/include/tinderbox.hpp $(INCLUDE)/tinderbox.hpp
	@for h in $$($(CXX) $(CPPFLAGS) -std=c++20 -x c++ -MM core/api/tinderbox.hpp | tr -d '\\' | tr ' ' '\n' | grep '\.hpp$$'); do \
	  install -D -m 644 $$h $(INCLUDE)/$$h; done
	@for u in $(UNITS); do sed 's|@PREFIX@|$(PREFIX)|; s|@SYSCONFDIR@|$(SYSCONFDIR)|' deploy/systemd/$$u > $(LIB)/systemd/system/$$u; done
	@[ -e $(ETC)/tinderbox.env ] || install -m 644 deploy/systemd/tinderbox.env $(ETC)/tinderbox.env
	@install -m 644 deploy/completion.bash $(SHARE)/bash-completion/completions/tinderbox
	@for l in $(ROLE_LINKS); do ln -sf tinderbox $(SHARE)/bash-completion/completions/$$l; done
	@sed 's|@VERSION@|$(VERSION)|; s|@SYSCONFDIR@|$(SYSCONFDIR)|' deploy/tinderbox.1 > $(SHARE)/man/man1/tinderbox.1

##: remove what install put there; the configuration stays
.PHONY: uninstall
uninstall:
	@rm -f $(BIN)/tinderbox $(ROLE_LINKS:%=$(BIN)/%) $(LIB)/libtinderbox.a $(LIB)/pkgconfig/tinderbox.pc \
	  $(UNITS:%=$(LIB)/systemd/system/%) $(SHARE)/man/man1/tinderbox.1 \
	  $(addprefix $(SHARE)/bash-completion/completions/,tinderbox $(ROLE_LINKS))
	@rm -rf $(INCLUDE)

##: remove what was built (the cache of libraries stays)
.PHONY: clean
clean:
	rm -rf build

##: this list
.PHONY: help
help:
	@awk '/^##: / { doc = substr($$0, 5); next } doc && /^[a-z-]+:/ { sub(/:.*/, ""); printf "  %-11s %s\n", $$0, doc; doc = "" }' Makefile

.PHONY: FORCE
FORCE:
