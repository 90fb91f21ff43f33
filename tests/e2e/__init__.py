"""Whole processes, a real database, real sockets: what only the parts together can show."""

import pytest

pytest.register_assert_rewrite("tests.e2e.invariants", "tests.e2e.stage")
