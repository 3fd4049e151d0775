# Each target sets up what it needs: a .venv with the versions of the lock files, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo-ready
READY  := $(VENV)/.ready
# Bytecode is made when a module is first imported: most modules never are. It is kept: tests start many commands.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
NEW_VENV := { $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || { echo "sfumato needs Python 3.11 or newer; found `$(PYTHON) --version`; set PYTHON=python3.11"; exit 2; }; } \
  && { $(PYTHON) -m venv --clear $(VENV) \
    || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 2; }; }

.PHONY: demo test test-long torture lint bench bench-scale docs pictures lock lock-peers clean

demo: $(DEMO)
	$(BIN)/python examples/demo.py out

test: $(READY)
	$(BIN)/python -m pytest -m "not long" -n 2 --dist worksteal --durations=20

test-long: $(READY)
	$(BIN)/python -m pytest -m long -n 2 --dist loadfile --durations=40

torture: $(READY) # all crash points, power cuts and fuzzing: over an hour; prints figures, writes nothing
	$(INSTALL) --require-hashes -r tests/torture/requirements.lock
	$(BIN)/python tests/torture/run.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	PYTHON=$(PYTHON) $(BIN)/python benchmarks/run.py

bench-scale: $(READY) # three quarters of an hour, Java 17, 20 GB in TMPDIR; writes benchmarks/scale.json and docs/scale.md
	$(BIN)/python benchmarks/scale.py $(SIZES)

docs: $(READY)
	$(BIN)/python docs/make_reference.py

pictures: $(READY) # of README and guides; those of the demo's report need Chromium
	$(BIN)/python docs/make_pictures.py

lock:
	uv pip compile --universal --python-version 3.11 pyproject.toml --extra dev \
	  --no-emit-index-url --no-annotate --no-header --generate-hashes -o requirements.lock
	uv pip compile --universal --python-version 3.11 pyproject.toml --extra demo --constraint requirements.lock \
	  --no-emit-index-url --no-annotate --no-header --generate-hashes -o requirements-demo.lock
	uv pip compile --quiet --universal --python-version 3.11 tests/torture/requirements.in \
	  --no-emit-index-url --no-annotate --no-header --generate-hashes -o tests/torture/requirements.lock

# A peer is a file of what it needs, benchmarks/peers/NAME.in; its environment .venv-peer-NAME is made by `make bench`.
lock-peers:
	for peer in $(basename $(notdir $(wildcard benchmarks/peers/*.in))); do \
	  uv pip compile --quiet --universal --python-version 3.11 benchmarks/peers/$$peer.in \
	    --no-emit-index-url --no-annotate --no-header --generate-hashes -o benchmarks/peers/$$peer.lock || exit 1; \
	done

clean:
	rm -rf $(VENV) .venv-peer-* out

# The demo's packages come first; everything else is added to the same .venv when a target needs it.
$(DEMO): requirements-demo.lock
	@$(NEW_VENV)
	$(INSTALL) --require-hashes -r requirements-demo.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $(DEMO)

$(READY): requirements.lock $(DEMO)
	@if [ -e $(READY) ]; then $(NEW_VENV); fi
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $(DEMO) && touch $(READY)
