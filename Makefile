# make run: see it work. make test: everything that gates. make prove: the whole sizes. make bench.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
# Private bytecode: tests must start as fast as an installed sm does.
unexport PYTHONDONTWRITEBYTECODE
# The system's certificates, as pip uses them: behind a company's proxy others do not hold.
export UV_SYSTEM_CERTS := true

.PHONY: run test prove bench lint format tools shells clean

run: $(VENV)/.installed tools
	@$(BIN)/sm demo

test: $(VENV)/.developed tools shells lint
	@$(BIN)/pytest -n 2 --dist loadfile

lint: $(VENV)/.developed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

format: $(VENV)/.developed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

prove: $(VENV)/.developed tools
	@$(BIN)/python -m tests.prove

bench: $(VENV)/.developed tools
	@$(BIN)/python -m bench

tools:
	@scripts/need-tmux

shells:
	@scripts/want-shells

$(BIN)/uv:
	@scripts/need-python $(PYTHON)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.installed: $(BIN)/uv pyproject.toml
	@echo "Installing sm into $(VENV) …"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed pyproject.toml
	@echo "Installing what the tests need …"
	@$(INSTALL) --editable . --group dev
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache dist
